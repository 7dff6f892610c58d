// Chains traced back from their ends, the best end first, and the anchors that they consist of.

#include "common/binary_search.cuh"
#include "chaining/sort/radix_order.cuh"
#include "common/work_queue.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
constexpr int kBlocksAtOnce = 7;  // of a multiprocessor, at least: leaves enough registers

// Of one read: anchors are counted within it.
struct Read {
    const int* scores;
    const int* predecessors;
    unsigned char* used;  // whether an anchor belongs to a chain
    int* path;            // anchors of chains, from the last of each to its first
};

struct Traced {
    int length, score;
};

// Lists the anchors at which a chain of enough score ends; returns how many there are.
__device__ int list_ends(
    const int* scores, int count, int min_score, unsigned long long* keys, unsigned* values
) {
    const unsigned lower_lanes = (1u << lane_id()) - 1;
    int ends = 0;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int anchor = base + lane_id();
        const int score = anchor < count ? scores[anchor] : 0;
        const bool is_end = anchor < count && score >= min_score;
        const unsigned lanes = __ballot_sync(kAllLanes, is_end);
        if (is_end) {
            const int place = ends + __popc(lanes & lower_lanes);
            keys[place] = static_cast<unsigned>(score);
            values[place] = anchor;
        }
        ends += __popc(lanes);
    }
    __syncwarp();
    return ends;
}

// Walks back from an end to where the chain's own score is highest, into `path`. It is given up at
// an anchor of another chain, or once the score has dropped by more than `max_drop`. By one lane.
__device__ Traced walk_back(Read read, int end, int* path, int max_drop) {
    const int end_score = read.scores[end];
    Traced best{0, 0};
    int anchor = end, next = read.predecessors[end], length = 0;
    bool goes_on = true;
    while (goes_on) {
        path[length++] = anchor;
        anchor = next;
        int score = end_score;
        goes_on = anchor >= 0;
        if (goes_on) {  // these loads do not wait for each other
            next = read.predecessors[anchor];
            goes_on = !read.used[anchor];
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

// The same by a warp, which marks the anchors of the chain as well.
__device__ Traced trace_chain(Read read, int end, int* path, int max_drop) {
    Traced chain{0, 0};
    if (lane_id() == 0) chain = walk_back(read, end, path, max_drop);
    chain.length = __shfl_sync(kAllLanes, chain.length, 0);
    chain.score = __shfl_sync(kAllLanes, chain.score, 0);
    __syncwarp();
    for (int k = lane_id(); k < chain.length; k += kWarpLanes) read.used[path[k]] = 1;
    __syncwarp();
    return chain;
}

}  // namespace

// Chains of each read in the order in which they are found, and for read i at i + 1 the numbers of
// chains and of their anchors; a warp a read. What is listed of a read begins where its anchors
// do; in `path` the anchors of its chain c end before `chain_ends[c]`.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) trace_chains(
    const int* scores, const int* predecessors, const long long* offsets, const long long* order,
    int* taken, unsigned long long* keys, unsigned* values, unsigned char* used, int* path,
    int* chain_ends, int* chain_scores, long long* chain_counts, long long* anchor_counts,
    int anchors, int reads, int one, int max_drop, int min_count, int min_score
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int number; (number = queue.next()) >= 0;) {
        const long long begin = offsets[number];
        const int count = static_cast<int>(offsets[number + 1] - begin);
        const Read read{scores + begin, predecessors + begin, used + begin, path + begin};
        unsigned* const best_last = values + begin;
        const int ends = list_ends(read.scores, count, min_score, keys + begin, best_last);
        radix_order(keys + begin, best_last, ends, scratch[threadIdx.x / kWarpLanes]);

        int chains = 0, length = 0;
        for (int above = ends; above > 0; above -= kWarpLanes) {
            const int place = above - 1 - lane_id();
            const int end = place >= 0 ? static_cast<int>(best_last[place]) : 0;
            bool is_open = place >= 0;
            while (true) {
                const unsigned open = __ballot_sync(kAllLanes, is_open && !read.used[end]);
                if (!open) break;
                const int lane = __ffs(open) - 1;
                if (lane_id() == lane) is_open = false;
                const int best_end = __shfl_sync(kAllLanes, end, lane);
                const Traced chain = trace_chain(read, best_end, read.path + length, max_drop);
                if (chain.score < min_score || chain.length < max(min_count, 1)) continue;
                length += chain.length;
                if (lane_id() == 0) {
                    chain_ends[begin + chains] = length;
                    chain_scores[begin + chains] = chain.score;
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

// Lists the chains of each read in the order of their first anchors: the place of this anchor in
// `path`, where the anchors of the chain end, and the score; a warp a read.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) order_chains(
    const unsigned long long* x, const long long* offsets, const long long* order, int* taken,
    unsigned long long* keys, unsigned* values, const int* path, const int* chain_ends,
    const int* chain_scores, const long long* chain_offsets, const long long* kept_offsets,
    long long* first_places, long long* anchor_offsets, int* kept_scores, int anchors, int reads,
    int one, int chains
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int read; (read = queue.next()) >= 0;) {
        const long long begin = offsets[read], to = chain_offsets[read];
        const int count = static_cast<int>(chain_offsets[read + 1] - to);
        for (int chain = lane_id(); chain < count; chain += kWarpLanes) {
            keys[begin + chain] = x[begin + path[begin + chain_ends[begin + chain] - 1]];
            values[begin + chain] = chain;
        }
        __syncwarp();
        radix_order(keys + begin, values + begin, count, scratch[threadIdx.x / kWarpLanes]);

        long long before = kept_offsets[read];
        for (int base = 0; base < count; base += kWarpLanes) {
            const int place = base + lane_id();
            int length = 0;
            if (place < count) {
                const int chain = values[begin + place];
                const int end = chain_ends[begin + chain];
                length = end - (chain ? chain_ends[begin + chain - 1] : 0);
                first_places[to + place] = begin + end - 1;
                kept_scores[to + place] = chain_scores[begin + chain];
            }
            const int sum = lanes_before(length) + length;
            if (place < count) anchor_offsets[to + place + 1] = before + sum;
            before += __shfl_sync(kAllLanes, sum, kWarpLanes - 1);
        }
    }
}

// Gathers the anchors of all chains, ascending in each.
extern "C" __global__ void __launch_bounds__(kThreads) gather_chains(
    const unsigned long long* x, const unsigned long long* y, const long long* offsets,
    const int* path, const long long* first_places, const long long* anchor_offsets,
    unsigned long long* kept_x, unsigned long long* kept_y, int anchors, int reads, int chains,
    int kept
) {
    for (long long at = blockIdx.x * blockDim.x + threadIdx.x; at < kept;
         at += gridDim.x * blockDim.x) {
        const int chain = count_at_most(anchor_offsets, chains, at) - 1;
        const long long place = first_places[chain] - (at - anchor_offsets[chain]);
        const long long anchor = offsets[count_at_most(offsets, reads, place) - 1] + path[place];
        kept_x[at] = x[anchor];
        kept_y[at] = y[anchor];
    }
}
