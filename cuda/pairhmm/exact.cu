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
constexpr int kRowsBetweenScales = 8;

// At least so many warps at a time, but none of their registers in memory.
#if __CUDA_ARCH__ >= 1000
constexpr int kWarps = 8;
#else
constexpr int kWarps = 12;
#endif

// Masks of the columns of a lane, the columns of a haplotype from `first` on.
struct LaneLetters {
    const unsigned char* letters;
    int count;

    __device__ LaneLetters(const Pair& pair, int first)
        : letters(pair.haplotype + first), count(pair.width - first) {}

    // Returns the mask of a byte of a read: a bit per column, set where another byte but N is.
    template <int kColumns>
    __device__ unsigned mask(unsigned char byte) const {
        unsigned differs = 0;
#pragma unroll 1
        for (int k = 0; k < min(count, kColumns); ++k) {
            differs |= (unsigned)(letters[k] != byte && letters[k] != 'N') << bit_of(k);
        }
        return differs;
    }
};

// Returns the highest exponent of the edges of some rows.
__device__ int highest_exponent(const Edge* edges, int start, int end) {
    int highest = kNoExponent;
    for (int row = start; row < end; ++row) highest = max(highest, (int)edges[row].exponent);
    return highest;
}

// Computes the columns of a haplotype from `first` on and adds the last row to `sum`. `edges`, one
// per row, are what the columns to the left passed on, and become what these columns pass on. All
// lanes; those without a pair have one without rows.
template <int kColumns>
__device__ void add_strip(Shared& shared, const Reads& reads, const Pair& pair, const Group& group,
                          int first, Edge* edges, Scaled& sum) {
    const bool is_last = pair.width - first <= kColumns * kWarpLanes;
    const bool is_first_lane = group.lane == 0;
    const LaneLetters own(pair, first + group.lane * kColumns);
    shared.masks[0][lane_id()] = own.mask<kColumns>('A');
    shared.masks[1][lane_id()] = own.mask<kColumns>('C');
    shared.masks[2][lane_id()] = own.mask<kColumns>('G');
    shared.masks[3][lane_id()] = own.mask<kColumns>('T');
    Columns<kColumns> columns(kUp / pair.width);
    if (is_first_lane && pair.rows > 0 && first == 0) {
        const double extend = shared.probabilities[reads.gap_continuation(pair.start)];
        columns.incoming = (1.0 - extend) * (kUp / pair.width);
    }
    const int chunk = warp_min(group.lanes), steps = warp_max(pair.rows + group.lanes - 1);
    RowQueue rows(shared, reads, pair, group);
#pragma unroll 1
    for (int step = 0; step < steps;) {
        const int computed = min(step + chunk, steps);
        rows.compute(step, chunk);
#pragma unroll 1
        while (step < computed) {
            const int end = min(step + kRowsBetweenScales, computed);
            const bool is_edge = first > 0 && is_first_lane;
            const int edge = is_edge ? highest_exponent(edges, step, min(end, pair.rows)) : kNoExponent;
            columns.rescale(is_first_lane, (unsigned)(step - group.lane) < (unsigned)pair.rows, edge);
#pragma unroll 1  // its body is long
            for (; step < end; ++step) {
                const int at = step - group.lane;
                if ((unsigned)at < (unsigned)pair.rows) {
                    if (is_edge) columns.receive(edges[at]);
                    const Row row = rows.next();
                    const unsigned differs = row.letter < kLetters
                                                 ? shared.masks[row.letter][lane_id()]
                                                 : own.mask<kColumns>(row.letter - kLetters);
                    columns.advance(row, differs);
                    if (!is_last && lane_id() == kWarpLanes - 1) {
                        edges[at] = {columns.incoming, columns.deletion, columns.exponent};
                    }
                }
                columns.pass_on(is_first_lane, (unsigned)(at + 1) < (unsigned)pair.rows);
            }
        }
    }
    const bool is_lossy = columns.is_lossy() && own.count > 0;
    if (__ballot_sync(kAllLanes, is_lossy) & group.mask()) sum.value = nan("");
    double weight = 0.0;
    if (pair.rows > 0) {
        const int last = pair.start + pair.rows - 1;
        weight = shared.probabilities[reads.columns.insertion_qualities[last]];
    }
    columns.add_to(sum, group, pair.width - first, weight);
    __syncwarp();  // the first lane reads what the last one has written
}

template <int kColumns>
__device__ Scaled sum_of(Shared& shared, const Reads& reads, const Pair& pair, const Group& group,
                         Edge* edges) {
    Scaled sum = {0.0, kNoExponent};
    const int widest = warp_max(pair.width);
    for (int first = 0; first < widest; first += kColumns * kWarpLanes) {
        add_strip<kColumns>(shared, reads, pair, group, first, edges, sum);
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
        Pair pair = {0, 0, haplotypes.bases, 0};
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
                pair = {start, reads.offsets[rows.x + 1] - start, haplotypes.bases + first, width};
                shared.results[lane_id()] = rows.z;
            }
            used += lanes;
            entry = next_entry(taken);
        }
        shared.entry = entry;
        const Scaled sum = is_wide ? sum_of<kManyColumns>(shared, reads, pair, group, edges)
                                   : sum_of<kFewColumns>(shared, reads, pair, group, edges);
        if (group.lane == 0) {
            const bool is_known = sum.value > 0.0 && isfinite(sum.value);
            likelihoods[shared.results[lane_id()]] =
                is_known ? fmin(0.0, log10_scaled(sum.value, kStep * sum.exponent)) : nan("");
            if (!is_known) *too_small = 1;
        }
        entry = shared.entry;
    }
}
