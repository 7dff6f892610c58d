// View of a segment in the arrays of a batch.

#include "longread/chain/pair_score.cuh"

struct BatchArrays {
    const Word *x, *y;
    int *scores, *predecessors;
};

// A scored anchor as loaded from the arrays. It is loaded ahead of its use, so nothing is computed
// from it at the load.
struct StoredAnchor {
    unsigned x;
    Word y;
    int score, predecessor;

    __device__ Anchor anchor() const { return anchor_of(x, y); }
};

// A segment in the arrays of the batch. Predecessors in the arrays are numbered within the read;
// all other numbers here are within the segment.
struct SegmentView {
    BatchArrays arrays;
    Segment segment;

    __device__ int length() const { return segment.length; }
    __device__ unsigned x(int at) const { return (unsigned)arrays.x[segment.start + at]; }
    __device__ int score(int at) const { return arrays.scores[segment.start + at]; }

    __device__ int from(int at) const {
        const int predecessor = arrays.predecessors[segment.start + at];
        return predecessor < 0 ? -1 : predecessor - segment.first_in_read;
    }

    __device__ Anchor anchor(int at) const {
        return anchor_of(arrays.x[segment.start + at], arrays.y[segment.start + at]);
    }

    __device__ StoredAnchor stored(int at) const {
        const long long row = segment.start + at;
        return {
            (unsigned)arrays.x[row], arrays.y[row], arrays.scores[row], arrays.predecessors[row]
        };
    }

    __device__ void store(int at, int score, int from) const {
        arrays.scores[segment.start + at] = score;
        arrays.predecessors[segment.start + at] = from < 0 ? -1 : from + segment.first_in_read;
    }
};

// An anchor as a predecessor; one load.
struct alignas(16) Candidate {
    Anchor anchor;
    int score;
};
