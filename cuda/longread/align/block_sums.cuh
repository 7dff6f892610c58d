// Sums over the threads of a block.

#include "longread/align/merged_runs.cuh"

// Returns the sum of the values of the threads before this one, and of `carry`, which gets the sum
// of all. Two numbers of 32 bits may share a value if their sums do not carry over.
__device__ inline unsigned long long sum_before(
    unsigned long long value, unsigned long long* totals, unsigned long long& carry
) {
    const unsigned long long sum = sum_to_lane(value);
    if (lane_id() == kWarpLanes - 1) totals[warp_of_block()] = sum;
    __syncthreads();  // totals
    unsigned long long before = carry;
    for (int warp = 0; warp < kBlockWarps; ++warp) {
        if (warp < warp_of_block()) before += totals[warp];
        carry += totals[warp];
    }
    __syncthreads();  // before the next call
    return before + sum - value;
}
