// Anchors of reads: every hit of every seed, sorted along the reference.

#include "common/binary_search.cuh"
#include "chaining/sort/radix_order.cuh"
#include "common/work_queue.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
constexpr int kBlocksAtOnce = 7;  // of a multiprocessor, at least: leaves enough registers

// As in hapgpu/chaining/batches.py.
constexpr unsigned long long kReverse = 1ull << 63;
constexpr unsigned long long kTandem = 1ull << 42;
constexpr int kSpanShift = 32;

__device__ int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int thread_count() { return gridDim.x * blockDim.x; }

}  // namespace

// Where the anchors of each read begin, given where those of each seed end.
extern "C" __global__ void __launch_bounds__(kThreads) bound_anchors(
    const long long* ends, const long long* seed_offsets, long long* offsets, int seeds, int reads
) {
    for (int read = thread_id(); read <= reads; read += thread_count()) {
        const long long seed = seed_offsets[read];
        offsets[read] = seed ? ends[seed - 1] : 0;
    }
}

// x of all anchors, and the seed of each, in the order of the seeds and of their hits.
extern "C" __global__ void __launch_bounds__(kThreads) expand_hits(
    const unsigned long long* hits, const unsigned* places, const long long* first_hits,
    const long long* ends, unsigned long long* x, unsigned* anchor_seeds, long long hit_count,
    int seeds, int anchors
) {
    for (long long anchor = thread_id(); anchor < anchors; anchor += thread_count()) {
        const int seed = count_at_most(ends, seeds, anchor);
        const long long before = seed ? ends[seed - 1] : 0;
        const unsigned long long hit = hits[first_hits[seed] + (anchor - before)];
        const bool is_reverse = (hit ^ places[seed]) & 1;
        x[anchor] = (is_reverse ? kReverse : 0) | hit >> 32 << 32 | (hit & 0xffffffffu) >> 1;
        anchor_seeds[anchor] = seed;
    }
}

// Sorts the anchors of each read by x, and gives them their y; a warp a read.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) sort_anchors(
    const unsigned* places, const unsigned char* spans, const unsigned char* is_tandem,
    const int* lengths, const long long* offsets, const long long* order, int* taken,
    unsigned long long* x, unsigned* anchor_seeds, unsigned long long* y, int seeds, int anchors,
    int reads, int one
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int read; (read = queue.next()) >= 0;) {
        const long long begin = offsets[read];
        const int count = static_cast<int>(offsets[read + 1] - begin);
        radix_order(x + begin, anchor_seeds + begin, count, scratch[threadIdx.x / kWarpLanes]);
        for (long long at = begin + lane_id(); at < begin + count; at += kWarpLanes) {
            const unsigned seed = anchor_seeds[at];
            const unsigned span = spans[seed];
            unsigned position = places[seed] >> 1;
            if (x[at] & kReverse) position = lengths[read] + span - position - 2;
            y[at] = (is_tandem[seed] ? kTandem : 0) |
                    static_cast<unsigned long long>(span) << kSpanShift | position;
        }
    }
}
