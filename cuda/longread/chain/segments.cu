// Segments of anchors that are chained independently. Launched by
// hapgpu/longread/cuda/scores.py.

#include "longread/chain/pair_score.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarpLanes;
constexpr int kTilesPerRead = 32;  // for as many warps; a tile has at least `kMinTile` anchors
constexpr int kMinTile = 1024;
constexpr int kDensityBases = 1000;

struct Read {
    const Word* x;
    int anchors;
    unsigned max_distance;

    // Whether a segment starts at an anchor, or the read ends there.
    __device__ bool is_cut(long long at) const {
        if (at == 0 || at == anchors) return true;
        return x[at] >> 32 != x[at - 1] >> 32 || x[at] - x[at - 1] > max_distance;
    }

    // Whether the anchors of a segment have more than `density` anchors per kDensityBases bases.
    __device__ bool is_dense(int start, int end, int density) const {
        const long long length = end - start;
        const long long bases = (long long)(x[end - 1] - x[start]) + 1;
        return length >> kMinDenseBits && length * kDensityBases > bases * density;
    }
};

// Calls `use(start, end)` in some lane for each segment that starts in a tile of a read; by a whole
// warp.
template <typename Use>
__device__ inline void for_each_segment(Read read, int tile_start, int tile_end, Use use) {
    int open_start = read.is_cut(tile_start) ? tile_start : -1;  // start of the current segment
    for (long long base = tile_start; base < tile_end || (open_start >= 0 && open_start < tile_end);
         base += kWarpLanes) {
        const long long end = base + lane_id() + 1;
        const bool is_cut = end <= read.anchors && read.is_cut(end);
        const unsigned cuts = __ballot_sync(kAllLanes, is_cut);
        const unsigned before = cuts & ((1u << lane_id()) - 1);
        const int start = before ? (int)base + kWarpLanes - __clz(before) : open_start;
        if (is_cut && start >= 0 && start < tile_end) use(start, (int)end);
        if (cuts) open_start = (int)base + kWarpLanes - __clz(cuts);
    }
}

// Segments of all reads by bin, and the scores of anchors outside any segment; one warp per tile.
// `counts` are the numbers of segments per bin, initially 0. A segment with more than `max_density`
// anchors per 1000 bases is dense if it is long.
extern "C" __global__ void __launch_bounds__(kThreads, 6) list_segments(
    const __grid_constant__ Anchors anchors, const __grid_constant__ ChainScores scores,
    const __grid_constant__ Segments segments, int max_distance, int max_density
) {
    __shared__ unsigned rows_of_warps[kWarps][kWarpLanes];
    __shared__ long long bin_starts[kWarpLanes];
    if (threadIdx.x < kWarpLanes) {
        const int bin = threadIdx.x == kDenseCount ? kBins : threadIdx.x;
        bin_starts[threadIdx.x] = bin_start(anchors.count, bin);
    }
    __syncthreads();
    unsigned* rows = rows_of_warps[threadIdx.x / kWarpLanes];
    const int warps = gridDim.x * kWarps;
    const long long tiles = (long long)anchors.reads * kTilesPerRead;
    for (long long tile = blockIdx.x * kWarps + threadIdx.x / kWarpLanes; tile < tiles;
         tile += warps) {
        const long long number = tile / kTilesPerRead, first = anchors.offsets[number];
        const int length_of_read = (int)(anchors.offsets[number + 1] - first);
        const Read read = {anchors.x + first, length_of_read, (unsigned)max_distance};
        const int length = max(read.anchors / kTilesPerRead + 1, kMinTile);
        const long long tile_start = tile % kTilesPerRead * length;
        if (tile_start >= read.anchors) continue;
        const int tile_end = (int)min(tile_start + length, (long long)read.anchors);
        const auto list_of = [&](int start, int end) {
            return read.is_dense(start, end, max_density) ? kDenseCount : bin_of(end - start);
        };
        rows[lane_id()] = 0;
        __syncwarp();
        for_each_segment(read, (int)tile_start, tile_end, [&](int start, int end) {
            if (end - start > 1) atomicAdd(&rows[list_of(start, end)], 1u);
        });
        __syncwarp();
        const unsigned count = rows[lane_id()];
        if (count) rows[lane_id()] = atomicAdd(&segments.counts[lane_id()], count);
        __syncwarp();
        for_each_segment(read, (int)tile_start, tile_end, [&](int start, int end) {
            if (end - start == 1) {
                scores.scores[first + start] = (int)(anchors.y[first + start] >> 32 & 255);
                scores.predecessors[first + start] = -1;
            } else {
                const int bin = list_of(start, end);
                const unsigned row = atomicAdd(&rows[bin], 1u);
                segments.rows[bin_starts[bin] + row] = {first + start, end - start, start};
            }
        });
        __syncwarp();
    }
}
