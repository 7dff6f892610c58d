// Chains, traced back from their last anchors; same as hapgpu/longread/chain/chains.py.

#include "common/binary_search.cuh"
#include "longread/seed/radix_order.cuh"
#include "common/work_queue.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
constexpr int kBlocksAtOnce = 7;  // at least so many per multiprocessor: leaves enough registers

// Arrays of one read; anchors are numbered within the read.
struct Read {
    const int* scores;
    const int* predecessors;
    unsigned char* is_taken;  // whether an anchor belongs to a chain
    int* path;                // anchors of chains, from the last of each to its first
};

struct TracedChain {
    int length, score;
};

// Lists the anchors at which a chain may end, with scores; returns their number.
__device__ int list_ends(
    const int* scores, int count, int min_score, unsigned long long* keys, unsigned* values
) {
    const unsigned lower_lanes = (1u << lane_id()) - 1;
    constexpr int kLoads = 4;  // at a time, independent of each other
    int ends = 0;
    for (int base = 0; base < count; base += kLoads * kWarpLanes) {
        int loaded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
            const int anchor = base + k * kWarpLanes + lane_id();
            loaded[k] = anchor < count ? scores[anchor] : 0;
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
            const int anchor = base + k * kWarpLanes + lane_id();
            const bool is_end = anchor < count && loaded[k] >= min_score;
            const unsigned lanes = __ballot_sync(kAllLanes, is_end);
            if (is_end) {
                const int row = ends + __popc(lanes & lower_lanes);
                keys[row] = static_cast<unsigned>(loaded[k]);
                values[row] = anchor;
            }
            ends += __popc(lanes);
        }
    }
    __syncwarp();
    return ends;
}

// Traces a chain from its last anchor back to its highest score, into `path`. The search stops at
// a taken anchor, or once the score has dropped by more than `max_drop`. By one lane.
__device__ TracedChain trace_back(Read read, int end, int* path, int max_drop) {
    const int end_score = read.scores[end];
    TracedChain best{0, 0};
    int anchor = end, next = read.predecessors[end], length = 0;
    bool goes_on = true;
    while (goes_on) {
        path[length++] = anchor;
        anchor = next;
        int score = end_score;
        goes_on = anchor >= 0;
        if (goes_on) {  // these loads are independent
            next = read.predecessors[anchor];
            goes_on = !read.is_taken[anchor];
            score -= read.scores[anchor];
        }
        if (score > best.score) {
            best = {length, score};
        } else if (best.score - score > max_drop) {
            break;
        }
    }
    return best;
}

// The same by a warp, which also marks the anchors of the chain as taken.
__device__ TracedChain trace_chain(Read read, int end, int* path, int max_drop) {
    TracedChain chain{0, 0};
    if (lane_id() == 0) chain = trace_back(read, end, path, max_drop);
    chain.length = __shfl_sync(kAllLanes, chain.length, 0);
    chain.score = __shfl_sync(kAllLanes, chain.score, 0);
    __syncwarp();
    for (int k = lane_id(); k < chain.length; k += kWarpLanes) read.is_taken[path[k]] = 1;
    __syncwarp();
    return chain;
}

}  // namespace

// Traces the chains of each read, in the order found; one warp per read. Row i + 1 of the counts is
// read i. The rows of a read start where its anchors start; in `path` the anchors of its chain c
// end before `chain_ends[c]`.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) trace_chains(
    const int* scores, const int* predecessors, const long long* offsets, const long long* order,
    int* taken, unsigned long long* keys, unsigned* values, unsigned char* is_taken, int* path,
    int* chain_ends, int* chain_scores, long long* chain_counts, long long* anchor_counts,
    int anchors, int reads, int one, int max_drop, int min_count, int min_score
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int number; (number = queue.next()) >= 0;) {
        const long long start = offsets[number];
        const int count = static_cast<int>(offsets[number + 1] - start);
        const Read read{scores + start, predecessors + start, is_taken + start, path + start};
        unsigned* const best_last = values + start;
        const int ends = list_ends(read.scores, count, min_score, keys + start, best_last);
        radix_order(keys + start, best_last, ends, scratch[threadIdx.x / kWarpLanes]);

        int chains = 0, length = 0;
        for (int remaining = ends; remaining > 0; remaining -= kWarpLanes) {
            const int rank = remaining - 1 - lane_id();
            const int end = rank >= 0 ? static_cast<int>(best_last[rank]) : 0;
            bool is_open = rank >= 0;
            while (true) {
                const unsigned open = __ballot_sync(kAllLanes, is_open && !read.is_taken[end]);
                if (!open) break;
                const int lane = __ffs(open) - 1;
                if (lane_id() == lane) is_open = false;
                const int best_end = __shfl_sync(kAllLanes, end, lane);
                const TracedChain chain = trace_chain(read, best_end, read.path + length, max_drop);
                if (chain.score < min_score || chain.length < max(min_count, 1)) continue;
                length += chain.length;
                if (lane_id() == 0) {
                    chain_ends[start + chains] = length;
                    chain_scores[start + chains] = chain.score;
                }
                ++chains;
            }
        }
        if (lane_id() == 0) {
            chain_counts[number + 1] = chains;
            anchor_counts[number + 1] = length;
        }
    }
}

// Lists the chains of each read in the order of their first anchors: the row of the first anchor in
// `path`, the end of the chain's anchors, and the score; one warp per read.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) order_chains(
    const unsigned long long* x, const long long* offsets, const long long* order, int* taken,
    unsigned long long* keys, unsigned* values, const int* path, const int* chain_ends,
    const int* chain_scores, const long long* chain_offsets, const long long* kept_offsets,
    long long* first_rows, long long* anchor_offsets, int* kept_scores, int anchors, int reads,
    int one, int chains
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int read; (read = queue.next()) >= 0;) {
        const long long start = offsets[read], to = chain_offsets[read];
        const int count = static_cast<int>(chain_offsets[read + 1] - to);
        for (int chain = lane_id(); chain < count; chain += kWarpLanes) {
            keys[start + chain] = x[start + path[start + chain_ends[start + chain] - 1]];
            values[start + chain] = chain;
        }
        __syncwarp();
        radix_order(keys + start, values + start, count, scratch[threadIdx.x / kWarpLanes]);

        long long before = kept_offsets[read];
        for (int base = 0; base < count; base += kWarpLanes) {
            const int rank = base + lane_id();
            int length = 0;
            if (rank < count) {
                const int chain = values[start + rank];
                const int end = chain_ends[start + chain];
                length = end - (chain ? chain_ends[start + chain - 1] : 0);
                first_rows[to + rank] = start + end - 1;
                kept_scores[to + rank] = chain_scores[start + chain];
            }
            const int sum = lanes_before(length) + length;
            if (rank < count) anchor_offsets[to + rank + 1] = before + sum;
            before += __shfl_sync(kAllLanes, sum, kWarpLanes - 1);
        }
    }
}

// Gathers the anchors of all chains, ascending in each chain; one thread per anchor.
extern "C" __global__ void __launch_bounds__(kThreads) gather_chains(
    const unsigned long long* x, const unsigned long long* y, const long long* offsets,
    const int* path, const long long* first_rows, const long long* anchor_offsets,
    unsigned long long* kept_x, unsigned long long* kept_y, int anchors, int reads, int chains,
    int kept
) {
    for (long long kept_row = blockIdx.x * blockDim.x + threadIdx.x; kept_row < kept;
         kept_row += gridDim.x * blockDim.x) {
        const int chain = count_at_most(anchor_offsets, chains, kept_row) - 1;
        const long long row = first_rows[chain] - (kept_row - anchor_offsets[chain]);
        const long long anchor = offsets[count_at_most(offsets, reads, row) - 1] + path[row];
        kept_x[kept_row] = x[anchor];
        kept_y[kept_row] = y[anchor];
    }
}
