// Chain scores of a dense segment, by a thread block: an anchor of a repeat has thousands of
// predecessors within reach, of which few are valid.

#include "longread/chain/max_skip.cuh"

constexpr int kTeamWarps = 8, kListers = kTeamWarps - 1;
constexpr int kListedChunks = 2;  // listed at a time
constexpr int kFullList = kWarpLanes;  // no more are listed from here on
constexpr int kListed = kFullList + kListedChunks * kWarpLanes;
constexpr int kRing = 512;      // newest scored anchors in shared memory
constexpr int kRankBits = 13;   // of ranks up to kSharedRanks

// The nearest valid predecessors of an anchor, from near to far.
struct ValidList {
    Anchor anchor;
    int count, next_rank;  // the first rank not listed, a multiple of 32
    bool is_complete;      // whether no valid predecessor has that rank or a higher one
    int packed[kListed];

    __device__ static int pack(int gain, int rank) { return gain * (1 << kRankBits) + rank; }
    __device__ static int gain(int packed) { return packed >> kRankBits; }
    __device__ static int rank(int packed) { return packed & ((1 << kRankBits) - 1); }
};

// Shared memory of a team.
struct TeamScratch {
    ScoredAnchor ring[kRing];
    Anchor peak;
    ValidList lists[2][kListers];
};

// Lists valid predecessors of anchor i; by a warp. Needs no scores.
__device__ inline void list_valid(
    ValidList& list, const SegmentView& view, const ChainParameters& parameters, Limits limits,
    int i
) {
    const unsigned lower_lanes = (1u << lane_id()) - 1;
    const Anchor anchor = view.anchor(i);
    const int within = min(i, limits.max_iterations);
    int count = 0, first = 0;
    bool is_reached = true;
    while (is_reached && count <= kFullList) {
        Anchor predecessors[kListedChunks];
#pragma unroll
        for (int k = 0; k < kListedChunks; ++k) {
            const int rank = first + k * kWarpLanes + lane_id();
            predecessors[k] = view.anchor(max(i - 1 - rank, 0));
        }
#pragma unroll
        for (int k = 0; k < kListedChunks; ++k) {
            const int rank = first + k * kWarpLanes + lane_id();
            const Anchor predecessor = predecessors[k];
            const PairScore step = pair_score(parameters, anchor, predecessor);
            const bool is_within = rank < within;
            const unsigned valid = __ballot_sync(kAllLanes, is_within && step.is_valid);
            if (valid >> lane_id() & 1) {
                list.packed[count + __popc(valid & lower_lanes)] =
                    ValidList::pack(step.gain, rank);
            }
            count += __popc(valid);
            is_reached = is_within
                && is_within_reach(anchor.x, predecessor.x, parameters.max_distance_x);
        }
        is_reached = __all_sync(kAllLanes, is_reached);  // the last chunk, so all
        first += kListedChunks * kWarpLanes;
    }
    if (lane_id() == 0) {
        list.anchor = anchor;
        list.count = count;
        list.next_rank = first;
        list.is_complete = !is_reached;
    }
}

// Searches the listed predecessors of anchor i, then those that are not listed; by a warp.
__device__ inline Search search_listed(
    const ValidList& list, const ScoredAnchor* ring, const SegmentView& view,
    const ChainParameters& parameters, Limits limits, Anchor anchor, int i, Marks& marks
) {
    Search search(anchor.span);
    const int count = list.count, within = min(i, limits.max_iterations);
    for (int first = 0; first < count && !search.is_stopped; first += kWarpLanes) {
        const bool is_listed = first + lane_id() < count;
        const int packed = list.packed[first + lane_id()];
        const int rank = ValidList::rank(packed), at = i - 1 - rank;
        int score = kNoScore, from_rank = within;
        if (is_listed) {
            const ScoredAnchor predecessor =
                rank < kRing ? ring[at % kRing] : ScoredAnchor{view.score(at), view.from(at)};
            score = predecessor.score + ValidList::gain(packed);
            from_rank = i - 1 - predecessor.from;
            if (from_rank < within) marks.set(from_rank);
        }
        __syncwarp();
        const bool is_marked = is_listed && marks.is_set(rank);
        const unsigned marked = __ballot_sync(kAllLanes, is_marked);
        Search lanes = search;  // whose ranks are lanes
        lanes.rank = -1;
        lanes.visit(score, marked, 0, limits.max_skip);
        const int improved = __shfl_sync(kAllLanes, rank, max(lanes.rank, 0));
        lanes.rank = lanes.rank < 0 ? search.rank : improved;
        search = lanes;
    }
    if (!search.is_stopped && !list.is_complete) {
        search_farther<1>(search, view, parameters, limits, anchor, i, marks, list.next_rank);
    }
    marks.clear();
    return search;
}

// Scores the anchors of lists, from `start` to `end`; by a warp.
__device__ inline void score_listed(
    const ValidList* lists, int start, int end, TeamScratch& scratch, Peak& peak, const SegmentView& view,
    const ChainParameters& parameters, Limits limits, Marks& marks
) {
    for (int i = start; i < end; ++i) {
        const ValidList& list = lists[i - start];
        const Anchor anchor = list.anchor;
        if (peak.at < 0 || !is_within_reach(anchor.x, peak.x, parameters.max_distance_x)) {
            peak = find_stored_peak(view, parameters, limits, anchor, i);
            if (lane_id() == 0 && peak.at >= 0) scratch.peak = view.anchor(peak.at);
            __syncwarp();
        }
        const Search search =
            search_listed(list, scratch.ring, view, parameters, limits, anchor, i, marks);
        const ScoredAnchor scored = with_peak(
            search, peak, parameters, limits, anchor, i, [&](int) { return scratch.peak; });
        const bool is_peak = peak.at < 0 || peak.score < scored.score;
        if (is_peak) peak = {i, scored.score, anchor.x};
        __syncwarp();  // all have read the peak
        if (lane_id() == 0) {
            scratch.ring[i % kRing] = scored;
            view.store(i, scored.score, scored.from);
            if (is_peak) scratch.peak = anchor;
        }
        __syncwarp();
    }
}

// Scores of a dense segment, by a thread block: one warp scores anchors while the others list the
// valid predecessors of the next.
__device__ inline void score_by_team(
    const SegmentView& view, const ChainParameters& parameters, Limits limits,
    TeamScratch& scratch, Marks marks
) {
    const int lister = (int)threadIdx.x / kWarpLanes - 1;
    Peak peak;
    for (int base = 0, turn = 0; base < view.length() + kListers; base += kListers, turn ^= 1) {
        if (lister < 0) {
            score_listed(
                scratch.lists[turn ^ 1], max(base - kListers, 0), min(base, view.length()),
                scratch, peak, view, parameters, limits, marks);
        } else if (base + lister < view.length()) {
            list_valid(scratch.lists[turn][lister], view, parameters, limits, base + lister);
        }
        __syncthreads();
    }
}
