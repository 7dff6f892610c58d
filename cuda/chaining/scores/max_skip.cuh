// Chaining that visits predecessors from near to far, until too many were skipped.

#include "chaining/scores/marks.cuh"
#include "chaining/scores/segment.cuh"

constexpr int kNoScore = -0x7fffffff - 1;

// Of 32 predecessors, that are visited at a time on a long walk. Two take more registers than these
// architectures' compilers find.
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

// The highest-scoring anchor within reach, as minimap2 keeps it; the same in all lanes.
struct Summit {
    int at = -1, score;
    unsigned x;
};

// Visits predecessors from near to far; the same in all lanes. The rank of a predecessor is the
// number of anchors between it and the anchor.
struct Walk {
    int best, rank = -1, skips = 0;
    bool is_stopped = false;

    __device__ explicit Walk(int span) : best(span) {}

    // `score` is of the predecessor whose rank is `first_rank` plus the lane, `kNoScore` if that is
    // none; `marked` are the lanes whose predecessor is one of a nearer predecessor.
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

    // Several times 32 of them. Most are no better than the best so far, which is seen at once.
    __device__ void visit_chunks(
        const int (&scores)[kChunks], const unsigned (&marked)[kChunks], int first_rank,
        int max_skip
    ) {
        bool is_better = false;
        int skipped = 0;
#pragma unroll
        for (int k = 0; k < kChunks; ++k) {
            is_better |= scores[k] > best;
            skipped += __popc(marked[k] & __ballot_sync(kAllLanes, scores[k] != kNoScore));
        }
        if (!__any_sync(kAllLanes, is_better)) {
            skips += skipped;
            is_stopped = skips > max_skip;
            return;
        }
#pragma unroll
        for (int k = 0; k < kChunks && !is_stopped; ++k) {
            visit(scores[k], marked[k], first_rank + k * kWarpLanes, max_skip);
        }
    }
};

// Of the last 32 anchors, lane l has the one whose number is l modulo 32.
struct Recent {
    Anchor anchor;
    int score, from;
};

// The score of an anchor behind a predecessor, `kNoScore` if that cannot be one.
__device__ inline int score_after(
    const Parameters& parameters, Anchor anchor, Anchor predecessor, int score, bool is_within
) {
    const PairScore step = pair_score(parameters, anchor, predecessor);
    return is_within && step.is_valid ? score + step.gain : kNoScore;
}

// Continues a walk beyond the 32 nearest predecessors. Those of the next chunks are loaded before
// the present ones are visited.
__device__ inline void walk_on(
    Walk& walk, const Run& run, const Parameters& parameters, Limits limits, Anchor anchor, int i,
    Marks& marks
) {
    const int within = min(i, limits.max_iterations);
    StoredAnchor predecessors[kChunks] = {};
    const auto load = [&](int first) {
#pragma unroll
        for (int k = 0; k < kChunks; ++k) {
            const int at = i - 1 - first - lane_id() - k * kWarpLanes;
            if (at >= 0) predecessors[k] = run.stored(at);
        }
    };
    load(kWarpLanes);
    for (int first = kWarpLanes;; first += kChunks * kWarpLanes) {
        int scores[kChunks], from_ranks[kChunks];
        bool is_reached = false;
#pragma unroll
        for (int k = 0; k < kChunks; ++k) {
            const int rank = first + k * kWarpLanes + lane_id();
            const StoredAnchor& predecessor = predecessors[k];
            const bool is_within = rank < within;
            scores[k] =
                score_after(parameters, anchor, predecessor.anchor(), predecessor.score, is_within);
            is_reached = is_within && reaches(anchor.x, predecessor.x, parameters.max_distance_x);
            from_ranks[k] = i - 1 + run.segment.place - predecessor.predecessor;
        }
#pragma unroll
        for (int k = 0; k < kChunks; ++k) {
            if (scores[k] != kNoScore && from_ranks[k] < within) marks.set(from_ranks[k]);
        }
        const bool goes_on = __all_sync(kAllLanes, is_reached);  // of the last chunk, thus of all
        if (goes_on) load(first + kChunks * kWarpLanes);
        __syncwarp();
        unsigned marked[kChunks];
#pragma unroll
        for (int k = 0; k < kChunks; ++k) marked[k] = marks.chunk(first + k * kWarpLanes);
        walk.visit_chunks(scores, marked, first, limits.max_skip);
        if (walk.is_stopped || !goes_on) return;
    }
}

// Finds the highest score within reach, the nearest one of equal ones.
__device__ inline Summit find_summit(
    const Run& run, const Parameters& parameters, Limits limits, const Recent& recent, Anchor anchor, int i
) {
    const int within = min(i, limits.max_iterations);
    const int recent_rank = (i - 1 - lane_id()) & (kWarpLanes - 1);
    Summit summit;
    summit.score = -1;
    bool is_reached = recent_rank < within
        && reaches(anchor.x, recent.anchor.x, parameters.max_distance_x);
    if (is_reached) {
        summit.score = recent.score;
        summit.at = i - 1 - recent_rank;
    }
    for (int rank = kWarpLanes + lane_id(); __all_sync(kAllLanes, is_reached); rank += kWarpLanes) {
        const int j = i - 1 - rank;
        is_reached = rank < within && reaches(anchor.x, run.x(j), parameters.max_distance_x);
        if (is_reached && run.score(j) > summit.score) {
            summit.score = run.score(j);
            summit.at = j;
        }
    }
    const int highest = warp_max(summit.score);
    summit.at = warp_max(summit.score == highest ? summit.at : -1);
    summit.score = highest;
    if (summit.at >= 0) summit.x = run.x(summit.at);
    return summit;
}

// Walks from anchor i to all its predecessors. The marks of the recent ones on each other fit in a
// word; only those on older ones are stored.
__device__ inline Walk walk_from(
    int i, Anchor anchor, const Run& run, const Parameters& parameters, Limits limits, const Recent& recent,
    Marks& marks
) {
    Walk walk(anchor.span);
    const int other = (i - 1 - lane_id()) & (kWarpLanes - 1);  // rank of a lane, lane of a rank
    const int within = min(i, limits.max_iterations);
    const bool is_within = other < within;
    const int own_score = score_after(parameters, anchor, recent.anchor, recent.score, is_within);
    const bool is_valid = own_score != kNoScore;
    const int from_rank = i - 1 - recent.from;
    const bool marks_recent = from_rank < kWarpLanes;
    const unsigned marked = warp_or(is_valid && marks_recent ? 1u << from_rank : 0);
    const int score = __shfl_sync(kAllLanes, own_score, other);
    walk.visit(score, marked, 0, limits.max_skip);
    const bool is_reached =
        is_within && reaches(anchor.x, recent.anchor.x, parameters.max_distance_x);
    if (!walk.is_stopped && __all_sync(kAllLanes, is_reached)) {
        if (is_valid && !marks_recent && from_rank < within) marks.set(from_rank);
        walk_on(walk, run, parameters, limits, anchor, i, marks);
        marks.clear();
    }
    return walk;
}

// The scores of a segment, by a warp.
__device__ inline void chain_by_walks(
    const Run& run, const Parameters& parameters, Limits limits, Candidate* shared, Marks marks
) {
    Recent recent = {{0, 0, 0}, 0, -1};
    Summit summit;
    for (int base = 0; base < run.length(); base += kWarpLanes) {
        const int at = base + lane_id();
        __syncwarp();
        shared[lane_id()] = {run.anchor(min(at, run.length() - 1)), 0};
        __syncwarp();
        const int end = min(base + kWarpLanes, run.length());
        for (int i = base; i < end; ++i) {
            const Anchor anchor = shared[i % kWarpLanes].anchor;
            if (summit.at < 0 || !reaches(anchor.x, summit.x, parameters.max_distance_x)) {
                summit = find_summit(run, parameters, limits, recent, anchor, i);
            }
            const Walk walk = walk_from(i, anchor, run, parameters, limits, recent, marks);
            int best = walk.best, from = walk.rank < 0 ? -1 : i - 1 - walk.rank;
            // minimap2 tries the summit if it lies behind where the walk ended, leaving one place
            // out if that was not a stop. To try one that was visited changes nothing, and a walk
            // that stopped has visited at least as many as it may skip.
            const int min_rank = walk.is_stopped ? limits.max_skip : limits.max_iterations;
            if (summit.at >= 0 && i - 1 - summit.at > min_rank) {
                const PairScore step = pair_score(parameters, anchor, run.anchor(summit.at));
                if (step.is_valid && summit.score + step.gain > best) {
                    best = summit.score + step.gain;
                    from = summit.at;
                }
            }
            if (lane_id() == i % kWarpLanes) recent = {anchor, best, from};
            if (summit.at < 0 || summit.score < best) summit = {i, best, anchor.x};
        }
        if (at < run.length()) run.store(at, recent.score, recent.from);
    }
}
