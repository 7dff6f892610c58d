// Chain scores that visit predecessors from near to far, until too many are skipped.

#include "longread/chain/marks.cuh"
#include "longread/chain/segment.cuh"

constexpr int kNoScore = -0x7fffffff - 1;

// Chunks of 32 predecessors visited at a time in a long search. Two take more registers than the
// compilers of these architectures find.
#if __CUDA_ARCH__ == 700 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900)
constexpr int kChunks = 1;
#else
constexpr int kChunks = 2;
#endif

struct Limits {
    int max_skip, max_iterations;
};

__device__ inline unsigned warp_or(unsigned bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(kAllLanes, bits);
#else
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        bits |= __shfl_xor_sync(kAllLanes, bits, distance);
    }
    return bits;
#endif
}

// The anchor of the highest score within reach, as in minimap2; the same in all lanes.
struct Peak {
    int at = -1, score;
    unsigned x;
};

// Search for the best predecessor, from near to far; the same in all lanes. The rank of a
// predecessor is the number of anchors between it and the anchor.
struct Search {
    int best, rank = -1, skips = 0;
    bool is_stopped = false;

    __device__ explicit Search(int span) : best(span) {}

    // `score` is the score over the predecessor of rank `first_rank` plus lane, `kNoScore` if
    // invalid; `marked` has the lanes whose predecessor is the predecessor of a nearer one.
    __device__ void visit(int score, unsigned marked, int first_rank, int max_skip) {
        marked &= __ballot_sync(kAllLanes, score != kNoScore);
        unsigned waiting = kAllLanes;
        while (true) {
            const unsigned better = __ballot_sync(kAllLanes, score > best) & waiting;
            const unsigned skipped = marked & waiting & ((better & -better) - 1);
            skips += __popc(skipped);
            is_stopped = skips > max_skip;
            if (is_stopped || !better) return;
            const int lane = __ffs(better) - 1;
            best = __shfl_sync(kAllLanes, score, lane);
            rank = first_rank + lane;
            skips = max(skips - 1, 0);
            waiting = -2u << lane;
        }
    }

    // Visits several chunks. Most have no improvement, which one vote shows.
    template <int kCount>
    __device__ void visit_chunks(
        const int (&scores)[kCount], const unsigned (&marked)[kCount], int first_rank,
        int max_skip
    ) {
        bool is_better = false;
        int skipped = 0;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            is_better |= scores[k] > best;
            skipped += __popc(marked[k] & __ballot_sync(kAllLanes, scores[k] != kNoScore));
        }
        if (!__any_sync(kAllLanes, is_better)) {
            skips += skipped;
            is_stopped = skips > max_skip;
            return;
        }
#pragma unroll
        for (int k = 0; k < kCount && !is_stopped; ++k) {
            visit(scores[k], marked[k], first_rank + k * kWarpLanes, max_skip);
        }
    }
};

// The last 32 anchors; lane l has the anchor whose number is l modulo 32.
struct Recent {
    Anchor anchor;
    int score, from;
};

// The score of an anchor after a predecessor; `kNoScore` if invalid.
__device__ inline int score_after(
    const ChainParameters& parameters, Anchor anchor, Anchor predecessor, int score, bool is_within
) {
    const PairScore step = pair_score(parameters, anchor, predecessor);
    return is_within && step.is_valid ? score + step.gain : kNoScore;
}

// Continues a search from a rank on, a multiple of 32. The next chunks are loaded before the current
// chunks are visited; `kCount` at a time.
template <int kCount>
__device__ inline void search_farther(
    Search& search, const SegmentView& view, const ChainParameters& parameters, Limits limits,
    Anchor anchor, int i, Marks& marks, int first_rank
) {
    const int within = min(i, limits.max_iterations);
    StoredAnchor predecessors[kCount] = {};
    const auto load = [&](int first) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            const int at = i - 1 - first - lane_id() - k * kWarpLanes;
            if (at >= 0) predecessors[k] = view.stored(at);
        }
    };
    load(first_rank);
    for (int first = first_rank;; first += kCount * kWarpLanes) {
        int scores[kCount], from_ranks[kCount];
        bool is_reached = false;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            const int rank = first + k * kWarpLanes + lane_id();
            const StoredAnchor& predecessor = predecessors[k];
            const bool is_within = rank < within;
            scores[k] =
                score_after(parameters, anchor, predecessor.anchor(), predecessor.score, is_within);
            is_reached = is_within
                && is_within_reach(anchor.x, predecessor.x, parameters.max_distance_x);
            from_ranks[k] = i - 1 + view.segment.first_in_read - predecessor.predecessor;
        }
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            if (scores[k] != kNoScore && from_ranks[k] < within) marks.set(from_ranks[k]);
        }
        const bool goes_on = __all_sync(kAllLanes, is_reached);  // of the last chunk, so of all
        if (goes_on) load(first + kCount * kWarpLanes);
        __syncwarp();
        unsigned marked[kCount];
#pragma unroll
        for (int k = 0; k < kCount; ++k) marked[k] = marks.chunk(first + k * kWarpLanes);
        search.visit_chunks(scores, marked, first, limits.max_skip);
        if (search.is_stopped || !goes_on) return;
    }
}

// Finds the highest score within reach from the rank of the lane on, the nearest of ties. `peak` is
// the highest of the nearer ones of this lane; with -1, there are none.
__device__ inline Peak find_farther_peak(
    Peak peak, bool is_reached, int first_rank, const SegmentView& view,
    const ChainParameters& parameters, Limits limits, Anchor anchor, int i
) {
    const int within = min(i, limits.max_iterations);
    for (int rank = first_rank; __all_sync(kAllLanes, is_reached); rank += kWarpLanes) {
        const int j = i - 1 - rank;
        is_reached = rank < within
            && is_within_reach(anchor.x, view.x(j), parameters.max_distance_x);
        if (is_reached && view.score(j) > peak.score) {
            peak.score = view.score(j);
            peak.at = j;
        }
    }
    const int highest = warp_max(peak.score);
    peak.at = warp_max(peak.score == highest ? peak.at : -1);
    peak.score = highest;
    if (peak.at >= 0) peak.x = view.x(peak.at);
    return peak;
}

// The same for all anchors within reach, of which the last 32 are `recent`.
__device__ inline Peak find_peak(
    const SegmentView& view, const ChainParameters& parameters, Limits limits,
    const Recent& recent, Anchor anchor, int i
) {
    const int within = min(i, limits.max_iterations);
    const int recent_rank = (i - 1 - lane_id()) & (kWarpLanes - 1);
    Peak peak;
    peak.score = -1;
    const bool is_reached = recent_rank < within
        && is_within_reach(anchor.x, recent.anchor.x, parameters.max_distance_x);
    if (is_reached) {
        peak.score = recent.score;
        peak.at = i - 1 - recent_rank;
    }
    const int first_rank = kWarpLanes + lane_id();
    return find_farther_peak(
        peak, is_reached, first_rank, view, parameters, limits, anchor, i);
}

// The same if all are stored.
__device__ inline Peak find_stored_peak(
    const SegmentView& view, const ChainParameters& parameters, Limits limits, Anchor anchor, int i
) {
    Peak none;
    none.score = -1;
    return find_farther_peak(none, true, lane_id(), view, parameters, limits, anchor, i);
}

// Searches the predecessors of anchor i. Marks of recent anchors on each other fit a word; only
// marks on older anchors are stored.
__device__ inline Search search_predecessors(
    int i, Anchor anchor, const SegmentView& view, const ChainParameters& parameters,
    Limits limits, const Recent& recent, Marks& marks
) {
    Search search(anchor.span);
    const int other = (i - 1 - lane_id()) & (kWarpLanes - 1);  // rank of a lane, and lane of a rank
    const int within = min(i, limits.max_iterations);
    const bool is_within = other < within;
    const int own_score = score_after(parameters, anchor, recent.anchor, recent.score, is_within);
    const bool is_valid = own_score != kNoScore;
    const int from_rank = i - 1 - recent.from;
    const bool marks_recent = from_rank < kWarpLanes;
    const unsigned marked = warp_or(is_valid && marks_recent ? 1u << from_rank : 0);
    const int score = __shfl_sync(kAllLanes, own_score, other);
    search.visit(score, marked, 0, limits.max_skip);
    const bool is_reached =
        is_within && is_within_reach(anchor.x, recent.anchor.x, parameters.max_distance_x);
    if (!search.is_stopped && __all_sync(kAllLanes, is_reached)) {
        if (is_valid && !marks_recent && from_rank < within) marks.set(from_rank);
        search_farther<kChunks>(
            search, view, parameters, limits, anchor, i, marks, kWarpLanes);
        marks.clear();
    }
    return search;
}

struct ScoredAnchor {
    int score, from;
};

// Score and predecessor of anchor i after a search; `anchor_at` loads the peak. minimap2 visits the peak if it is farther than
// the end of the search, except for one anchor if the search did not stop. Visiting an anchor again
// changes nothing, and a search that stopped has visited at least `max_skip` anchors.
template <typename AnchorAt>
__device__ inline ScoredAnchor with_peak(
    const Search& search, const Peak& peak, const ChainParameters& parameters, Limits limits,
    Anchor anchor, int i, AnchorAt anchor_at
) {
    const int min_rank = search.is_stopped ? limits.max_skip : limits.max_iterations;
    if (peak.at >= 0 && i - 1 - peak.at > min_rank) {
        const PairScore step = pair_score(parameters, anchor, anchor_at(peak.at));
        if (step.is_valid && peak.score + step.gain > search.best) {
            return {peak.score + step.gain, peak.at};
        }
    }
    return {search.best, search.rank < 0 ? -1 : i - 1 - search.rank};
}

// Scores of a segment, by a warp.
__device__ inline void score_with_skips(
    const SegmentView& view, const ChainParameters& parameters, Limits limits,
    Candidate* shared, Marks marks
) {
    Recent recent = {{0, 0, 0}, 0, -1};
    Peak peak;
    for (int base = 0; base < view.length(); base += kWarpLanes) {
        const int at = base + lane_id();
        __syncwarp();
        shared[lane_id()] = {view.anchor(min(at, view.length() - 1)), 0};
        __syncwarp();
        const int end = min(base + kWarpLanes, view.length());
        for (int i = base; i < end; ++i) {
            const Anchor anchor = shared[i % kWarpLanes].anchor;
            if (peak.at < 0 || !is_within_reach(anchor.x, peak.x, parameters.max_distance_x)) {
                peak = find_peak(view, parameters, limits, recent, anchor, i);
            }
            const Search search =
                search_predecessors(i, anchor, view, parameters, limits, recent, marks);
            const ScoredAnchor scored = with_peak(
                search, peak, parameters, limits, anchor, i,
                [&](int at) { return view.anchor(at); });
            if (lane_id() == i % kWarpLanes) recent = {anchor, scored.score, scored.from};
            if (peak.at < 0 || peak.score < scored.score) peak = {i, scored.score, anchor.x};
        }
        if (at < view.length()) view.store(at, recent.score, recent.from);
    }
}
