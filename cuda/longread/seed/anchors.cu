// Anchors: every occurrence of every seed, sorted by position on the reference; same as
// hapgpu/longread/seed/anchors.py.

#include "common/binary_search.cuh"
#include "longread/seed/radix_order.cuh"
#include "common/work_queue.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
constexpr int kBlocksAtOnce = 7;  // at least so many per multiprocessor: leaves enough registers

// As in hapgpu/longread/batches.py.
constexpr unsigned long long kReverse = 1ull << 63;
constexpr unsigned long long kTandem = 1ull << 42;
constexpr int kSpanShift = 32;

__device__ int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int thread_count() { return gridDim.x * blockDim.x; }

}  // namespace

// Offset of the first anchor of each read, from the ends of the anchors of each seed.
extern "C" __global__ void __launch_bounds__(kThreads) bound_anchors(
    const long long* ends, const long long* seed_offsets, long long* offsets, int seeds, int reads
) {
    for (int read = thread_id(); read <= reads; read += thread_count()) {
        const long long seed = seed_offsets[read];
        offsets[read] = seed ? ends[seed - 1] : 0;
    }
}

// x and seed of each anchor, in the order of the seeds and of their occurrences; one thread per
// anchor.
extern "C" __global__ void __launch_bounds__(kThreads) expand_occurrences(
    const unsigned long long* occurrences, const unsigned* positions,
    const long long* first_occurrences, const long long* ends, unsigned long long* x,
    unsigned* anchor_seeds, long long occurrence_count, int seeds, int anchors
) {
    for (long long anchor = thread_id(); anchor < anchors; anchor += thread_count()) {
        const int seed = count_at_most(ends, seeds, anchor);
        const long long before = seed ? ends[seed - 1] : 0;
        const long long row = first_occurrences[seed] + (anchor - before);
        const unsigned long long occurrence = occurrences[row];
        const bool is_reverse = (occurrence ^ positions[seed]) & 1;
        x[anchor] = (is_reverse ? kReverse : 0) | occurrence >> 32 << 32 |
                    (occurrence & 0xffffffffu) >> 1;
        anchor_seeds[anchor] = seed;
    }
}

// Sorts the anchors of each read by x, and sets their y; one warp per read.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) sort_anchors(
    const unsigned* positions, const unsigned char* spans, const unsigned char* is_tandem,
    const int* lengths, const long long* offsets, const long long* order, int* taken,
    unsigned long long* x, unsigned* anchor_seeds, unsigned long long* y, int seeds, int anchors,
    int reads, int one
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int read; (read = queue.next()) >= 0;) {
        const long long start = offsets[read];
        const int count = static_cast<int>(offsets[read + 1] - start);
        radix_order(x + start, anchor_seeds + start, count, scratch[threadIdx.x / kWarpLanes]);
        for (long long at = start + lane_id(); at < start + count; at += kWarpLanes) {
            const unsigned seed = anchor_seeds[at];
            const unsigned span = spans[seed];
            unsigned position = positions[seed] >> 1;
            if (x[at] & kReverse) position = lengths[read] + span - position - 2;
            y[at] = (is_tandem[seed] ? kTandem : 0) |
                    static_cast<unsigned long long>(span) << kSpanShift | position;
        }
    }
}
