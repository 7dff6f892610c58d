// Scores of the long join: the best chain over long gaps that ends at each anchor; same as
// hapgpu/longread/chain/join_scores.py.

#include "longread/chain/far.cuh"
#include "longread/chain/near.cuh"
#include "longread/chain/segment_queue.cuh"
#include "longread/chain/small_join.cuh"

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;

// Position in the read of anchor `at`, before anchor i.
__device__ inline int position_of(const JoinArrays& arrays, const Recent& recent, int at, int i) {
    return i - at < kRecent ? recent.positions[at % kRecent] : query_position(arrays.y[at]);
}

// Scores of all anchors of a segment, whose first anchor has the number `first_in_read`; by a warp.
__device__ inline void score_segment(
    const JoinArrays& arrays, Recent& recent, int count, int first_in_read,
    const CachedJoinParameters& parameters
) {
    for (int at = lane_id(); at < kRecent; at += kWarpLanes) recent.marks[at] = -1;
    Window far(arrays.x, count, parameters.max_distance);
    Window near(arrays.x, count, parameters.inner_distance);
    Ceilings ceilings{arrays.ceilings, arrays.old_ceilings, count / kWarpLanes,
                      query_bins(arrays.y, count), kNoRank, kNoRank, kNoRank};
    NearList list{recent.near_keys, arrays.near_keys, recent.near_keys, 0, 0};
    NewestBlock newest{0, 0, kNoRank};
    Word lane_x = 0, lane_y = 0;
    Best lane_best{0, -1};
    int candidates_end = 0;  // end of the candidates, which have a smaller x
    Word candidates_x = arrays.x[0];
    for (int i = 0; i < count; ++i) {
        const int turn = i % kWarpLanes;
        if (turn == 0) {
            if (i + lane_id() < count) {
                lane_x = arrays.x[i + lane_id()];
                lane_y = arrays.y[i + lane_id()];
                arrays.marks[i + lane_id()] = -1;
            }
            newest = {i, query_position(lane_y), kNoRank};
        }
        const Word x = __shfl_sync(kAllLanes, lane_x, turn);
        const Word y = __shfl_sync(kAllLanes, lane_y, turn);
        if (x != candidates_x) {
            for (; candidates_end < i; ++candidates_end) {
                const int query = position_of(arrays, recent, candidates_end, i);
                list.insert(near_key(query, candidates_end));
            }
            candidates_x = x;
        }
        const int position = query_position(y), span = (int)(y >> 32 & 255);
        const int first_candidate = candidates_end - parameters.max_candidates;
        const int first = max(far.start(x), first_candidate);
        const int near_first = max(near.start(x), first_candidate);
        if (list.size > 2 * (candidates_end - near_first) + kMaxOutdated) list.drop(near_first);

        Best best{span, -1};
        const Reach reach{first, candidates_end, (long long)position - parameters.max_distance,
                          position, first_in_read == 0};
        const int j =
            first < candidates_end ? best_ranked(arrays, recent, ceilings, newest, reach) : -1;
        if (j >= 0) {
            const Node node = i - j < kRecent ? recent.nodes[j % kRecent] : arrays.nodes[j];
            const int before = position_of(arrays, recent, j, i);
            const Step step = step_between(node, before, (unsigned)x, position, parameters);
            const int score = node.score + step.gain;
            if (step.difference <= parameters.bandwidth && score > best.score) best = {score, j};
            if (!step.is_exact) {
                best = search_near(
                    arrays, recent, list, i, (unsigned)x, position, near_first, parameters, best);
            }
        }
        const long long rank = rank_of(best.score, (int)x, position, parameters.half_slope);
        ceilings.add(position, rank);
        if (lane_id() == turn) {
            newest.rank = rank;
            lane_best = {best.score, best.predecessor < 0 ? -1 : best.predecessor + first_in_read};
            const Node node{(unsigned)x, span, best.score, best.predecessor};
            arrays.nodes[i] = recent.nodes[i % kRecent] = node;
            recent.ranks[i % kRecent] = rank;
            recent.positions[i % kRecent] = position;
        }
        const bool is_complete = turn == kWarpLanes - 1;
        if (is_complete) ceilings.complete(i / kWarpLanes);
        if ((is_complete || i == count - 1) && lane_id() <= turn) {
            const int at = i - turn + lane_id();
            arrays.scores[at] = lane_best.score;
            arrays.predecessors[at] = lane_best.predecessor;
            arrays.ranks[at] = newest.rank;
        }
        __syncwarp();
    }
}

// Number of segments of a bin that a warp takes at a time.
__device__ inline unsigned group_size(int bin) { return bin < 3 ? 16 : bin < 5 ? 4 : 1; }

// Scores and predecessors of all anchors in the segments from `list_segments`, the longest first;
// one warp per segment. `scratch` is working memory; `taken` is initially 0.
extern "C" __global__ void __launch_bounds__(kThreads, 5) score_joined(
    const __grid_constant__ Anchors anchors, const __grid_constant__ Segments segments,
    const __grid_constant__ JoinParameters parameters, const __grid_constant__ ChainScores scores,
    const __grid_constant__ JoinScratch scratch, unsigned* taken
) {
    __shared__ unsigned short shared_penalties[kSharedPenalties];
    const int cached_penalties = min(parameters.bandwidth + 1, kSharedPenalties);
    for (int at = threadIdx.x; at < cached_penalties; at += kThreads) {
        shared_penalties[at] = parameters.penalties[at];
    }
    const CachedJoinParameters cached{parameters, shared_penalties};
    const JoinArrays arrays{
        anchors.x, anchors.y, scores.scores, scores.predecessors, (Node*)scratch.nodes,
        scratch.marks, scratch.ranks, scratch.ceilings, scratch.old_ceilings, scratch.near_keys
    };
    __shared__ Recent recent[kWarps];
    __shared__ Bin shared_bins[kWarpLanes];
    if (threadIdx.x < kWarpLanes) {
        shared_bins[lane_id()] = bin_of_lane(segments, anchors.count, group_size(lane_id()));
    }
    __syncthreads();
    SegmentQueue queue{segments.rows, shared_bins, taken};
    for (Group group = queue.next(); group.count; group = queue.next()) {
        for (unsigned at = 0; at < group.count; ++at) {
            const Segment segment = group.segments[at];
            const JoinArrays own = arrays.from(segment.start);
            Recent& own_recent = recent[threadIdx.x / kWarpLanes];
            if (segment.length <= kWarpLanes && parameters.max_candidates >= kWarpLanes) {
                score_small_segment(own, own_recent.marks, segment.length, segment.first_in_read,
                                    cached);
            } else {
                score_segment(own, own_recent, segment.length, segment.first_in_read, cached);
            }
        }
    }
}
