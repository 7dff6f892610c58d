// Best chains that end at each anchor (minimap2's mg_lchain_dp); hapgpu/chaining/scores/cpu.py does the
// same.

#include "chaining/scores/all_predecessors.cuh"
#include "chaining/scores/max_skip.cuh"
#include "chaining/scores/segment_queue.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr int kSharedPenalties = 2048;
constexpr int kSharedRanks = 5120;  // of predecessors that can be marked
constexpr int kMoreWords = kChunks;  // of marks: a walk looks at some behind the last
constexpr int kSharedWords = kSharedRanks / kWarpLanes + kMoreWords;
constexpr int kThreadBins = 3;  // segments of bins below are for a thread, the others for a warp

// Segments of a bin that a warp takes at a time.
__device__ inline unsigned group_size(int bin) { return bin < kThreadBins ? 128 : bin < 5 ? 8 : 1; }

// Whether some anchor has more predecessors within reach than are considered.
__device__ inline bool is_capped(const Run& run, const Parameters& parameters, int max_iterations) {
    bool is_any = false;
    for (int at = max_iterations + 1 + lane_id(); at < run.length(); at += kWarpLanes) {
        const unsigned first_x = run.x(at - max_iterations - 1);
        is_any |= reaches(run.x(at), first_x, parameters.max_distance_x);
    }
    return __any_sync(kAllLanes, is_any);
}

__device__ inline void chain_by_warp(
    const Run& run, const Parameters& parameters, Limits limits, Candidate* shared, Marks marks
) {
    const int most = run.length() - 1;  // predecessors of an anchor
    const bool visits_all = most <= limits.max_skip
        && (most <= limits.max_iterations || !is_capped(run, parameters, limits.max_iterations));
    if (visits_all) {
        chain_in_blocks(run, parameters, shared);
    } else {
        chain_by_walks(run, parameters, limits, shared, marks);
    }
}

// Scores and predecessors of all anchors in the segments that `list_segments` found, the longest
// first. With no more than `kSharedPenalties` and `kSharedRanks`, these and `marks` may be shared.
// `marks` and `taken` are 0 at first.
template <bool kIsShared>
__global__ void __launch_bounds__(kThreads, 4) chain(
    const Word* x, const Word* y, const Segment* segments, const unsigned* counts,
    const unsigned short* penalties, int* scores, int* predecessors, unsigned* marks,
    unsigned* taken, long long anchors, long long capacity, long long words, int bins, int entries,
    int one, int max_distance_x, int max_distance_y, int bandwidth, int max_skip,
    int max_iterations
) {
    __shared__ Candidate candidates[kWarps][kWarpLanes];
    __shared__ unsigned near_marks[kWarps][kIsShared ? kSharedWords : 1];
    __shared__ unsigned short near_penalties[kIsShared ? kSharedPenalties : 1];
    Parameters parameters = {(unsigned)max_distance_x, (unsigned)max_distance_y, bandwidth, penalties};
    if constexpr (kIsShared) {
        for (int at = threadIdx.x; at < entries; at += kThreads) near_penalties[at] = penalties[at];
        parameters.penalties = near_penalties;
        marks = near_marks[threadIdx.x / kWarpLanes];
        for (int word = lane_id(); word < kSharedWords; word += kWarpLanes) marks[word] = 0;
    }
    const Limits limits = {max_skip, max_iterations};
    const int thread_bins = min(max_skip, max_iterations) < (1 << kThreadBins) ? 0 : kThreadBins;
    const Arrays arrays = {x, y, scores, predecessors};
    Candidate* shared = candidates[threadIdx.x / kWarpLanes];

    __shared__ Bin shelf[kWarpLanes];
    if (threadIdx.x < kWarpLanes) {
        shelf[lane_id()] = bin_of_lane(counts, anchors, bins, group_size(lane_id()));
    }
    __syncthreads();
    SegmentQueue queue{segments, shelf, taken};
    for (Group group = queue.next(); group.count; group = queue.next()) {
        if (group.bin < thread_bins) {
            for (unsigned at = lane_id(); at < group.count; at += kWarpLanes) {
                chain_by_thread({arrays, group.segments[at]}, parameters);
            }
            __syncwarp();
        } else {
            for (unsigned at = 0; at < group.count; ++at) {
                const Segment segment = group.segments[at];
                // No other one of more than 32 anchors, the least that are marked, has these words.
                const long long first_word = kIsShared ? 0 : segment.begin / 16;
                const Marks own_marks(marks + first_word);
                chain_by_warp({arrays, segment}, parameters, limits, shared, own_marks);
            }
        }
    }
}
