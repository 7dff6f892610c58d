// Chain scores that visit every predecessor within reach.

#include "longread/chain/segment.cuh"

// The best predecessor so far. A predecessor considered later is nearer and wins a tie; the anchor
// alone wins a tie against any.
struct Best {
    int threshold, from = -1;

    __device__ explicit Best(int span) : threshold(span + 1) {}

    __device__ int score() const { return threshold - (from < 0); }

    __device__ void consider(PairScore step, int score, int at) {
        const bool is_better = step.is_valid && step.gain + score >= threshold;
        threshold = is_better ? step.gain + score : threshold;
        from = is_better ? at : from;
    }
};

// Scores of a segment, by one thread.
__device__ inline void score_by_thread(const SegmentView& view, const ChainParameters& parameters) {
    for (int i = 0; i < view.length(); ++i) {
        const Anchor anchor = view.anchor(i);
        Best best(anchor.span);
        for (int j = 0; j < i; ++j) {
            best.consider(pair_score(parameters, anchor, view.anchor(j)), view.score(j), j);
        }
        view.store(i, best.score(), best.from);
    }
}

// Considers 32 candidates, one after the other, for the anchors of 32 lanes.
__device__ inline void consider_block(
    Best& best, const ChainParameters& parameters, Anchor anchor, const Candidate* candidates,
    int first
) {
#pragma unroll 4
    for (int k = 0; k < kWarpLanes; ++k) {
        const Candidate candidate = candidates[k];
        best.consider(pair_score(parameters, anchor, candidate.anchor), candidate.score, first + k);
    }
}

// Considers the anchors of the lanes as candidates for each other: an anchor is scored after all
// before it.
__device__ inline void consider_own_block(
    Best& best, const ChainParameters& parameters, Anchor anchor, const Candidate* candidates,
    int first, int count
) {
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
        const int score = __shfl_sync(kAllLanes, best.score(), k);
        best.consider(pair_score(parameters, anchor, candidates[k].anchor), score, first + k);
    }
}

// Scores of a segment, by a warp: 32 anchors at a time, one per lane, with 32 candidates at a time
// in `shared`.
__device__ inline void score_by_blocks(
    const SegmentView& view, const ChainParameters& parameters, Candidate* shared
) {
    const auto store_shared = [&](Candidate candidate) {
        __syncwarp();
        shared[lane_id()] = candidate;
        __syncwarp();
    };
    const auto candidate_of = [&](int first) {  // this lane has stored the score
        return Candidate{view.anchor(first + lane_id()), view.score(first + lane_id())};
    };
    int oldest = 0;  // first anchor of the first block within reach
    for (int base = 0; base < view.length(); base += kWarpLanes) {
        const int at = base + lane_id();
        const Anchor anchor = view.anchor(min(at, view.length() - 1));
        Best best(anchor.span);
        const unsigned first_x = __shfl_sync(kAllLanes, anchor.x, 0);
        while (oldest < base
               && !is_within_reach(
                   first_x, view.x(oldest + kWarpLanes - 1), parameters.max_distance_x)) {
            oldest += kWarpLanes;
        }
        Candidate next;
        if (oldest < base) next = candidate_of(oldest);
        for (int older = oldest; older < base; older += kWarpLanes) {
            store_shared(next);
            if (older + kWarpLanes < base) next = candidate_of(older + kWarpLanes);
            consider_block(best, parameters, anchor, shared, older);
        }
        store_shared({anchor, 0});
        const int count = min(view.length() - base, kWarpLanes);
        consider_own_block(best, parameters, anchor, shared, base, count);
        if (at < view.length()) view.store(at, best.score(), best.from);
    }
}
