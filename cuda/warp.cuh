// Lanes of a warp.

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline int lane_id() { return threadIdx.x % kWarpLanes; }
