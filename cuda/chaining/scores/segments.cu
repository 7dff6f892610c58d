// Anchors cut into segments that are chained by themselves.

#include "chaining/scores/pair_score.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr int kParts = 32;  // of a read, for as many warps; the shortest has `kMinPart` anchors
constexpr int kMinPart = 1024;

struct Read {
    const Word* x;
    int anchors;
    unsigned max_distance;

    // Whether a segment begins at an anchor, or the read ends there.
    __device__ bool is_cut(long long at) const {
        if (at == 0 || at == anchors) return true;
        return x[at] >> 32 != x[at - 1] >> 32 || x[at] - x[at - 1] > max_distance;
    }
};

// Calls `use(begin, end)` in some lane for each segment that begins in a part of a read; by a whole
// warp.
template <typename Use>
__device__ inline void for_each_segment(Read read, int part_begin, int part_end, Use use) {
    int open = read.is_cut(part_begin) ? part_begin : -1;  // where the segment at hand begins
    for (long long base = part_begin; base < part_end || (open >= 0 && open < part_end);
         base += kWarpLanes) {
        const long long end = base + lane_id() + 1;
        const bool is_cut = end <= read.anchors && read.is_cut(end);
        const unsigned cuts = __ballot_sync(kAllLanes, is_cut);
        const unsigned before = cuts & ((1u << lane_id()) - 1);
        const int begin = before ? (int)base + kWarpLanes - __clz(before) : open;
        if (is_cut && begin >= 0 && begin < part_end) use(begin, (int)end);
        if (cuts) open = (int)base + kWarpLanes - __clz(cuts);
    }
}

// Segments of all reads by bin, and the scores of anchors that are alone; a warp a
// part of a read. `counts` are the segments of each bin, at first 0.
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
    const long long parts = (long long)reads * kParts;
    for (long long part = blockIdx.x * kWarps + threadIdx.x / kWarpLanes; part < parts;
         part += warps) {
        const long long number = part / kParts, first = offsets[number];
        const Read read = {x + first, (int)(offsets[number + 1] - first), (unsigned)max_distance};
        const int length = max(read.anchors / kParts + 1, kMinPart);
        const long long part_begin = part % kParts * length;
        if (part_begin >= read.anchors) continue;
        const int part_end = (int)min(part_begin + length, (long long)read.anchors);
        slots[lane_id()] = 0;
        __syncwarp();
        for_each_segment(read, (int)part_begin, part_end, [&](int begin, int end) {
            if (end - begin > 1) atomicAdd(&slots[bin_of(end - begin)], 1u);
        });
        __syncwarp();
        const unsigned count = slots[lane_id()];
        if (count) slots[lane_id()] = atomicAdd(&counts[lane_id()], count);
        __syncwarp();
        for_each_segment(read, (int)part_begin, part_end, [&](int begin, int end) {
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
