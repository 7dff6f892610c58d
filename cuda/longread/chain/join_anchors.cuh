// Anchors of a segment in the long join, and the score of following an anchor.

#include "longread/chain/pair_score.cuh"

constexpr int kRecent = 128;            // anchors in shared memory
constexpr int kNearKeys = 256;          // near candidates in shared memory, if there are no more
constexpr int kSharedPenalties = 1024;  // penalties in shared memory, of the smallest differences

struct JoinParameters {
    int max_distance, inner_distance, max_candidates, bandwidth;
    const unsigned short* penalties;
    double half_slope;
    int max_skip;
};

// The same with the penalties of small differences in shared memory.
struct CachedJoinParameters : JoinParameters {
    const unsigned short* shared_penalties;

    __device__ int penalty(int difference) const {
        if (difference > bandwidth) return 0;
        return (difference < kSharedPenalties ? shared_penalties : penalties)[difference];
    }
};

// An anchor as a predecessor; one load.
struct alignas(16) Node {
    unsigned x;
    int span, score, predecessor;
};

// Working arrays with a row per anchor.
struct JoinScratch {
    int* nodes;  // of type Node
    int* marks;
    long long* ranks;
    long long* ceilings;
    long long* old_ceilings;
    unsigned long long* near_keys;
};

// Arrays of the anchors of a batch or of a segment.
struct JoinArrays {
    const Word *x, *y;
    int *scores, *predecessors;
    Node* nodes;
    int* marks;               // the last anchor whose search marked an anchor
    long long* ranks;         // priority as predecessor, see `rank_of`
    long long* ceilings;      // see `Ceilings`
    long long* old_ceilings;
    Word* near_keys;          // see `NearList`

    __device__ JoinArrays from(long long start) const {
        return {x + start, y + start, scores + start, predecessors + start, nodes + start,
                marks + start, ranks + start, ceilings + start, old_ceilings + start,
                near_keys + start};
    }
};

// The last `kRecent` anchors, in shared memory, each at its index modulo `kRecent`.
struct Recent {
    Node nodes[kRecent];
    long long ranks[kRecent];
    int positions[kRecent], marks[kRecent];
    Word near_keys[kNearKeys];
};

__device__ inline int query_position(Word y) { return (int)y; }

struct Step {
    int difference;  // of the diagonals
    int gain;        // change of score, valid if the difference is within the bandwidth
    bool is_exact;   // k-mers overlap or touch on one diagonal
};

__device__ inline Step step_between(
    const Node& before, int position_before, unsigned x, int position,
    const CachedJoinParameters& parameters
) {
    const int query_step = position - position_before, target_step = (int)(x - before.x);
    const int difference = abs(target_step - query_step), step = min(target_step, query_step);
    return {difference, min(before.span, step) - parameters.penalty(difference),
            difference == 0 && step <= before.span};
}
