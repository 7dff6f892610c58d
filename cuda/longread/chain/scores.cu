// Chain scores: the best chain that ends at each anchor (minimap2's mg_lchain_dp); same as
// hapgpu/longread/chain/scores.py.

#include "longread/chain/all_predecessors.cuh"
#include "longread/chain/dense.cuh"
#include "longread/chain/segment_queue.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr int kSharedPenalties = 2048;
constexpr int kSharedRanks = 5120;  // of predecessors with a mark in shared memory
constexpr int kMoreWords = kChunks;  // of marks: a search reads beyond the last
constexpr int kSharedWords = kSharedRanks / kWarpLanes + kMoreWords;
constexpr int kThreadBins = 3;  // segments of lower bins are for a thread, the others for a warp

enum Taken { kInBins, kDense };  // counters of segments taken

// Shared memory that warps use, alone or as a team.
union Scratch {
    Candidate candidates[kWarps][kWarpLanes];
    TeamScratch team;
};

// Number of segments of a bin that a warp takes at a time.
__device__ inline unsigned group_size(int bin) { return bin < kThreadBins ? 128 : bin < 5 ? 8 : 1; }

// Whether an anchor has more than `max_iterations` predecessors within reach.
__device__ inline bool is_capped(
    const SegmentView& view, const ChainParameters& parameters, int max_iterations
) {
    bool is_any = false;
    for (int at = max_iterations + 1 + lane_id(); at < view.length(); at += kWarpLanes) {
        const unsigned first_x = view.x(at - max_iterations - 1);
        is_any |= is_within_reach(view.x(at), first_x, parameters.max_distance_x);
    }
    return __any_sync(kAllLanes, is_any);
}

__device__ inline void score_by_warp(
    const SegmentView& view, const ChainParameters& parameters, Limits limits,
    Candidate* shared, Marks marks
) {
    const int max_predecessors = view.length() - 1;  // of an anchor
    const bool visits_all = max_predecessors <= limits.max_skip
        && (max_predecessors <= limits.max_iterations
            || !is_capped(view, parameters, limits.max_iterations));
    if (visits_all) {
        score_by_blocks(view, parameters, shared);
    } else {
        score_with_skips(view, parameters, limits, shared, marks);
    }
}

// Scores and predecessors of all anchors in the segments from `list_segments`, the longest first.
// With at most `kSharedPenalties` penalties and `kSharedRanks` ranks, penalties and marks may be in
// shared memory; only then may there be dense segments. `marks` and `taken` are initially 0.
template <bool kIsShared>
__global__ void __launch_bounds__(kThreads, 4) chain(
    const __grid_constant__ Anchors anchors, const __grid_constant__ Segments segments,
    const __grid_constant__ ChainParameters given, const __grid_constant__ Limits limits,
    const __grid_constant__ ChainScores scores, unsigned* marks, unsigned* taken
) {
    __shared__ Scratch scratch;
    __shared__ unsigned shared_marks[kWarps][kIsShared ? kSharedWords : 1];
    __shared__ unsigned short shared_penalties[kIsShared ? kSharedPenalties : 1];
    ChainParameters parameters = given;
    if constexpr (kIsShared) {
        for (int at = threadIdx.x; at <= given.bandwidth; at += kThreads) {
            shared_penalties[at] = given.penalties[at];
        }
        parameters.penalties = shared_penalties;
        marks = shared_marks[threadIdx.x / kWarpLanes];
        for (int word = lane_id(); word < kSharedWords; word += kWarpLanes) marks[word] = 0;
    }
    const int fewest = min(limits.max_skip, limits.max_iterations);
    const int thread_bins = fewest < (1 << kThreadBins) ? 0 : kThreadBins;
    const BatchArrays arrays = {anchors.x, anchors.y, scores.scores, scores.predecessors};

    __shared__ Bin shared_bins[kWarpLanes];
    if (threadIdx.x < kWarpLanes) {
        shared_bins[lane_id()] = bin_of_lane(segments, anchors.count, group_size(lane_id()));
    }
    __syncthreads();
    if constexpr (kIsShared) {
        const Segment* dense = segments.rows + bin_start(anchors.count, kBins);
        __shared__ unsigned shared_row;
        while (true) {
            if (threadIdx.x == 0) shared_row = atomicAdd(&taken[kDense], 1u);
            __syncthreads();
            const unsigned row = shared_row;
            if (row >= segments.counts[kDenseCount]) break;
            const SegmentView view{arrays, dense[row]};
            score_by_team(view, parameters, limits, scratch.team, Marks(marks));
        }
        __syncthreads();
    }
    Candidate* shared = scratch.candidates[threadIdx.x / kWarpLanes];
    SegmentQueue queue{segments.rows, shared_bins, &taken[kInBins]};
    for (Group group = queue.next(); group.count; group = queue.next()) {
        if (group.bin < thread_bins) {
            for (unsigned at = lane_id(); at < group.count; at += kWarpLanes) {
                score_by_thread({arrays, group.segments[at]}, parameters);
            }
            __syncwarp();
        } else {
            for (unsigned at = 0; at < group.count; ++at) {
                const Segment segment = group.segments[at];
                // No other segment of more than 32 anchors, the fewest with marks, has these words.
                const long long first_word = kIsShared ? 0 : segment.start / 16;
                const Marks own_marks(marks + first_word);
                score_by_warp({arrays, segment}, parameters, limits, shared, own_marks);
            }
        }
    }
}
