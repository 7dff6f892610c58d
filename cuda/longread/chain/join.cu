// Chains joined over long gaps; same as hapgpu/longread/chain/join.py.

#include "common/binary_search.cuh"
#include "common/warp.cuh"
#include "longread/batches.cuh"

namespace {

using Word = unsigned long long;

constexpr int kWarpsPerBlock = 4;
constexpr int kMinUnchained = 1000;    // bases of a read outside its first chain
constexpr float kMinFraction = 0.1f;   // fraction of the read in its first chain

__device__ inline int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int thread_count() { return gridDim.x * blockDim.x; }
__device__ inline int query_position(Word y) { return (int)y; }

}  // namespace

// Number of anchors of each read to join, 0 for other reads; one thread per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) count_joined(
    const __grid_constant__ Chains chains, const int* lengths, long long* counts
) {
    if (thread_id() == 0) counts[0] = 0;
    for (int read = thread_id(); read < chains.reads; read += thread_count()) {
        const long long start = chains.offsets[read], end = chains.offsets[read + 1];
        bool joins = end - start > 1;
        if (joins) {
            const long long first = chains.anchor_offsets[start];
            const long long last = chains.anchor_offsets[start + 1] - 1;
            const int covered = query_position(chains.y[last]) - query_position(chains.y[first]);
            joins = lengths[read] - covered > kMinUnchained
                || (float)covered > __fmul_rn(lengths[read], kMinFraction);
        }
        counts[read + 1] = joins ? chains.anchor_offsets[end] - chains.anchor_offsets[start] : 0;
    }
}

// x and number of each anchor of the reads to join, in the order of the chains; one thread per
// anchor. Sets the number of anchors of reads that are not sorted by x, to be sorted.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) list_joined(
    const __grid_constant__ Chains chains, const long long* joined_offsets, Word* joined_x,
    unsigned* source_rows, int* unsorted, int joined
) {
    for (int at = thread_id(); at < joined; at += thread_count()) {
        const int read = count_at_most(joined_offsets, chains.reads + 1, at) - 1;
        const long long start = joined_offsets[read];
        const long long row = chains.anchor_offsets[chains.offsets[read]] + (at - start);
        joined_x[at] = chains.x[row];
        source_rows[at] = (unsigned)row;
        if (at > start && chains.x[row - 1] > chains.x[row]) {
            unsorted[read] = (int)(joined_offsets[read + 1] - start);
        }
    }
}

// Number of chains and anchors of each read after the join; one thread per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) count_merged(
    const __grid_constant__ Chains kept, const __grid_constant__ Chains joined,
    const long long* joined_offsets, long long* chain_counts, long long* anchor_counts
) {
    if (thread_id() == 0) chain_counts[0] = anchor_counts[0] = 0;
    for (int read = thread_id(); read < kept.reads; read += thread_count()) {
        const bool is_joined = joined_offsets[read + 1] > joined_offsets[read];
        const long long* source = is_joined ? joined.offsets : kept.offsets;
        const long long* ends = is_joined ? joined.anchor_offsets : kept.anchor_offsets;
        chain_counts[read + 1] = source[read + 1] - source[read];
        anchor_counts[read + 1] = ends[source[read + 1]] - ends[source[read]];
    }
}

namespace {

// Copies the chains of a read, whose anchors go to `merged_starts[read]`; by a warp.
__device__ inline void copy_chains(
    const Chains& from, int read, const Chains& merged, const long long* merged_starts
) {
    const long long first = from.offsets[read], to = merged.offsets[read];
    const long long start = from.anchor_offsets[first], target = merged_starts[read];
    for (long long k = lane_id(); k < merged.offsets[read + 1] - to; k += kWarpLanes) {
        merged.anchor_offsets[to + k] = from.anchor_offsets[first + k] - start + target;
        merged.scores[to + k] = from.scores[first + k];
    }
    for (long long k = lane_id(); k < merged_starts[read + 1] - target; k += kWarpLanes) {
        merged.x[target + k] = from.x[start + k];
        merged.y[target + k] = from.y[start + k];
    }
}

}  // namespace

// Copies the chains of each read from the joined chains if it was joined, otherwise from the given
// chains; one warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) merge_chains(
    const __grid_constant__ Chains kept, const __grid_constant__ Chains joined,
    const long long* joined_offsets, const long long* merged_starts,
    const __grid_constant__ Chains merged
) {
    if (thread_id() == 0) merged.anchor_offsets[merged.count] = merged.anchors;
    const int warps = thread_count() / kWarpLanes;
    for (int read = thread_id() / kWarpLanes; read < kept.reads; read += warps) {
        if (joined_offsets[read + 1] > joined_offsets[read]) {
            copy_chains(joined, read, merged, merged_starts);
        } else {
            copy_chains(kept, read, merged, merged_starts);
        }
    }
}
