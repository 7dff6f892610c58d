// Parameters of chaining two anchors, and stretches of anchors that are chained by themselves.

#include "common/warp.cuh"

typedef unsigned long long Word;

// Of a stretch of anchors none of which can follow one before or be followed by one behind.
struct Segment {
    long long begin;  // in the batch
    int length;
    int place;  // of its first anchor in the read
};

// Segments stand in bins by the logarithm of their length. No more than anchors >> bin fit in one.
constexpr int kBins = 31, kFirstBin = 1;

__device__ inline int bin_of(int length) { return 31 - __clz(length); }

__device__ inline long long bin_begin(long long anchors, int bin) {
    long long begin = 0;
    for (int other = kFirstBin; other < bin; ++other) begin += anchors >> other;
    return begin;
}

// Positions in the reference and in the read; only within a segment is that enough.
struct Anchor {
    unsigned x, q;
    int span;
};

__device__ inline Anchor anchor_of(Word x, Word y) {
    return {(unsigned)x, (unsigned)y, (int)(y >> 32 & 255)};
}

struct Parameters {
    unsigned max_distance_x, max_distance_y;
    int bandwidth;
    const unsigned short* penalties;  // by the difference of diagonals
};

// Whether one anchor may follow another in a chain, and what the chain gains.
struct PairScore {
    bool is_valid;
    int gain;
};

// Without a branch: predecessors that are no good are too many and too mixed to be skipped.
__device__ inline PairScore pair_score(const Parameters& parameters, Anchor anchor, Anchor predecessor) {
    const unsigned dr = anchor.x - predecessor.x, dq = anchor.q - predecessor.q;
    const unsigned difference = abs((int)(dr - dq)), bandwidth = parameters.bandwidth;
    const bool is_valid = dr - 1 < parameters.max_distance_x && dq - 1 < parameters.max_distance_y
        && difference <= bandwidth;
    const int penalty = parameters.penalties[min(difference, bandwidth)];
    return {is_valid, min((int)min(dr, dq), predecessor.span) - penalty};
}

// Whether an anchor behind is near enough on the reference.
__device__ inline bool reaches(unsigned x, unsigned earlier_x, unsigned max_distance_x) {
    return x - earlier_x <= max_distance_x;
}
