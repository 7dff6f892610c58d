// Haplotypes with flanks of the reference (hapgpu/haplotypes/pairing/cuda.py).

#include "common/warp.cuh"

__device__ inline void copy(const unsigned char* from, unsigned char* to, long long length) {
    for (long long k = lane_id(); k < length; k += kWarpLanes) to[k] = from[k];
}

// Writes each haplotype between its flanks; a warp per extended haplotype.
extern "C" __global__ void join_haplotypes(
    const unsigned char* sequences,
    const long long* sequence_offsets,
    const unsigned char* references,
    const long long* reference_offsets,
    const int* haplotypes,
    const int* windows,
    const long long* left_flanks,
    const long long* right_flanks,
    const long long* offsets,
    unsigned char* out,
    long long sequences_size,
    int sequence_count,
    long long references_size,
    int window_count,
    int rows,
    long long total
) {
    const int warps = gridDim.x * blockDim.x / kWarpLanes;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    for (; row < rows; row += warps) {
        const int haplotype = haplotypes[row], window = windows[row];
        const long long left = left_flanks[row], right = right_flanks[row];
        const long long core = sequence_offsets[haplotype];
        const long long core_size = sequence_offsets[haplotype + 1] - core;
        unsigned char* to = out + offsets[row];
        copy(references + reference_offsets[window], to, left);
        copy(sequences + core, to + left, core_size);
        copy(references + reference_offsets[window + 1] - right, to + left + core_size, right);
    }
}
