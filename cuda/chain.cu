// Best chains that end at each anchor (minimap2's mg_lchain_dp); hapgpu/chaining/cpu.py does the
// same.

#include "chain_blocks.cuh"
#include "chain_walk.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr int kSharedPenalties = 2048;
constexpr int kThreadBins = 3;  // segments of bins below are for a thread, the others for a warp

// Segments of a bin that a warp takes at a time.
__device__ inline int group_size(int bin) { return bin < kThreadBins ? 128 : bin < 5 ? 8 : 1; }

struct Bin {
    long long begin;  // in the list of segments
    unsigned count, groups, first_group;

    __device__ bool holds(unsigned group) const {
        return group >= first_group && group - first_group < groups;
    }
};

// The bin with the number of the lane. Groups are counted from those of the last bin on.
__device__ inline Bin bin_of_lane(const unsigned* counts, long long anchors, int bins) {
    const unsigned count = lane_id() < bins ? counts[lane_id()] : 0;
    const unsigned groups = (count + group_size(lane_id()) - 1) / group_size(lane_id());
    unsigned first_group = 0;
    for (int bin = 1; bin < bins; ++bin) {
        const unsigned others = __shfl_sync(kAllLanes, groups, bin);
        if (bin > lane_id()) first_group += others;
    }
    return {bin_begin(anchors, lane_id()), count, groups, first_group};
}

// Whether some anchor has more predecessors within reach than are considered.
__device__ inline bool is_capped(const Run& run, const Rules& rules, int max_iterations) {
    bool is_any = false;
    for (int at = max_iterations + 1 + lane_id(); at < run.length(); at += kWarpLanes) {
        const unsigned first_x = run.x(at - max_iterations - 1);
        is_any |= reaches(run.x(at), first_x, rules.max_distance_x);
    }
    return __any_sync(kAllLanes, is_any);
}

__device__ inline void chain_by_warp(
    const Run& run, const Rules& rules, Limits limits, Candidate* shared
) {
    const int most = run.length() - 1;  // predecessors of an anchor
    const bool visits_all = most <= limits.max_skip
        && (most <= limits.max_iterations || !is_capped(run, rules, limits.max_iterations));
    if (visits_all) {
        chain_in_blocks(run, rules, shared);
    } else {
        chain_by_walks(run, rules, limits, shared);
    }
}

// Scores and predecessors of all anchors in the segments that `list_segments` found, the longest
// first. `marks` need not be set; `taken` is 0 at first.
template <bool kIsShared>
__global__ void __launch_bounds__(kThreads, 4) chain(
    const Word* x, const Word* y, const Segment* segments, const unsigned* counts,
    const unsigned short* penalties, int* scores, int* predecessors, int* marks, unsigned* taken,
    long long anchors, long long capacity, int bins, int entries, int one, int max_distance_x,
    int max_distance_y, int bandwidth, int max_skip, int max_iterations
) {
    __shared__ Candidate candidates[kWarps][kWarpLanes];
    __shared__ unsigned short near_penalties[kIsShared ? kSharedPenalties : 1];
    Rules rules = {(unsigned)max_distance_x, (unsigned)max_distance_y, bandwidth, penalties};
    if constexpr (kIsShared) {
        for (int at = threadIdx.x; at < entries; at += kThreads) near_penalties[at] = penalties[at];
        __syncthreads();
        rules.penalties = near_penalties;
    }
    const Limits limits = {max_skip, max_iterations};
    const int thread_bins = min(max_skip, max_iterations) < (1 << kThreadBins) ? 0 : kThreadBins;
    const Arrays arrays = {x, y, scores, predecessors, marks};
    Candidate* shared = candidates[threadIdx.x / kWarpLanes];

    __shared__ Bin shelf[kWarpLanes];
    if (threadIdx.x < kWarpLanes) shelf[lane_id()] = bin_of_lane(counts, anchors, bins);
    __syncthreads();
    while (true) {
        unsigned group = 0;
        if (lane_id() == 0) group = atomicAdd(taken, 1u);
        group = __shfl_sync(kAllLanes, group, 0);
        const unsigned found = __ballot_sync(kAllLanes, shelf[lane_id()].holds(group));
        if (!found) return;
        const int number = __ffs(found) - 1;
        const Bin bin = shelf[number];
        const unsigned first = (group - bin.first_group) * group_size(number);
        const unsigned end = min(first + group_size(number), bin.count);
        const Segment* list = segments + bin.begin;
        if (number < thread_bins) {
            for (unsigned at = first + lane_id(); at < end; at += kWarpLanes) {
                chain_by_thread({arrays, list[at]}, rules);
            }
            __syncwarp();
        } else {
            for (unsigned at = first; at < end; ++at) {
                chain_by_warp({arrays, list[at]}, rules, limits, shared);
            }
        }
    }
}
