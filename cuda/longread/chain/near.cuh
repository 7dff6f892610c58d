// Near predecessors of an anchor in the long join: all within a short distance, the nearest in the
// read first.

#include "longread/chain/join_anchors.cuh"

constexpr int kMaxOutdated = 64;  // keys out of reach before they are dropped
constexpr int kMoves = 4;         // moves of 32 keys at a time

// Largest value of this lane and the lower ones.
__device__ inline int lanes_max(int value) {
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        const int lower = __shfl_up_sync(kAllLanes, value, distance);
        if (lane_id() >= distance) value = max(value, lower);
    }
    return value;
}

// Candidates near the current anchor on the reference, ascending by position in the read and index;
// some may be out of reach by now.
struct NearList {
    Word *shared_keys, *far_keys;
    Word* keys;  // one of the two
    int size;
    Word highest;  // of all keys so far

    __device__ void move(Word* to) {
        for (int at = lane_id(); at < size; at += kWarpLanes) to[at] = keys[at];
        keys = to;
        __syncwarp();
    }

    // Number of keys below `key`; by a 32-ary search, except in a read without repeats.
    __device__ int count_below(Word key) const {
        if (key > highest) return size;
        int start = 0;
        for (int remaining = size; remaining > 0;) {
            const int stride = (remaining + kWarpLanes - 1) / kWarpLanes;
            const int offset = (lane_id() + 1) * stride - 1;
            const bool is_below = offset < remaining && keys[start + offset] < key;
            const int below = __popc(__ballot_sync(kAllLanes, is_below)) * stride;
            start += below;
            remaining = min(remaining - below, stride - 1);
        }
        return start;
    }

    __device__ void insert(Word key) {
        if (keys == shared_keys && size == kNearKeys) move(far_keys);
        const int row = count_below(key);
        for (int end = size; end > row; end -= kMoves * kWarpLanes) {
            Word moved[kMoves];
#pragma unroll
            for (int k = 0; k < kMoves; ++k) {
                const int at = end - 1 - k * kWarpLanes - lane_id();
                moved[k] = at >= row ? keys[at] : 0;
            }
            __syncwarp();
#pragma unroll
            for (int k = 0; k < kMoves; ++k) {
                const int at = end - 1 - k * kWarpLanes - lane_id();
                if (at >= row) keys[at + 1] = moved[k];
            }
        }
        __syncwarp();
        if (lane_id() == 0) keys[row] = key;
        ++size;
        highest = max(highest, key);
        __syncwarp();
    }

    // Drops the anchors before `first`.
    __device__ void drop(int first) {
        int kept = 0;
        for (int base = 0; base < size; base += kWarpLanes) {
            const int at = base + lane_id();
            const Word key = at < size ? keys[at] : 0;
            const bool stays = at < size && (int)(unsigned)key >= first;
            const unsigned staying = __ballot_sync(kAllLanes, stays);
            if (stays) keys[kept + __popc(staying & lower_lanes())] = key;
            kept += __popc(staying);
            __syncwarp();
        }
        size = kept;
        if (keys == far_keys && size <= kNearKeys / 2) move(shared_keys);
    }
};

__device__ inline Word near_key(int position, int index) { return (Word)position << 32 | index; }

// The lanes whose candidates improve on the best score and on those of all lower lanes.
__device__ inline unsigned improving_lanes(bool is_candidate, int score, int best_score) {
    if (!__any_sync(kAllLanes, is_candidate && score > best_score)) return 0;
    const int highest = lanes_max(is_candidate ? max(score, best_score) : best_score);
    int before = __shfl_up_sync(kAllLanes, highest, 1);
    if (lane_id() == 0) before = best_score;
    return __ballot_sync(kAllLanes, highest > before);
}

// Applies the rule of skipping to 32 candidates, the first in the lowest lane: a marked candidate
// adds 1 to `skipped`, an improvement subtracts 1. Returns the lanes before `skipped` exceeds
// `max_skip`.
__device__ inline unsigned visited_lanes(
    unsigned marked, unsigned improving, int max_skip, int& skipped
) {
    if (!improving && skipped + __popc(marked) <= max_skip) {
        skipped += __popc(marked);
        return kAllLanes;
    }
    for (unsigned events = marked | improving; events; events &= events - 1) {
        const unsigned event = events & -events;
        if (improving & event) {
            skipped = max(skipped - 1, 0);
        } else if (++skipped > max_skip) {
            return event - 1;
        }
    }
    return kAllLanes;
}

// The best chain so far that ends at an anchor.
struct Best {
    int score, predecessor;
};

// Visits the near candidates from `first` on, from the nearest in the read on: 32 at a time, with
// the same result as one by one.
__device__ inline Best search_near(
    const JoinArrays& arrays, Recent& recent, const NearList& list, int i, unsigned x, int position,
    int first, const CachedJoinParameters& parameters, Best best
) {
    const bool is_recent = i - first < kRecent;
    const Node* nodes = is_recent ? recent.nodes : arrays.nodes;
    int* marks = is_recent ? recent.marks : arrays.marks;
    const unsigned index_mask = is_recent ? kRecent - 1 : ~0u;  // mask of an index
    const int min_position = position - parameters.inner_distance;
    int skipped = 0;
    for (int end = list.count_below(near_key(position, 0)); end > 0; end -= kWarpLanes) {
        const int at = end - 1 - lane_id();
        const Word key = at >= 0 ? list.keys[at] : 0;
        const int candidate_position = (int)(key >> 32), j = (int)(unsigned)key;
        const bool is_far = at < 0 || candidate_position < min_position;
        bool is_candidate = !is_far && j >= first;
        int score = 0, predecessor = -1;
        if (is_candidate) {
            const Node node = nodes[j & index_mask];
            const Step step = step_between(node, candidate_position, x, position, parameters);
            is_candidate = step.difference <= parameters.bandwidth;
            score = node.score + step.gain;
            predecessor = node.predecessor;
        }
        // Only candidates visited later can be marked here.
        if (is_candidate && predecessor >= first) marks[predecessor & index_mask] = i;
        __syncwarp();
        const bool is_marked = is_candidate && marks[j & index_mask] == i;
        const unsigned marked = __ballot_sync(kAllLanes, is_marked);
        const unsigned improving = improving_lanes(is_candidate, score, best.score);
        const unsigned valid = visited_lanes(marked, improving, parameters.max_skip, skipped);
        if (improving & valid) {
            const int lane = 31 - __clz(improving & valid);
            best.score = __shfl_sync(kAllLanes, score, lane);
            best.predecessor = __shfl_sync(kAllLanes, j, lane);
        }
        if (valid != kAllLanes || __any_sync(kAllLanes, is_far)) break;
    }
    return best;
}
