// Chaining that visits every predecessor within reach.

#include "chaining/scores/segment.cuh"

// The best predecessor so far. Those that are considered later are nearer, and win if equal; the
// anchor alone wins against an equal one.
struct Best {
    int threshold, from = -1;

    __device__ explicit Best(int span) : threshold(span + 1) {}

    __device__ int score() const { return threshold - (from < 0); }

    __device__ void consider(PairScore link, int score, int at) {
        const bool is_better = link.is_valid && link.gain + score >= threshold;
        threshold = is_better ? link.gain + score : threshold;
        from = is_better ? at : from;
    }
};

// The scores of a segment, by a thread.
__device__ inline void chain_by_thread(const Run& run, const Parameters& parameters) {
    for (int i = 0; i < run.length(); ++i) {
        const Anchor anchor = run.anchor(i);
        Best best(anchor.span);
        for (int j = 0; j < i; ++j) {
            best.consider(pair_score(parameters, anchor, run.anchor(j)), run.score(j), j);
        }
        run.store(i, best.score(), best.from);
    }
}

// Lets the anchors of 32 lanes look at one candidate after the other.
__device__ inline void consider_all(
    Best& best, const Parameters& parameters, Anchor anchor, const Candidate* candidates, int first
) {
#pragma unroll 4
    for (int k = 0; k < kWarpLanes; ++k) {
        const Candidate candidate = candidates[k];
        best.consider(pair_score(parameters, anchor, candidate.anchor), candidate.score, first + k);
    }
}

// Lets them look at one another: each is scored when those before it are, and then a candidate.
__device__ inline void consider_each_other(
    Best& best, const Parameters& parameters, Anchor anchor, const Candidate* candidates, int first, int count
) {
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
        const int score = __shfl_sync(kAllLanes, best.score(), k);
        best.consider(pair_score(parameters, anchor, candidates[k].anchor), score, first + k);
    }
}

// The scores of a segment, by a warp: 32 anchors at a time, one to a lane, look at the candidates
// in 32 of `shared`.
__device__ inline void chain_in_blocks(const Run& run, const Parameters& parameters, Candidate* shared) {
    const auto share = [&](Candidate candidate) {
        __syncwarp();
        shared[lane_id()] = candidate;
        __syncwarp();
    };
    const auto candidate_of = [&](int first) {  // the score is one that this lane has stored
        return Candidate{run.anchor(first + lane_id()), run.score(first + lane_id())};
    };
    int oldest = 0;  // the first block within reach
    for (int base = 0; base < run.length(); base += kWarpLanes) {
        const int at = base + lane_id();
        const Anchor anchor = run.anchor(min(at, run.length() - 1));
        Best best(anchor.span);
        const unsigned first_x = __shfl_sync(kAllLanes, anchor.x, 0);
        while (oldest < base
               && !reaches(first_x, run.x(oldest + kWarpLanes - 1), parameters.max_distance_x)) {
            oldest += kWarpLanes;
        }
        Candidate next;
        if (oldest < base) next = candidate_of(oldest);
        for (int older = oldest; older < base; older += kWarpLanes) {
            share(next);
            if (older + kWarpLanes < base) next = candidate_of(older + kWarpLanes);
            consider_all(best, parameters, anchor, shared, older);
        }
        share({anchor, 0});
        const int count = min(run.length() - base, kWarpLanes);
        consider_each_other(best, parameters, anchor, shared, base, count);
        if (at < run.length()) run.store(at, best.score(), best.from);
    }
}
