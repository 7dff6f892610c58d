// A segment of anchors as the functions that chain it see it.

#include "chain.cuh"

struct Arrays {
    const Word *x, *y;
    int *scores, *predecessors, *marks;
};

// A segment in the arrays of the batch. The predecessors there count within the read; everything
// else here counts within the segment.
struct Run {
    Arrays arrays;
    Segment segment;

    __device__ int length() const { return segment.length; }
    __device__ unsigned x(int at) const { return (unsigned)arrays.x[segment.begin + at]; }
    __device__ int score(int at) const { return arrays.scores[segment.begin + at]; }
    __device__ int& mark(int at) const { return arrays.marks[segment.begin + at]; }

    __device__ Anchor anchor(int at) const {
        return anchor_of(arrays.x[segment.begin + at], arrays.y[segment.begin + at]);
    }

    // -1 if there is none.
    __device__ int predecessor(int at) const {
        const int from = arrays.predecessors[segment.begin + at];
        return from < 0 ? -1 : from - segment.place;
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
