// Bits in which some keys differ.

#include "common/warp.cuh"

// Returns the bits in which n keys differ, at least one key; by a warp.
__device__ inline unsigned long long varying_bits(const unsigned long long* keys, int n) {
    unsigned long long bits = 0;
    for (int i = lane_id(); i < n; i += kWarpLanes) bits |= keys[i] ^ keys[0];
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        bits |= __shfl_xor_sync(kAllLanes, bits, distance);
    }
    return bits;
}
