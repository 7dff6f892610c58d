// Anchors of a segment that is chained over long gaps, and what one gains by following another.

#include "chaining/scores/pair_score.cuh"

constexpr int kRecent = 128;            // anchors that are in shared memory
constexpr int kNearKeys = 256;          // candidates that are, if these are all
constexpr int kSharedPenalties = 1024;  // of the smallest differences

struct JoinParameters {
    int max_distance, inner_distance, max_candidates, bandwidth, max_skip;
    double half_slope;
    const unsigned short *penalties, *shared_penalties;

    __device__ int penalty(int difference) const {
        if (difference > bandwidth) return 0;
        return (difference < kSharedPenalties ? shared_penalties : penalties)[difference];
    }
};

// An anchor as a predecessor of others, read at once.
struct alignas(16) Node {
    unsigned x;
    int span, score, predecessor;
};

// What the anchors of a batch or of a segment have in memory.
struct JoinArrays {
    const Word *x, *y;
    int *scores, *predecessors;
    Node* nodes;
    int* marks;               // the last anchor in whose search an anchor was a predecessor
    long long* ranks;         // priority as predecessor, see `rank_of`
    long long* ceilings;      // see `Ceilings`
    long long* old_ceilings;
    Word* near_keys;          // see `NearList`

    __device__ JoinArrays from(long long at) const {
        return {x + at, y + at, scores + at, predecessors + at, nodes + at, marks + at,
                ranks + at, ceilings + at, old_ceilings + at, near_keys + at};
    }
};

// The last anchors before the current one, in shared memory, each at its index modulo their number.
struct Recent {
    Node nodes[kRecent];
    long long ranks[kRecent];
    int positions[kRecent], marks[kRecent];
    Word near_keys[kNearKeys];
};

__device__ inline int query_position(Word y) { return (int)y; }

struct Step {
    int difference;  // of the diagonals
    int gain;        // of score, if the difference is within the bandwidth
    bool is_exact;   // without bases between the k-mers, and on one diagonal
};

__device__ inline Step step_between(
    const Node& before, int position_before, unsigned x, int position, const JoinParameters& parameters
) {
    const int on_read = position - position_before, on_reference = (int)(x - before.x);
    const int difference = abs(on_reference - on_read), gap = min(on_reference, on_read);
    return {difference, min(before.span, gap) - parameters.penalty(difference),
            difference == 0 && gap <= before.span};
}
