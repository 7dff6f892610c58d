// Qualities of inversions; same as hapgpu/longread/align/ranking.py.

#include "common/grid.cuh"
#include "longread/align/ranking.cuh"
#include "longread/align/rows.cuh"
#include "longread/seed/radix_order.cuh"

namespace {

using Word = unsigned long long;

constexpr int kWarpsPerBlock = 4;

__device__ inline bool has_inversions(const Mapping* mappings, int count) {
    bool has_any = false;
    for (int row = lane_id(); row < count; row += kWarpLanes) has_any |= mappings[row].is_inversion;
    return __any_sync(kAllLanes, has_any);
}

// Sets the quality of inversions to the lower one of their neighbours on the reference, which are
// primary; there must be one on both sides.
__device__ inline void set_qualities_of_inversions(
    Mapping* mappings, int count, Word* keys, unsigned* order, RadixScratch& scratch
) {
    int primaries = 0;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int row = base + lane_id();
        bool is_primary = false;
        Word key = 0;
        if (row < count) {
            const Mapping& mapping = mappings[row];
            is_primary = mapping.parent == row || mapping.parent < 0;
            key = (Word)mapping.sequence << 32 | (Word)mapping.target_start;
        }
        const unsigned lanes = __ballot_sync(kAllLanes, is_primary);
        if (is_primary) {
            const int at = primaries + __popc(lanes & lower_lanes());
            keys[at] = key;
            order[at] = row;
        }
        primaries += __popc(lanes);
    }
    __syncwarp();
    radix_order(keys, order, primaries, scratch);
    __syncwarp();
    if (lane_id()) return;
    for (int k = 1; k < primaries - 1; ++k) {  // in order: a neighbour may be an inversion too
        Mapping& mapping = mappings[order[k]];
        if (!mapping.is_inversion) continue;
        mapping.quality = min(mappings[order[k - 1]].quality, mappings[order[k + 1]].quality);
    }
}

}  // namespace

// Sets the qualities of inversions among ranked mappings; one warp per read. `keys` and `order` are
// working memory, a row per mapping.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock, 8) assess_inversions(
    Mapping* mappings, const long long* offsets, Word* keys, unsigned* order, int reads
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    for (int read = first_warp(); read < reads; read += all_warps()) {
        const long long first = offsets[read];
        const int count = (int)(offsets[read + 1] - first);
        if (count < 3 || !has_inversions(mappings + first, count)) continue;
        set_qualities_of_inversions(mappings + first, count, keys + first, order + first,
                                    scratch[threadIdx.x / kWarpLanes]);
        __syncwarp();
    }
}
