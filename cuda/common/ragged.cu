// Rows of different lengths, end to end in one array (hapgpu/arrays/cuda.py).

#include "common/warp.cuh"

// Copies rows from anywhere in `data`; a warp per row.
template <typename Item>
__device__ inline void gather(
    const Item* data, const long long* starts, const long long* offsets, Item* out, int rows
) {
    const int warps = gridDim.x * blockDim.x / kWarpLanes;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    for (; row < rows; row += warps) {
        const long long to = offsets[row], length = offsets[row + 1] - to;
        const Item* from = data + starts[row];
        for (long long k = lane_id(); k < length; k += kWarpLanes) out[to + k] = from[k];
    }
}

extern "C" __global__ void gather_bytes(
    const unsigned char* data,
    const long long* starts,
    const long long* offsets,
    unsigned char* out,
    int rows
) {
    gather(data, starts, offsets, out, rows);
}

extern "C" __global__ void gather_words(
    const unsigned* data,
    const long long* starts,
    const long long* offsets,
    unsigned* out,
    int rows
) {
    gather(data, starts, offsets, out, rows);
}
