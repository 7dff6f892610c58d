// Chains joined over long gaps; hapgpu/chaining/long_join.py does the same.

#include "radix_order.cuh"
#include "work_queue.cuh"

namespace {

using Word = unsigned long long;

constexpr int kWarpsPerBlock = 4;
constexpr int kMostApart = 1000;          // bases of a read outside its first chain
constexpr float kLeastCovered = 0.1f;     // share of the read in its first chain
constexpr int kListSlack = 64;            // entries that are out of reach before they are dropped
constexpr long long kNoRank = -1;  // below those of all priorities

__device__ inline int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int thread_count() { return gridDim.x * blockDim.x; }
__device__ inline unsigned lower_lanes() { return (1u << lane_id()) - 1; }
__device__ inline int query_position(Word y) { return (int)y; }
__device__ inline int span_of(Word y) { return (int)(y >> 32) & 0xff; }

__device__ inline long long warp_max(long long value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value = max(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
}

// Largest value of this lane and the lower ones.
__device__ inline int lanes_max(int value) {
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        const int lower = __shfl_up_sync(kAllLanes, value, distance);
        if (lane_id() >= distance) value = max(value, lower);
    }
    return value;
}

}  // namespace

// Anchors of each read whose chains are to be joined, none for the others; a thread a read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) count_joined(
    const Word* y, long long anchors, const long long* anchor_offsets, int chains,
    const long long* offsets, const int* lengths, int reads, long long* counts
) {
    if (thread_id() == 0) counts[0] = 0;
    for (int read = thread_id(); read < reads; read += thread_count()) {
        const long long begin = offsets[read], end = offsets[read + 1];
        bool joins = end - begin > 1;
        if (joins) {
            const long long first = anchor_offsets[begin], last = anchor_offsets[begin + 1] - 1;
            const int covered = query_position(y[last]) - query_position(y[first]);
            joins = lengths[read] - covered > kMostApart
                || (float)covered > __fmul_rn(lengths[read], kLeastCovered);
        }
        counts[read + 1] = joins ? anchor_offsets[end] - anchor_offsets[begin] : 0;
    }
}

// Anchors of the reads to be joined, sorted by x; a warp a read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock, 8) sort_joined(
    const Word* x, const Word* y, long long anchors, const long long* anchor_offsets, int chains,
    const long long* offsets, int reads, const long long* joined_offsets, const long long* order,
    int* taken, int one, Word* joined_x, Word* joined_y, unsigned* places, long long joined
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    WorkQueue queue{order, taken, reads};
    for (int read; (read = queue.next()) >= 0;) {
        const long long to = joined_offsets[read];
        const int count = (int)(joined_offsets[read + 1] - to);
        const long long from = anchor_offsets[offsets[read]];
        bool is_sorted = true;
        for (int i = lane_id(); i < count; i += kWarpLanes) {
            const Word key = x[from + i];
            is_sorted &= i == 0 || x[from + i - 1] <= key;
            joined_x[to + i] = key;
            places[to + i] = i;
        }
        __syncwarp();
        // What is in order stays so, and without being compared again.
        const int unsorted = __all_sync(kAllLanes, is_sorted) ? 0 : count;
        radix_order(joined_x + to, places + to, unsorted, scratch[threadIdx.x / kWarpLanes]);
        __syncwarp();
        for (int i = lane_id(); i < count; i += kWarpLanes) {
            joined_y[to + i] = y[from + places[to + i]];
        }
    }
}

namespace {

struct JoinRules {
    int max_distance, inner_distance, most_candidates, bandwidth, max_skip;
    double half_slope;
    const unsigned short* penalties;
};

// The best chain that ends at an anchor, so far.
struct Best {
    int score, predecessor;
};

// The highest rank of some anchors, and where they lie in the read.
struct Block {
    long long rank;
    int lowest, highest;
};

// Anchors of one read, and what is known of those before the current one.
struct JoinedRead {
    const Word* x;
    const Word* y;
    int* scores;
    int* predecessors;
    int* marks;              // the last anchor in whose search an anchor was a predecessor
    long long* ranks;        // priority as predecessor: the bits of a positive double
    Block* blocks;           // of 32 anchors each
};

// Candidates near the current anchor on the reference, ascending by position in the read and
// index; some that are out of reach by now may be among them.
struct NearList {
    Word* keys;
    int size;
};

__device__ inline Word near_key(int position, int index) { return (Word)position << 32 | index; }

struct Link {
    int difference;  // of the diagonals
    int gain;        // of score, if the difference is within the bandwidth
    bool is_exact;   // without bases between the k-mers, and on one diagonal
};

__device__ inline Link link(
    Word x, Word y, Word before_x, Word before_y, const JoinRules& rules
) {
    const int on_read = query_position(y) - query_position(before_y);
    const int on_reference = (int)(x - before_x);
    const int difference = abs(on_reference - on_read);
    const int gap = min(on_reference, on_read), span = span_of(before_y);
    const int penalty = difference <= rules.bandwidth ? rules.penalties[difference] : 0;
    return {difference, min(span, gap) - penalty, difference == 0 && gap <= span};
}

// The first of the anchors from `begin` to `end` that is at most `distance` before x.
__device__ inline int window_begin(const Word* x, int begin, int end, Word here, int distance) {
    for (;; begin += kWarpLanes) {
        const int at = begin + lane_id();
        const bool is_near = at >= end || here - x[at] <= (Word)distance;
        const unsigned near = __ballot_sync(kAllLanes, is_near);
        if (near) return min(begin + __ffs(near) - 1, end);
    }
}

// The candidate from `begin` to `end` with the highest rank, and of those the first; -1 if none
// lies before the position in the read by less than the distance. The very first anchor of the
// read may lie beside it.
__device__ inline int best_ranked(
    const JoinedRead& read, int begin, int end, int position, int max_distance
) {
    const long long least = (long long)position - max_distance;  // not itself
    const int first_block = begin / kWarpLanes;
    long long best_rank = kNoRank;
    int best = -1;
    for (int near = (end - 1) / kWarpLanes; near >= first_block; near -= kWarpLanes) {
        const int number = near - lane_id();
        Block block{kNoRank, 0, 0};
        if (number >= first_block) block = read.blocks[number];
        const bool is_promising =
            block.rank != kNoRank && block.lowest <= position && block.highest > least;
        unsigned waiting = __ballot_sync(kAllLanes, is_promising && block.rank >= best_rank);
        while (waiting) {
            const int next = __ffs(waiting) - 1;
            waiting &= waiting - 1;
            const int at = (near - next) * kWarpLanes + lane_id();
            long long rank = kNoRank;
            if (at >= begin && at < end) {
                const int here = query_position(read.y[at]);
                if (here > least && here < position + (at == 0)) rank = read.ranks[at];
            }
            const long long block_rank = warp_max(rank);
            // One that equals the best so far is of an earlier anchor.
            if (block_rank == kNoRank || block_rank < best_rank) continue;
            best_rank = block_rank;
            const unsigned lanes = __ballot_sync(kAllLanes, rank == block_rank);
            best = (near - next) * kWarpLanes + __ffs(lanes) - 1;
            waiting &= __ballot_sync(kAllLanes, block.rank >= best_rank);
        }
    }
    return best;
}

// Inserts a key, from the end on as it is mostly among the largest.
__device__ inline void insert(NearList& list, Word key) {
    for (int end = list.size;; end -= kWarpLanes) {
        const int at = end - 1 - lane_id();
        const Word other = at >= 0 ? list.keys[at] : 0;
        const bool is_above = at >= 0 && other > key;
        const unsigned above = __ballot_sync(kAllLanes, is_above);
        __syncwarp();
        if (is_above) list.keys[at + 1] = other;
        __syncwarp();
        if (above == kAllLanes) continue;
        if (lane_id() == 0) list.keys[end - __popc(above)] = key;
        break;
    }
    ++list.size;
    __syncwarp();
}

// Drops the anchors before `first`.
__device__ inline void drop(NearList& list, int first) {
    int kept = 0;
    for (int base = 0; base < list.size; base += kWarpLanes) {
        const int at = base + lane_id();
        const Word key = at < list.size ? list.keys[at] : 0;
        const bool stays = at < list.size && (int)(unsigned)key >= first;
        const unsigned staying = __ballot_sync(kAllLanes, stays);
        __syncwarp();
        if (stays) list.keys[kept + __popc(staying & lower_lanes())] = key;
        kept += __popc(staying);
        __syncwarp();
    }
    list.size = kept;
}

// What the rule of skipping makes of 32 candidates, the first in the lowest lane: marked ones add
// to `skipped`, new best ones take from it. Returns the lanes up to where it exceeds the most.
__device__ inline unsigned lanes_before_stop(
    unsigned marked, unsigned improving, int most, int& skipped
) {
    if (!improving && skipped + __popc(marked) <= most) {
        skipped += __popc(marked);
        return kAllLanes;
    }
    for (unsigned events = marked | improving; events; events &= events - 1) {
        const unsigned event = events & -events;
        if (improving & event) {
            skipped = max(skipped - 1, 0);
        } else if (++skipped > most) {
            return event - 1;
        }
    }
    return kAllLanes;
}

// Looks through the near candidates one by one, as far as order matters, from the nearest in the
// read on.
__device__ inline Best search_near(
    const JoinedRead& read, const NearList& list, int i, Word x, Word y, int first,
    const JoinRules& rules, Best best
) {
    const int position = query_position(y);
    const int least = position - rules.inner_distance;
    int skipped = 0;
    for (int end = list.size; end > 0; end -= kWarpLanes) {
        const int at = end - 1 - lane_id();
        const Word key = at >= 0 ? list.keys[at] : 0;
        const int here = (int)(key >> 32), j = (int)(unsigned)key;
        const bool is_far = at < 0 || here < least;
        bool counts = !is_far && here < position && j >= first;
        int score = 0, predecessor = -1;
        if (counts) {
            const Link step = link(x, y, read.x[j], read.y[j], rules);
            counts = step.difference <= rules.bandwidth;
            score = read.scores[j] + step.gain;
            predecessor = read.predecessors[j];
        }
        // Only candidates that come later can be marked here.
        if (counts && predecessor >= 0) read.marks[predecessor] = i;
        __syncwarp();
        const bool is_marked = counts && read.marks[j] == i;
        const unsigned marked = __ballot_sync(kAllLanes, is_marked);
        unsigned improving = 0;
        if (__any_sync(kAllLanes, counts && score > best.score)) {
            const int highest = lanes_max(counts ? max(score, best.score) : best.score);
            int before = __shfl_up_sync(kAllLanes, highest, 1);
            if (lane_id() == 0) before = best.score;
            improving = __ballot_sync(kAllLanes, highest > before);
        }
        const unsigned valid =
            lanes_before_stop(marked, improving, rules.max_skip, skipped);
        if (improving & valid) {
            const int lane = 31 - __clz(improving & valid);
            best.score = __shfl_sync(kAllLanes, score, lane);
            best.predecessor = __shfl_sync(kAllLanes, j, lane);
        }
        if (valid != kAllLanes || __any_sync(kAllLanes, is_far)) break;
    }
    return best;
}

// Scores of all anchors of a read; by a warp.
__device__ inline void score_read(
    const JoinedRead& read, NearList list, int count, const JoinRules& rules
) {
    int first = 0, near_first = 0;  // of the candidates
    int visible = 0;                // behind the last candidate: all before have a smaller x
    Block block{kNoRank, 0, 0};
    Word lane_x = 0, lane_y = 0;
    for (int i = 0; i < count; ++i) {
        const int turn = i % kWarpLanes;
        if (turn == 0) {
            if (i + lane_id() < count) {
                lane_x = read.x[i + lane_id()];
                lane_y = read.y[i + lane_id()];
            }
        }
        const Word x = __shfl_sync(kAllLanes, lane_x, turn);
        const Word y = __shfl_sync(kAllLanes, lane_y, turn);
        if (visible < i && read.x[visible] != x) {
            for (; visible < i; ++visible) {
                insert(list, near_key(query_position(read.y[visible]), visible));
            }
        }
        first = window_begin(read.x, first, visible, x, rules.max_distance);
        first = max(first, visible - rules.most_candidates);
        near_first = window_begin(read.x, near_first, visible, x, rules.inner_distance);
        near_first = max(near_first, visible - rules.most_candidates);
        if (list.size > 2 * (visible - near_first) + kListSlack) drop(list, near_first);

        Best best = {span_of(y), -1};
        const int position = query_position(y);
        bool searches = false;
        const int j = first < visible
            ? best_ranked(read, first, visible, position, rules.max_distance) : -1;
        if (j >= 0) {
            const Link step = link(x, y, read.x[j], read.y[j], rules);
            const int score = read.scores[j] + step.gain;
            if (step.difference <= rules.bandwidth && score > best.score) best = {score, j};
            searches = !step.is_exact;
        }
        if (searches) best = search_near(read, list, i, x, y, near_first, rules, best);
        const double place = (double)((long long)(int)x + position);
        const long long rank = __double_as_longlong(
            __dadd_rn((double)best.score, __dmul_rn(rules.half_slope, place)));
        if (turn == 0) block = {rank, position, position};
        block = {max(block.rank, rank), min(block.lowest, position), max(block.highest, position)};
        if (lane_id() == 0) {
            read.scores[i] = best.score;
            read.predecessors[i] = best.predecessor;
            read.marks[i] = -1;
            read.ranks[i] = rank;
            read.blocks[i / kWarpLanes] = block;
        }
        __syncwarp();
    }
}

}  // namespace

// Best chains that end at each anchor of the reads to be joined; a warp a read. The blocks of 32
// anchors of a read begin at `offsets[read] / 32 + read`, so that those of no two reads meet.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock, 8) score_joined(
    const Word* x, const Word* y, long long anchors, const long long* offsets, int reads,
    const long long* order, int* taken, int one, int max_distance, int inner_distance,
    int most_candidates, int bandwidth, const unsigned short* penalties, double half_slope,
    int max_skip, int* scores, int* predecessors, int* marks, long long* ranks, Word* near_keys,
    long long* blocks, long long block_count
) {
    const JoinRules rules{max_distance, inner_distance, most_candidates, bandwidth, max_skip,
                          half_slope, penalties};
    WorkQueue queue{order, taken, reads};
    for (int number; (number = queue.next()) >= 0;) {
        const long long begin = offsets[number];
        const JoinedRead read{x + begin, y + begin, scores + begin, predecessors + begin,
                              marks + begin, ranks + begin,
                              (Block*)blocks + begin / kWarpLanes + number};
        score_read(read, {near_keys + begin, 0}, (int)(offsets[number + 1] - begin), rules);
    }
}

// Chains and anchors of each read after the join; a thread a read.
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

// Chains of a batch, as in hapgpu/chaining/batches.py.
struct ChainArrays {
    const Word* x;
    const Word* y;
    const long long* anchor_offsets;
    const int* scores;
    const long long* offsets;
};

}  // namespace

// Takes the chains of each read from where they are valid now; a warp a read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) merge_chains(
    const Word* x, const Word* y, long long anchors, const long long* anchor_offsets,
    const int* scores, int chains, const long long* offsets, int reads,
    const long long* joined_offsets, const Word* joined_x, const Word* joined_y,
    long long joined_anchors, const long long* joined_anchor_offsets, const int* joined_scores,
    int joined_chains, const long long* joined_chain_offsets, const long long* merged_offsets,
    const long long* merged_begins, Word* merged_x, Word* merged_y, long long merged_anchors,
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
        const long long begin = from.anchor_offsets[first], target = merged_begins[read];
        for (long long k = lane_id(); k < merged_offsets[read + 1] - to; k += kWarpLanes) {
            merged_anchor_offsets[to + k] = from.anchor_offsets[first + k] - begin + target;
            merged_scores[to + k] = from.scores[first + k];
        }
        for (long long k = lane_id(); k < merged_begins[read + 1] - target; k += kWarpLanes) {
            merged_x[target + k] = from.x[begin + k];
            merged_y[target + k] = from.y[begin + k];
        }
    }
}
