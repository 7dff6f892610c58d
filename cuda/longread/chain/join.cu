// Chains joined over long gaps; same as hapgpu/longread/chain/join.py.

#include "common/binary_search.cuh"
#include "common/warp.cuh"

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
    const Word* y, long long anchors, const long long* anchor_offsets, int chains,
    const long long* offsets, const int* lengths, int reads, long long* counts
) {
    if (thread_id() == 0) counts[0] = 0;
    for (int read = thread_id(); read < reads; read += thread_count()) {
        const long long start = offsets[read], end = offsets[read + 1];
        bool joins = end - start > 1;
        if (joins) {
            const long long first = anchor_offsets[start], last = anchor_offsets[start + 1] - 1;
            const int covered = query_position(y[last]) - query_position(y[first]);
            joins = lengths[read] - covered > kMinUnchained
                || (float)covered > __fmul_rn(lengths[read], kMinFraction);
        }
        counts[read + 1] = joins ? anchor_offsets[end] - anchor_offsets[start] : 0;
    }
}

// x and number of each anchor of the reads to join, in the order of the chains; one thread per
// anchor. Sets the number of anchors of reads that are not sorted by x, to be sorted.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) list_joined(
    const Word* x, long long anchors, const long long* anchor_offsets, int chains,
    const long long* offsets, int reads, const long long* joined_offsets, Word* joined_x,
    unsigned* source_rows, int* unsorted, int joined
) {
    for (int at = thread_id(); at < joined; at += thread_count()) {
        const int read = count_at_most(joined_offsets, reads + 1, at) - 1;
        const long long start = joined_offsets[read];
        const long long row = anchor_offsets[offsets[read]] + (at - start);
        joined_x[at] = x[row];
        source_rows[at] = (unsigned)row;
        if (at > start && x[row - 1] > x[row]) {
            unsorted[read] = (int)(joined_offsets[read + 1] - start);
        }
    }
}

// Number of chains and anchors of each read after the join; one thread per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) count_merged(
    const long long* anchor_offsets, int chains, const long long* offsets, int reads,
    const long long* joined_offsets, const long long* joined_anchor_offsets, int joined_chains,
    const long long* joined_chain_offsets, long long* chain_counts, long long* anchor_counts
) {
    if (thread_id() == 0) chain_counts[0] = anchor_counts[0] = 0;
    for (int read = thread_id(); read < reads; read += thread_count()) {
        const bool is_joined = joined_offsets[read + 1] > joined_offsets[read];
        const long long* source = is_joined ? joined_chain_offsets : offsets;
        const long long* ends = is_joined ? joined_anchor_offsets : anchor_offsets;
        chain_counts[read + 1] = source[read + 1] - source[read];
        anchor_counts[read + 1] = ends[source[read + 1]] - ends[source[read]];
    }
}

namespace {

// `Chains` of hapgpu/longread/batches.py.
struct ChainArrays {
    const Word* x;
    const Word* y;
    const long long* anchor_offsets;
    const int* scores;
    const long long* offsets;
};

}  // namespace

// Copies the chains of each read from the joined chains if it was joined, otherwise from the given
// chains; one warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) merge_chains(
    const Word* x, const Word* y, long long anchors, const long long* anchor_offsets,
    const int* scores, int chains, const long long* offsets, int reads,
    const long long* joined_offsets, const Word* joined_x, const Word* joined_y,
    long long joined_anchors, const long long* joined_anchor_offsets, const int* joined_scores,
    int joined_chains, const long long* joined_chain_offsets, const long long* merged_offsets,
    const long long* merged_starts, Word* merged_x, Word* merged_y, long long merged_anchors,
    long long* merged_anchor_offsets, int* merged_scores, int merged_chains
) {
    const ChainArrays kept{x, y, anchor_offsets, scores, offsets};
    const ChainArrays joined{joined_x, joined_y, joined_anchor_offsets, joined_scores,
                             joined_chain_offsets};
    if (thread_id() == 0) merged_anchor_offsets[merged_chains] = merged_anchors;
    const int warps = thread_count() / kWarpLanes;
    for (int read = thread_id() / kWarpLanes; read < reads; read += warps) {
        const ChainArrays from = joined_offsets[read + 1] > joined_offsets[read] ? joined : kept;
        const long long first = from.offsets[read], to = merged_offsets[read];
        const long long start = from.anchor_offsets[first], target = merged_starts[read];
        for (long long k = lane_id(); k < merged_offsets[read + 1] - to; k += kWarpLanes) {
            merged_anchor_offsets[to + k] = from.anchor_offsets[first + k] - start + target;
            merged_scores[to + k] = from.scores[first + k];
        }
        for (long long k = lane_id(); k < merged_starts[read + 1] - target; k += kWarpLanes) {
            merged_x[target + k] = from.x[start + k];
            merged_y[target + k] = from.y[start + k];
        }
    }
}
