// Lanes of a warp.

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline int lane_id() { return threadIdx.x % kWarpLanes; }

// Minimum and maximum over all lanes, the same in each lane. With the instruction of newer
// architectures, the compiler knows that all lanes hold the same value.
__device__ inline int warp_min(int value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, value);
#else
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value = min(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
#endif
}

__device__ inline int warp_max(int value) { return -warp_min(-value); }
