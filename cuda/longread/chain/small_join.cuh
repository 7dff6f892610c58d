// Scores of the long join in a segment of at most 32 anchors, which a warp holds in registers: one
// anchor per lane, from the last in the read to the first, as near predecessors are visited.

#include "longread/chain/far.cuh"
#include "longread/chain/near.cuh"

__device__ inline unsigned warp_or(unsigned value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(kAllLanes, value);
#else
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value |= __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
#endif
}

// The anchor of a lane; its number is -1 if the lane has none.
struct LaneAnchor {
    int number, position;
    Node node;
    int predecessor_lane;
    long long rank;
};

// Lane of the anchor with the number of this lane: the number of anchors after it in the read.
__device__ inline int lane_of_number(Word key, int count) {
    int lane = 0;
    for (int other = 0; other < count; ++other) {
        lane += __shfl_sync(kAllLanes, key, other) > key;
    }
    return lane;
}

// Anchors that may precede one on the reference; all others may not.
struct SmallReach {
    unsigned x;
    int position;
    bool has_equal;  // whether anchor 0 of the segment may have the same position

    __device__ bool holds(const LaneAnchor& own, int max_distance) const {
        return own.number >= 0 && own.node.x < x && x - own.node.x <= (unsigned)max_distance
            && (long long)own.position > (long long)position - max_distance
            && own.position < position + (has_equal && own.number == 0);
    }
};

// Lane of the anchor of the highest rank within reach, the first of ties; -1 if there is none.
__device__ inline int best_lane(const LaneAnchor& own, bool is_candidate) {
    const long long rank = is_candidate ? own.rank : kNoRank;
    const long long highest = warp_max(rank);
    if (highest == kNoRank) return -1;
    const int first = warp_min(rank == highest ? own.number : kWarpLanes);
    return __ffs(__ballot_sync(kAllLanes, own.number == first)) - 1;
}

// Visits the near candidates, as `search_near` does; the best predecessor is a lane.
__device__ inline Best search_near_lanes(
    const LaneAnchor& own, const SmallReach& reach, const CachedJoinParameters& parameters,
    Best best
) {
    const Step step =
        step_between(own.node, own.position, reach.x, reach.position, parameters);
    const bool is_candidate = own.number >= 0 && own.node.x < reach.x
        && reach.x - own.node.x <= (unsigned)parameters.inner_distance
        && own.position < reach.position
        && own.position >= reach.position - parameters.inner_distance
        && step.difference <= parameters.bandwidth;
    const int score = own.node.score + step.gain;
    const bool marks = is_candidate && own.predecessor_lane >= 0;
    const unsigned marked_lanes = warp_or(marks ? 1u << own.predecessor_lane : 0);
    const unsigned marked = __ballot_sync(kAllLanes, is_candidate) & marked_lanes;
    const unsigned improving = improving_lanes(is_candidate, score, best.score);
    int skipped = 0;
    const unsigned visited = visited_lanes(marked, improving, parameters.max_skip, skipped);
    if (improving & visited) {
        best.predecessor = 31 - __clz(improving & visited);
        best.score = __shfl_sync(kAllLanes, score, best.predecessor);
    }
    return best;
}

// Scores of all anchors of a segment, as `score_segment`; `lanes` is working memory for 32 numbers.
__device__ inline void score_small_segment(
    const JoinArrays& arrays, int* lanes, int count, int first_in_read,
    const CachedJoinParameters& parameters
) {
    const int number = lane_id();
    const bool is_anchor = number < count;
    const Word number_key =
        is_anchor ? near_key(query_position(arrays.y[number]), number) : 0;
    const int lane = lane_of_number(number_key, count);  // of the anchor with this number
    if (is_anchor) lanes[lane] = number;
    __syncwarp();
    LaneAnchor own{-1, 0, {0, 0, 0, -1}, -1, kNoRank};
    if (is_anchor) {
        own.number = lanes[lane_id()];
        const Word y = arrays.y[own.number];
        own.position = query_position(y);
        own.node.x = (unsigned)arrays.x[own.number];
        own.node.span = (int)(y >> 32 & 255);
    }
    __syncwarp();  // before `lanes` is used again
    for (int i = 0; i < count; ++i) {
        const int turn = __shfl_sync(kAllLanes, lane, i);
        const SmallReach reach{__shfl_sync(kAllLanes, own.node.x, turn),
                               __shfl_sync(kAllLanes, own.position, turn), first_in_read == 0};
        Best best{__shfl_sync(kAllLanes, own.node.span, turn), -1};
        const int far = best_lane(own, reach.holds(own, parameters.max_distance));
        if (far >= 0) {
            const Node node{__shfl_sync(kAllLanes, own.node.x, far),
                            __shfl_sync(kAllLanes, own.node.span, far),
                            __shfl_sync(kAllLanes, own.node.score, far), -1};
            const int before = __shfl_sync(kAllLanes, own.position, far);
            const Step step = step_between(node, before, reach.x, reach.position, parameters);
            const int score = node.score + step.gain;
            if (step.difference <= parameters.bandwidth && score > best.score) best = {score, far};
            if (!step.is_exact) best = search_near_lanes(own, reach, parameters, best);
        }
        int predecessor = -1;
        if (best.predecessor >= 0) {
            predecessor = __shfl_sync(kAllLanes, own.number, best.predecessor);
        }
        if (lane_id() == turn) {
            own.node.score = best.score;
            own.node.predecessor = predecessor;
            own.predecessor_lane = best.predecessor;
            own.rank =
                rank_of(best.score, (int)reach.x, reach.position, parameters.half_slope);
        }
    }
    if (is_anchor) {
        const int predecessor = own.node.predecessor;
        arrays.scores[own.number] = own.node.score;
        arrays.predecessors[own.number] = predecessor < 0 ? -1 : predecessor + first_in_read;
    }
}
