// Queue of segments for the warps of a grid, the longest segments first.

#include "longread/chain/pair_score.cuh"

// A bin of segments, taken in groups. Groups are numbered from the last bin on.
struct Bin {
    long long start;  // in the list of segments
    unsigned count, group_size, groups, first_group;

    __device__ bool holds(unsigned group) const {
        return group >= first_group && group - first_group < groups;
    }
};

// The bin with the number of the lane, of which a warp takes `group_size` segments at a time.
__device__ inline Bin bin_of_lane(
    const Segments& segments, long long anchors, unsigned group_size
) {
    const bool is_bin = lane_id() >= kFirstBin && lane_id() < segments.bins;
    const unsigned count = is_bin ? segments.counts[lane_id()] : 0;
    const unsigned groups = (count + group_size - 1) / group_size;
    unsigned first_group = 0;
    for (int bin = 1; bin < segments.bins; ++bin) {
        const unsigned others = __shfl_sync(kAllLanes, groups, bin);
        if (bin > lane_id()) first_group += others;
    }
    return {bin_start(anchors, lane_id()), count, group_size, groups, first_group};
}

// Segments of one bin.
struct Group {
    const Segment* segments;
    unsigned count;
    int bin;
};

struct SegmentQueue {
    const Segment* segments;
    const Bin* shared_bins;  // in shared memory, by number
    unsigned* taken;   // initially 0

    // The next group, with no segments if none is left. Called by all lanes of a warp.
    __device__ Group next() {
        unsigned group = 0;
        if (lane_id() == 0) group = atomicAdd(taken, 1u);
        group = __shfl_sync(kAllLanes, group, 0);
        const unsigned found = __ballot_sync(kAllLanes, shared_bins[lane_id()].holds(group));
        if (!found) return {segments, 0, 0};
        const int number = __ffs(found) - 1;
        const Bin bin = shared_bins[number];
        const unsigned first = (group - bin.first_group) * bin.group_size;
        return {segments + bin.start + first, min(bin.group_size, bin.count - first), number};
    }
};
