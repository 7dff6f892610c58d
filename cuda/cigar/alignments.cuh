// Alignments of queries with references, and the warps that work on them
// (hapgpu/cigar/cuda/alignments.py).

#include "common/rows.cuh"
#include "common/warp.cuh"

struct Alignments {
    Rows<unsigned char> bases;
    const long long* rows;  // of bases, for each alignment
    Rows<unsigned> cigars;
    const long long* positions;
    Rows<unsigned char> references;
    const int* reference_index;  // -1 for none
};

__device__ inline int first_warp() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int all_warps() { return gridDim.x * blockDim.x / kWarpLanes; }
