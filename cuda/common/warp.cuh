// Lanes of a warp.

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline int lane_id() { return threadIdx.x % kWarpLanes; }
__device__ inline unsigned lower_lanes() { return (1u << lane_id()) - 1; }

// Sum over all lanes.
template <typename Number>
__device__ inline Number warp_sum(Number value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
}

// Sum over the lanes up to this one.
template <typename Number>
__device__ inline Number sum_to_lane(Number value) {
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        const Number lower = __shfl_up_sync(kAllLanes, value, distance);
        if (lane_id() >= distance) value += lower;
    }
    return value;
}

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
