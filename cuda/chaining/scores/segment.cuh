// A segment of anchors as the functions that chain it see it.

#include "chaining/scores/pair_score.cuh"

struct Arrays {
    const Word *x, *y;
    int *scores, *predecessors;
};

// An anchor that is chained already, as the arrays have it: what is loaded ahead of its use must
// not be computed with before.
struct StoredAnchor {
    unsigned x;
    Word y;
    int score, predecessor;

    __device__ Anchor anchor() const { return anchor_of(x, y); }
};

// A segment in the arrays of the batch. The predecessors there count within the read; everything
// else here counts within the segment.
struct Run {
    Arrays arrays;
    Segment segment;

    __device__ int length() const { return segment.length; }
    __device__ unsigned x(int at) const { return (unsigned)arrays.x[segment.begin + at]; }
    __device__ int score(int at) const { return arrays.scores[segment.begin + at]; }

    __device__ Anchor anchor(int at) const {
        return anchor_of(arrays.x[segment.begin + at], arrays.y[segment.begin + at]);
    }

    __device__ StoredAnchor stored(int at) const {
        const long long place = segment.begin + at;
        return {
            (unsigned)arrays.x[place], arrays.y[place], arrays.scores[place],
            arrays.predecessors[place]
        };
    }

    __device__ void store(int at, int score, int from) const {
        arrays.scores[segment.begin + at] = score;
        arrays.predecessors[segment.begin + at] = from < 0 ? -1 : from + segment.place;
    }
};

// An anchor as a predecessor of others, read at once.
struct alignas(16) Candidate {
    Anchor anchor;
    int score;
};
