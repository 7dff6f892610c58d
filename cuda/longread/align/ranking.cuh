// What the kernels that rank aligned mappings share.

#include "longread/selection.cuh"

// Score of a mapping that is not reported.
constexpr int kPoor = -0x7fffffff - 1;

// Columns after those of the table, which has the mappings of each read with the best one first:
// working memory, the rows to keep and the numbers of their parents, and the fields that change.
enum RankColumn {
    kPrimaries = kChain + 1, kParents, kNewRows, kKept, kNumbers, kSecondScores, kNSub,
    kSecondDpMax, kDpMax
};

// Columns of one read.
struct ReadColumns {
    int* values;
    long long stride, start;

    __device__ int* of(int column) const { return values + column * stride + start; }
};
