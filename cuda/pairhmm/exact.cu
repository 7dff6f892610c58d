// Pair-HMM in float64, for the pairs whose likelihood float32 does not give accurately: the
// recurrence of hapgpu/pairhmm/forward/exact.py, with the same operations in the same order. So all
// bits are the same, unless numbers are lost at the end of the range of float64: then the result is
// NaN, and the CPU computes it. A group of neighbouring lanes holds the columns of a haplotype in
// registers, and each lane is one row after the lane to its left, as in pairhmm/forward.cu. A warp
// computes as many pairs at a time as have room, of any sizes. Haplotypes that do not fit a warp
// are computed in strips; what one strip passes to the next is in memory.

#include "common/arithmetic.cuh"
#include "common/warp.cuh"
#include "pairhmm/exact_columns.cuh"

namespace {

// Columns per lane: few for pairs that have a warp each, or what suits the haplotype.
constexpr int kFewColumns = 8, kMiddleColumns = 16, kManyColumns = 20;
constexpr int kRowColumns = 3;  // columns of a lane that take as long as the rest of a row
constexpr int kLeastLanes = 4;  // per group, which computes at most so many rows at a time

// At least so many warps at a time, where the compiler then keeps no register in memory.
#if __CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr int kWarps = 12;
#else
constexpr int kWarps = 8;
#endif

// Arguments of the kernel, and what the lanes of a warp share.
struct Work {
    const Reads& reads;
    const Haplotypes& haplotypes;
    Shared& shared;
    Edge* edges;

    __device__ const Pair& pair() const { return shared.pairs[lane_id()]; }
};

// A strip of the columns of a haplotype, from `shared.first` on. `edges`, one per row, are what the
// columns to the left passed on, and become what these columns pass on. Lanes without a pair have
// one without rows.
template <int kColumns>
struct Strip {
    const Work& work;
    const Group& group;
    const int rows;
    const bool has_edges;  // received from a strip to the left
    Columns<kColumns> columns;

    __device__ Strip(const Work& work, const Group& group)
        : work(work), group(group), rows(work.pair().rows),
          has_edges(work.shared.first > 0 && group.lane == 0),
          columns(kUp / work.pair().width) {
        unsigned masks[kLetters] = {};
        for_each_letter([&](unsigned char letter, int bit) {
#pragma unroll
            for (int k = 0; k < kLetters; ++k) {
                masks[k] |= (unsigned)(letter != "ACGT"[k] && letter != 'N') << bit;
            }
        });
#pragma unroll
        for (int k = 0; k < kLetters; ++k) work.shared.masks[k][lane_id()] = masks[k];
        if (group.lane == 0 && rows > 0 && !has_edges) {
            const int quality = work.reads.gap_continuation(work.pair().start);
            const double close = 1.0 - work.shared.probabilities[quality];
            columns.incoming = close * (kUp / work.pair().width);
        }
    }

    // Calls `use` with the letters of the lane and the bits of their columns.
    template <typename Use>
    __device__ void for_each_letter(Use use) const {
        const Pair& pair = work.pair();
        const int start = work.shared.first + group.lane * kColumns;
        const unsigned char* letters = work.haplotypes.bases + pair.first_column;
#pragma unroll 1
        for (int k = 0; k < min(pair.width - start, kColumns); ++k) {
            use(letters[start + k], bit_of(k, kColumns));
        }
    }

    // Returns a bit per column of the lane, set where another byte but N is.
    __device__ unsigned mask(unsigned char byte) const {
        unsigned differs = 0;
        for_each_letter([&](unsigned char letter, int bit) {
            differs |= (unsigned)(letter != byte && letter != 'N') << bit;
        });
        return differs;
    }

    // Whether the lane has a row in a step.
    __device__ bool is_active(int step) const {
        return (unsigned)(step - group.lane) < (unsigned)rows;
    }

    __device__ bool is_over(int step) const { return rows == 0 || step - group.lane >= rows; }

    // Returns the highest exponent of what is received in some steps.
    __device__ int highest_exponent(int step, int end) const {
        int highest = kNoExponent;
        if (!has_edges) return highest;
        for (int row = step; row < min(end, rows); ++row) {
            highest = max(highest, (int)work.edges[row].exponent);
        }
        return highest;
    }

    // Fills in the rows of some steps. All lanes.
    template <bool kIsTested>
    __device__ void advance(RowQueue& queue, int step, int end, bool is_last) {
#pragma unroll 1  // the body is long
        for (; step < end; ++step) {
            if (is_active(step)) {
                if (has_edges) columns.receive(work.edges[step]);
                const Row row = queue.next();
                const unsigned differs = row.letter < kLetters
                                             ? work.shared.masks[row.letter][lane_id()]
                                             : mask(row.letter - kLetters);
                columns.template advance<kIsTested>(row, differs);
                if (!is_last && lane_id() == kWarpLanes - 1) {
                    work.edges[step - kWarpLanes + 1] = {columns.incoming, columns.deletion,
                                                         columns.exponent};
                }
            }
            columns.template pass_on<kIsTested>(group.lane == 0, is_active(step + 1));
        }
    }

    // Fills in all rows. All lanes.
    __device__ void fill() {
        RowQueue queue(work.shared, work.reads, group);
        const bool is_last = work.pair().width - work.shared.first <= kColumns * kWarpLanes;
        work.shared.steps = warp_max(rows + group.lanes - 1);
        int step = 0;
#pragma unroll 1
        do {
            queue.compute_before(step);
            const bool are_tame = work.shared.are_tame && work.shared.first == 0;
            const int end = min(step + (are_tame ? kTameRows : kRows), work.shared.computed);
            const bool is_safe = columns.rescale(group.lane == 0, is_active(step), is_over(step),
                                                 highest_exponent(step, end));
            if (are_tame && is_safe) {
                advance<false>(queue, step, end, is_last);
            } else {
                advance<true>(queue, step, end, is_last);
            }
            step = end;
        } while (step < work.shared.steps);
    }

    // Adds the last row to the sum. All lanes.
    __device__ void add_last_row() {
        const Pair& pair = work.pair();
        const int count = pair.width - work.shared.first;
        const bool is_lossy = columns.is_lossy() && group.lane * kColumns < count;
        Scaled sum = work.shared.sums[lane_id()];
        if (__ballot_sync(kAllLanes, is_lossy) & group.mask()) sum.value = nan("");
        double weight = 0.0;
        if (rows > 0) {
            const int last = pair.start + rows - 1;
            weight = work.shared.probabilities[work.reads.columns.insertion_qualities[last]];
        }
        columns.add_to(sum, group, count, weight);
        work.shared.sums[lane_id()] = sum;
    }
};

// Computes the sums of the pairs of a warp. All lanes.
template <int kColumns>
__device__ void add_strips(const Work& work, const Group& group) {
    int& first = work.shared.first;
    first = 0;
    while (first < warp_max(work.pair().width)) {
        Strip<kColumns> strip(work, group);
        strip.fill();
        strip.add_last_row();
        const int next = first + kColumns * kWarpLanes;
        __syncwarp();  // all lanes have read `first`, and the last one has written edges
        first = next;
    }
}

constexpr int kNoEntry = -1;

// Returns the next entry of the list of pairs, from its number of entries on if none is left. Each
// entry is taken by the first warp that is free.
__device__ int next_entry(int* taken) {
    const int entry = lane_id() == 0 ? atomicAdd(taken, 1) : 0;
    return __shfl_sync(kAllLanes, entry, 0);
}

__device__ inline int lanes_for(int width, int columns) {
    return min(max((width + columns - 1) / columns, kLeastLanes), kWarpLanes);
}

// Time of a row of a haplotype, if a warp has as many pairs as fit.
__device__ inline float time_of_row(int width, int columns) {
    const int strips = (width - 1) / (columns * kWarpLanes) + 1;
    const int pairs = kWarpLanes / lanes_for(width, columns);
    return (float)(strips * (columns + kRowColumns)) / pairs;
}

// Returns the number of columns per lane for a warp whose first haplotype has such a width; not so
// few that it needs strips where the most do not.
__device__ inline int columns_for(int width, bool is_alone) {
    if (is_alone && width <= kFewColumns * kWarpLanes) return kFewColumns;
    const float many = time_of_row(width, kManyColumns);
    return time_of_row(width, kMiddleColumns) < many ? kMiddleColumns : kManyColumns;
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
    int entry = next_entry(taken);
    if (entry >= *exact_pairs.count) return;  // as most blocks do in a small batch
    for (int k = lane_id(); k < kQualities; k += kWarpLanes) {
        shared.probabilities[k] = probabilities[k];
    }
    __syncwarp();  // other lanes read what is written here
    const Work work = {reads, haplotypes, shared, (Edge*)scratch + (long long)blockIdx.x * longest};
    while (entry < *exact_pairs.count) {
        // Few pairs are spread over all warps, and over more lanes of each.
        const int count = *exact_pairs.count, most_groups = count / gridDim.x + 1;
        shared.pairs[lane_id()] = {0, 0, 0, 1, 0};
        shared.sums[lane_id()] = {0.0, kNoExponent};
        Group group = {};
        int used = 0, columns = 0, groups = 0;
        bool has_room = true;
        while (has_room && entry < count) {
            const int4 rows = pairs[2 * exact_pairs.pairs[entry] + 1];
            const int start = reads.offsets[rows.x], first = haplotypes.offsets[rows.y];
            const int width = haplotypes.offsets[rows.y + 1] - first;
            if (!used) columns = columns_for(width, most_groups == 1);
            const int lanes = lanes_for(width, columns);
            if (used + lanes > kWarpLanes) break;
            if (lane_id() >= used) group = {lanes, lane_id() - used};
            if (lane_id() >= used && group.lane < lanes) {
                shared.pairs[lane_id()] = {start, reads.offsets[rows.x + 1] - start, first, width,
                                           rows.z};
            }
            used += lanes;
            has_room = ++groups < most_groups && used + lanes <= kWarpLanes;
            if (has_room) entry = next_entry(taken);
        }
        if (!has_room) entry = kNoEntry;  // no pair waits for this warp
        shared.entry = entry;
        if (columns == kFewColumns) add_strips<kFewColumns>(work, group);
        if (columns == kMiddleColumns) add_strips<kMiddleColumns>(work, group);
        if (columns == kManyColumns) add_strips<kManyColumns>(work, group);
        if (group.lane == 0) {
            const Scaled sum = shared.sums[lane_id()];
            const bool is_known = sum.value > 0.0 && isfinite(sum.value);
            likelihoods[work.pair().result] =
                is_known ? fmin(0.0, log10_scaled(sum.value, kStep * sum.exponent)) : nan("");
            if (!is_known) *too_small = 1;
        }
        entry = shared.entry;
        __syncwarp();  // all lanes have read what the next pairs overwrite
        if (entry == kNoEntry) entry = next_entry(taken);
    }
}
