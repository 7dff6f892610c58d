// Anchors cut into segments that are chained by themselves.

#include "chain.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;

// Calls `use(begin, end)` in some lane for each segment of a read; by a whole warp.
template <typename Use>
__device__ inline void for_each_segment(const Word* x, int anchors, unsigned max_distance, Use use) {
    int open = 0;  // where the segment begins that is not closed yet
    for (long long base = 0; base < anchors; base += kWarpLanes) {
        const long long end = base + lane_id() + 1;
        const bool is_cut = end == anchors
            || (end < anchors
                && (x[end] >> 32 != x[end - 1] >> 32 || x[end] - x[end - 1] > max_distance));
        const unsigned cuts = __ballot_sync(kAllLanes, is_cut);
        if (is_cut) {
            const unsigned before = cuts & ((1u << lane_id()) - 1);
            use(before ? (int)base + kWarpLanes - __clz(before) : open, (int)end);
        }
        if (cuts) open = (int)base + kWarpLanes - __clz(cuts);
    }
}

// Segments of all reads by bin, and the scores of anchors that are alone; a warp a read. `counts`
// are the segments of each bin, at first 0.
extern "C" __global__ void __launch_bounds__(kThreads) list_segments(
    const Word* x, const Word* y, const long long* offsets, int* scores, int* predecessors,
    Segment* segments, unsigned* counts, long long anchors, long long capacity, int reads,
    int bins, int max_distance
) {
    __shared__ unsigned slots_of_warps[kWarps][kWarpLanes];
    __shared__ long long begins[kWarpLanes];
    if (threadIdx.x < kWarpLanes) begins[threadIdx.x] = bin_begin(anchors, threadIdx.x);
    __syncthreads();
    unsigned* slots = slots_of_warps[threadIdx.x / kWarpLanes];
    const int warps = gridDim.x * kWarps;
    for (int read = blockIdx.x * kWarps + threadIdx.x / kWarpLanes; read < reads; read += warps) {
        const long long first = offsets[read];
        const int length = (int)(offsets[read + 1] - first);
        slots[lane_id()] = 0;
        __syncwarp();
        for_each_segment(x + first, length, max_distance, [&](int begin, int end) {
            if (end - begin > 1) atomicAdd(&slots[bin_of(end - begin)], 1u);
        });
        __syncwarp();
        const unsigned count = slots[lane_id()];
        if (count) slots[lane_id()] = atomicAdd(&counts[lane_id()], count);
        __syncwarp();
        for_each_segment(x + first, length, max_distance, [&](int begin, int end) {
            if (end - begin == 1) {
                scores[first + begin] = (int)(y[first + begin] >> 32 & 255);
                predecessors[first + begin] = -1;
            } else {
                const int bin = bin_of(end - begin);
                const unsigned slot = atomicAdd(&slots[bin], 1u);
                segments[begins[bin] + slot] = {first + begin, end - begin, begin};
            }
        });
        __syncwarp();
    }
}
