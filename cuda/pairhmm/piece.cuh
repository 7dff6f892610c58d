// Arrays of a piece of a batch, in the order of hapgpu/pairhmm/cuda/kernels.py.

#include "pairhmm/read_columns.cuh"

struct Reads {
    ReadColumns columns;
    const unsigned char* gap_continuations;  // one for all, or one per base
    const int* offsets;
    int continuations, count;

    __device__ unsigned char gap_continuation(int row) const {
        return gap_continuations[continuations == 1 ? 0 : row];
    }
};

struct Haplotypes {
    const unsigned char* bases;
    const int* offsets;
    const int* layouts;
    const int* mask_starts;
    int count;
};

// Offsets of the reads, the haplotypes and the pairs of each group.
struct Groups {
    const int* reads;
    const int* haplotypes;
    const int* pairs;
    int count;
};

// Columns per lane and lanes per haplotype of each layout; its pairs in the list of all.
struct Layouts {
    const int* columns;
    const int* lanes;
    int* starts;
    int* pairs;
    int count;
};

// Coefficients of the rows of reads, and values of each read.
struct Coefficients {
    float4* rows;
    float2* emissions;
    double* products;
    double* thresholds;
    float* last_insertions;
};

// Pairs of the list of all that `exact` computes.
struct ExactPairs {
    int* pairs;
    int* count;
};
