// Threads and warps of a grid that loop over items.

#include "common/warp.cuh"

__device__ inline int first_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int all_threads() { return gridDim.x * blockDim.x; }
__device__ inline int first_warp() { return first_thread() / kWarpLanes; }
__device__ inline int all_warps() { return all_threads() / kWarpLanes; }
