// Hits of reads copied to their offsets in the result.

#include "common/warp.cuh"
#include "shortread/fm_index.cuh"

constexpr int kSlots = 128, kOther = 255;  // as in tile.cuh

// One thread per read: copies its hits from the slots of its warp, but of other reads. Hits that the
// result, of `size` hits, has no room for are left out.
extern "C" __global__ void __launch_bounds__(256) place_hits(
    const Word* slots, const unsigned char* slot_starts, const long long* offsets, int reads,
    Word* hits, long long size
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= reads || slot_starts[read] == kOther) return;
    const long long target = offsets[read], end = offsets[read + 1];
    if (end > size) return;
    const int found = (int)(end - target);
    const Word* source = slots + (long long)(read / kWarpLanes) * kSlots + slot_starts[read];
    for (int k = 0; k < found; ++k) hits[target + k] = source[k];
}

// One warp per other read at a time: copies its hits from the pool, if it has any there.
extern "C" __global__ void __launch_bounds__(256) place_pool_hits(
    const Word* pool, const int* pool_starts, const int* others, const Word* other_count,
    const long long* offsets, int reads, Word* hits, long long size
) {
    const int count = (int)min(*other_count, (Word)reads);
    const int warps = gridDim.x * blockDim.x / kWarpLanes;
    for (int at = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; at < count; at += warps) {
        const long long target = offsets[others[at]], end = offsets[others[at] + 1];
        if (pool_starts[at] < 0 || end > size) continue;
        const int found = (int)(end - target);
        for (int k = lane_id(); k < found; k += kWarpLanes) {
            hits[target + k] = pool[pool_starts[at] + k];
        }
    }
}

// One warp per read of a search in steps: copies its hits.
extern "C" __global__ void __launch_bounds__(256) place_other_hits(
    const Word* other_hits, const long long* other_offsets, const int* others, int count,
    const long long* offsets, Word* hits
) {
    const int other = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    if (other >= count) return;
    const long long start = other_offsets[other], found = other_offsets[other + 1] - start;
    const long long target = offsets[others[other]];
    for (long long k = lane_id(); k < found; k += kWarpLanes) {
        hits[target + k] = other_hits[start + k];
    }
}
