// Pair-HMM in float64, for the pairs whose likelihood float32 does not give accurately: the
// recurrence of hapgpu/pairhmm/forward/exact.py, with the same operations in the same order. So all
// bits are the same, unless numbers are lost at the end of the range of float64: then the result is
// NaN, and the CPU computes it. A group of neighbouring lanes holds the columns of a haplotype in
// registers, and each lane is one row after the lane to its left, as in pairhmm/forward.cu. A warp
// computes as many pairs at a time as have room, of any sizes. Haplotypes that do not fit a warp are
// computed in strips; what one strip passes to the next is in memory.

#include "common/arithmetic.cuh"
#include "common/warp.cuh"
#include "pairhmm/exact_columns.cuh"

namespace {

constexpr int kFewColumns = 8, kManyColumns = 20;  // per lane
constexpr int kLeastLanes = 4;  // per group, which computes at most so many rows at a time

// At least so many warps at a time, on architectures whose compiler then keeps no register in memory.
#if __CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr int kWarps = 12;
#else
constexpr int kWarps = 8;
#endif

// Masks of the columns of a lane, the columns of a haplotype from `first` on.
struct LaneLetters {
    const unsigned char* bases;
    int start, count;

    __device__ LaneLetters(const unsigned char* bases, const Pair& pair, int first, int columns)
        : bases(bases), start(pair.first_column + first), count(min(pair.width - first, columns)) {}

    // Returns the mask of a byte of a read: a bit per column, set where another byte but N is.
    __device__ unsigned mask(unsigned char byte) const {
        unsigned differs = 0;
#pragma unroll 1
        for (int k = 0; k < count; ++k) {
            const unsigned char letter = bases[start + k];
            differs |= (unsigned)(letter != byte && letter != 'N') << bit_of(k);
        }
        return differs;
    }
};

// A strip of the columns of a haplotype, from `first` on. `edges`, one per row, are what the columns
// to the left passed on, and become what these columns pass on.
template <int kColumns>
struct Strip {
    Shared& shared;
    const Pair& pair;
    const Group& group;
    const int first;
    Edge* const edges;
    const LaneLetters letters;
    Columns<kColumns> columns;

    __device__ Strip(Shared& shared, const Haplotypes& haplotypes, const Pair& pair,
                     const Group& group, int first, Edge* edges)
        : shared(shared), pair(pair), group(group), first(first), edges(edges),
          letters(haplotypes.bases, pair, first + group.lane * kColumns, kColumns),
          columns(kUp / pair.width) {}

    // Whether a lane has a row in a step.
    __device__ bool is_active(int step) const {
        return (unsigned)(step - group.lane) < (unsigned)pair.rows;
    }

    __device__ bool is_over(int step) const {
        return pair.rows == 0 || step - group.lane >= pair.rows;
    }

    __device__ bool has_edges() const { return first > 0 && group.lane == 0; }

    __device__ bool is_last() const { return pair.width - first <= kColumns * kWarpLanes; }

    // Returns the highest exponent of what is received in some steps.
    __device__ int highest_exponent(int step, int end) const {
        int highest = kNoExponent;
        if (!has_edges()) return highest;
        for (int row = step; row < min(end, pair.rows); ++row) {
            highest = max(highest, (int)edges[row].exponent);
        }
        return highest;
    }

    template <bool kIsTested>
    __device__ void advance(RowQueue& rows, int step, int end) {
#pragma unroll 1  // the body is long
        for (; step < end; ++step) {
            if (is_active(step)) {
                const int at = step - group.lane;
                if (has_edges()) columns.receive(edges[at]);
                const Row row = rows.next();
                const unsigned differs = row.letter < kLetters
                                             ? shared.masks[row.letter][lane_id()]
                                             : letters.mask(row.letter - kLetters);
                columns.template advance<kIsTested>(row, differs);
                if (!is_last() && lane_id() == kWarpLanes - 1) {
                    edges[at] = {columns.incoming, columns.deletion, columns.exponent};
                }
            }
            columns.pass_on(group.lane == 0, is_active(step + 1));
        }
    }
};

// Computes the columns of a haplotype from `first` on and adds the last row to `sum`. All lanes;
// those without a pair have one without rows.
template <int kColumns>
__device__ void add_strip(Shared& shared, const Reads& reads, const Haplotypes& haplotypes,
                          const Pair& pair, const Group& group, int first, Edge* edges,
                          Scaled& sum) {
    Strip<kColumns> strip(shared, haplotypes, pair, group, first, edges);
    for (int letter = 0; letter < kLetters; ++letter) {
        shared.masks[letter][lane_id()] = strip.letters.mask("ACGT"[letter]);
    }
    if (group.lane == 0 && pair.rows > 0 && first == 0) {
        const double extend = shared.probabilities[reads.gap_continuation(pair.start)];
        strip.columns.incoming = (1.0 - extend) * (kUp / pair.width);
    }
    RowQueue rows(shared, reads, pair, group);
    const int chunk = warp_min(group.lanes), steps = warp_max(pair.rows + group.lanes - 1);
    bool are_tame = first == 0;
#pragma unroll 1
    for (int step = 0; step < steps; step += chunk) {
        are_tame &= rows.compute(step, chunk);
#pragma unroll 1
        for (int start = step; start < step + chunk; start += kRowsBetweenScales) {
            const int end = min(start + kRowsBetweenScales, step + chunk);
            const bool is_safe = strip.columns.rescale(group.lane == 0, strip.is_active(start),
                                                       strip.is_over(start),
                                                       strip.highest_exponent(start, end));
            if (are_tame && is_safe) {
                strip.template advance<false>(rows, start, end);
            } else {
                strip.template advance<true>(rows, start, end);
            }
        }
    }
    const bool is_lossy = strip.columns.is_lossy() && strip.letters.count > 0;
    if (__ballot_sync(kAllLanes, is_lossy) & group.mask()) sum.value = nan("");
    double weight = 0.0;
    if (pair.rows > 0) {
        const int last = pair.start + pair.rows - 1;
        weight = shared.probabilities[reads.columns.insertion_qualities[last]];
    }
    strip.columns.add_to(sum, group, pair.width - first, weight);
    __syncwarp();  // the first lane reads what the last one has written
}

template <int kColumns>
__device__ Scaled sum_of(Shared& shared, const Reads& reads, const Haplotypes& haplotypes,
                         const Pair& pair, const Group& group, Edge* edges) {
    Scaled sum = {0.0, kNoExponent};
    for (int first = 0; first < warp_max(pair.width); first += kColumns * kWarpLanes) {
        add_strip<kColumns>(shared, reads, haplotypes, pair, group, first, edges, sum);
    }
    return sum;
}

// Returns the next entry of the list of pairs, from its number of entries on if none is left. Each
// entry is taken by the first warp that is free.
__device__ int next_entry(int* taken) {
    const int entry = lane_id() == 0 ? atomicAdd(taken, 1) : 0;
    return __shfl_sync(kAllLanes, entry, 0);
}

__device__ inline int lanes_for(int width, int columns) {
    return min(max((width + columns - 1) / columns, kLeastLanes), kWarpLanes);
}

}  // namespace

// Computes the likelihoods of the pairs in `exact_pairs`, of which `taken`, 0, become taken. One
// warp per block. `scratch` has three numbers for each of `longest` rows per warp, if a haplotype
// does not fit the registers.
extern "C" __global__ void __launch_bounds__(kWarpLanes, kWarps) exact(
    Reads reads, Haplotypes haplotypes, const double* probabilities, const int4* pairs,
    ExactPairs exact_pairs, double* scratch, double* likelihoods, int* too_small, int* taken,
    int longest) {
    __shared__ Shared shared;
    for (int k = lane_id(); k < kQualities; k += kWarpLanes) {
        shared.probabilities[k] = probabilities[k];
    }
    __syncwarp();  // other lanes read what is written here
    Edge* edges = (Edge*)scratch + (long long)blockIdx.x * longest;
    for (int entry = next_entry(taken); entry < *exact_pairs.count;) {
        // Few pairs are spread over all warps, and over more lanes of each.
        const int count = *exact_pairs.count, most_groups = count / gridDim.x + 1;
        Pair pair = {0, 0, 0, 1};
        Group group = {};
        int used = 0;
        bool is_wide = true;
        for (int groups = 0; groups < most_groups && entry < count; ++groups) {
            const int4 rows = pairs[2 * exact_pairs.pairs[entry] + 1];
            const int start = reads.offsets[rows.x], first = haplotypes.offsets[rows.y];
            const int width = haplotypes.offsets[rows.y + 1] - first;
            if (!used) is_wide = most_groups > 1 || width > kFewColumns * kWarpLanes;
            const int lanes = lanes_for(width, is_wide ? kManyColumns : kFewColumns);
            if (used + lanes > kWarpLanes) break;
            if (lane_id() >= used) group = {used, lanes, lane_id() - used};
            if (lane_id() >= used && group.lane < lanes) {
                pair = {start, reads.offsets[rows.x + 1] - start, first, width};
                shared.results[lane_id()] = rows.z;
            }
            used += lanes;
            entry = next_entry(taken);
        }
        shared.entry = entry;
        const Scaled sum =
            is_wide ? sum_of<kManyColumns>(shared, reads, haplotypes, pair, group, edges)
                    : sum_of<kFewColumns>(shared, reads, haplotypes, pair, group, edges);
        if (group.lane == 0) {
            const bool is_known = sum.value > 0.0 && isfinite(sum.value);
            likelihoods[shared.results[lane_id()]] =
                is_known ? fmin(0.0, log10_scaled(sum.value, kStep * sum.exponent)) : nan("");
            if (!is_known) *too_small = 1;
        }
        entry = shared.entry;
    }
}
