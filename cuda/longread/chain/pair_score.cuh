// Score of following an anchor in a chain, and segments of anchors that are chained independently;
// same as hapgpu/longread/chain/pair_score.py.

#include "common/warp.cuh"
#include "longread/batches.cuh"

typedef unsigned long long Word;

// Consecutive anchors of a read; no anchor can precede or follow an anchor outside the segment.
struct Segment {
    long long start;  // in the batch
    int length;
    int first_in_read;  // number of its first anchor in the read
};

// The segments of a batch, in bins, and how many each bin has.
struct Segments {
    Segment* rows;
    unsigned* counts;
    int bins;
};

// Segments are in bins by the logarithm of their length. A bin has at most anchors >> bin segments.
// Dense segments are in no bin but behind the last one, and counted where bin 0 would be.
constexpr int kBins = 31, kFirstBin = 1, kDenseCount = 0;
constexpr int kMinDenseBits = 10;  // logarithm of the fewest anchors of a dense segment

__device__ inline int bin_of(int length) { return 31 - __clz(length); }

__device__ inline long long bin_start(long long anchors, int bin) {
    long long start = 0;
    for (int lower = kFirstBin; lower < bin; ++lower) start += anchors >> lower;
    return start;
}

// Positions on the reference and in the read; sufficient within a segment only.
struct Anchor {
    unsigned x, q;
    int span;
};

__device__ inline Anchor anchor_of(Word x, Word y) {
    return {(unsigned)x, (unsigned)y, (int)(y >> 32 & 255)};
}

struct ChainParameters {
    unsigned max_distance_x, max_distance_y;
    int bandwidth;
    const unsigned short* penalties;  // by the difference of diagonals
};

// Whether an anchor may follow another in a chain, and the change of score.
struct PairScore {
    bool is_valid;
    int gain;
};

// Without branches: invalid predecessors are too many and too scattered to be skipped.
__device__ inline PairScore pair_score(
    const ChainParameters& parameters, Anchor anchor, Anchor predecessor
) {
    const unsigned target_step = anchor.x - predecessor.x;
    const unsigned query_step = anchor.q - predecessor.q;
    const unsigned difference = abs((int)(target_step - query_step));
    const unsigned bandwidth = parameters.bandwidth;
    const bool is_valid = target_step - 1 < parameters.max_distance_x
        && query_step - 1 < parameters.max_distance_y && difference <= bandwidth;
    const int penalty = parameters.penalties[min(difference, bandwidth)];
    return {is_valid, min((int)min(target_step, query_step), predecessor.span) - penalty};
}

// Whether a later anchor is near enough on the reference.
__device__ inline bool is_within_reach(unsigned x, unsigned earlier_x, unsigned max_distance_x) {
    return x - earlier_x <= max_distance_x;
}
