// Chaining that visits predecessors from near to far, until too many were skipped.

#include "chain_run.cuh"

constexpr int kNoScore = -0x7fffffff - 1;

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
    Anchor anchor;
};

// Visits predecessors from near to far, 32 at a time; the same in all lanes. The rank of a
// predecessor is the number of anchors between it and the anchor.
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
};

// Of the last 32 anchors, lane l has the one whose number is l modulo 32.
struct Recent {
    Anchor anchor;
    int score, from;
};

// Whether its predecessor number `rank` is within reach of an anchor, and the score with it.
struct Visit {
    bool is_reached;
    int score;
};

__device__ inline Visit visited(
    const Rules& rules, Anchor anchor, Anchor predecessor, int score, bool is_within
) {
    const bool is_reached =
        is_within && reaches(anchor.x, predecessor.x, rules.max_distance_x);
    const Link step = link(rules, anchor, predecessor);
    return {is_reached, is_reached && step.is_valid ? score + step.gain : kNoScore};
}

// Continues a walk beyond the 32 nearest predecessors.
__device__ inline void walk_on(
    Walk& walk, const Run& run, const Rules& rules, Limits limits, Anchor anchor, int i
) {
    const int within = min(i, limits.max_iterations);
    for (int first = kWarpLanes; first < within; first += kWarpLanes) {
        const int rank = first + lane_id(), j = i - 1 - rank;
        const int safe = max(j, 0);
        const Visit visit =
            visited(rules, anchor, run.anchor(safe), run.score(safe), rank < within);
        const int from = run.predecessor(safe);
        if (visit.score != kNoScore && from >= 0) run.mark(from) = i;
        __syncwarp();
        const unsigned marked = __ballot_sync(kAllLanes, run.mark(safe) == i);
        walk.visit(visit.score, marked, first, limits.max_skip);
        if (walk.is_stopped || !__all_sync(kAllLanes, visit.is_reached)) return;
    }
}

// Finds the highest score within reach, the nearest one of equal ones.
__device__ inline Summit find_summit(
    const Run& run, const Rules& rules, Limits limits, const Recent& recent, Anchor anchor, int i
) {
    const int within = min(i, limits.max_iterations);
    const int recent_rank = (i - 1 - lane_id()) & (kWarpLanes - 1);
    Summit summit;
    summit.score = -1;
    bool is_reached = recent_rank < within
        && reaches(anchor.x, recent.anchor.x, rules.max_distance_x);
    if (is_reached) {
        summit.score = recent.score;
        summit.at = i - 1 - recent_rank;
    }
    for (int rank = kWarpLanes + lane_id(); __all_sync(kAllLanes, is_reached); rank += kWarpLanes) {
        const int j = i - 1 - rank;
        is_reached = rank < within && reaches(anchor.x, run.x(j), rules.max_distance_x);
        if (is_reached && run.score(j) > summit.score) {
            summit.score = run.score(j);
            summit.at = j;
        }
    }
    const int highest = warp_max(summit.score);
    summit.at = warp_max(summit.score == highest ? summit.at : -1);
    summit.score = highest;
    if (summit.at >= 0) summit.anchor = run.anchor(summit.at);
    return summit;
}

// Walks from anchor i to all its predecessors. The marks of the recent ones on each other fit in a
// word; only those on older ones are stored.
__device__ inline Walk walk_from(
    int i, Anchor anchor, const Run& run, const Rules& rules, Limits limits, const Recent& recent
) {
    Walk walk(anchor.span);
    const int other = (i - 1 - lane_id()) & (kWarpLanes - 1);  // rank of a lane, lane of a rank
    const bool is_within = other < min(i, limits.max_iterations);
    const Visit visit = visited(rules, anchor, recent.anchor, recent.score, is_within);
    const bool is_valid = visit.score != kNoScore;
    const int from_rank = i - 1 - recent.from;
    const bool marks_recent = from_rank < kWarpLanes;
    const unsigned marked = warp_or(is_valid && marks_recent ? 1u << from_rank : 0);
    const int score = __shfl_sync(kAllLanes, visit.score, other);
    walk.visit(score, marked, 0, limits.max_skip);
    if (!walk.is_stopped && __all_sync(kAllLanes, visit.is_reached)) {
        if (is_valid && !marks_recent && recent.from >= 0) run.mark(recent.from) = i;
        walk_on(walk, run, rules, limits, anchor, i);
    }
    return walk;
}

// The scores of a segment, by a warp.
__device__ inline void chain_by_walks(
    const Run& run, const Rules& rules, Limits limits, Candidate* shared
) {
    Recent recent = {{0, 0, 0}, 0, -1};
    Summit summit;
    for (int base = 0; base < run.length(); base += kWarpLanes) {
        const int at = base + lane_id();
        const Anchor own = run.anchor(min(at, run.length() - 1));
        __syncwarp();
        shared[lane_id()] = {own, 0};
        if (at < run.length()) run.mark(at) = -1;
        __syncwarp();
        const int count = min(run.length() - base, kWarpLanes);
        for (int k = 0; k < count; ++k) {
            const int i = base + k;
            const Anchor anchor = shared[k].anchor;
            if (summit.at < 0 || !reaches(anchor.x, summit.anchor.x, rules.max_distance_x)) {
                summit = find_summit(run, rules, limits, recent, anchor, i);
            }
            const Walk walk = walk_from(i, anchor, run, rules, limits, recent);
            int best = walk.best, from = walk.rank < 0 ? -1 : i - 1 - walk.rank;
            // minimap2 tries the summit if it lies behind where the walk ended, leaving one place
            // out if that was not a stop. To try one that was visited changes nothing, and a walk
            // that stopped has visited at least as many as it may skip.
            const int least_rank = walk.is_stopped ? limits.max_skip : limits.max_iterations;
            if (summit.at >= 0 && i - 1 - summit.at > least_rank) {
                const Link step = link(rules, anchor, summit.anchor);
                if (step.is_valid && summit.score + step.gain > best) {
                    best = summit.score + step.gain;
                    from = summit.at;
                }
            }
            if (lane_id() == k) recent = {own, best, from};
            if (summit.at < 0 || summit.score < best) summit = {i, best, anchor};
        }
        if (at < run.length()) run.store(at, recent.score, recent.from);
    }
}
