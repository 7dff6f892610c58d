// Far predecessor of an anchor in the long join: the anchor of the highest rank within reach.

#include "longread/chain/join_anchors.cuh"

constexpr long long kNoRank = -1;  // lower than the rank of every priority

// Rank of an anchor: the bits of its priority, a positive double.
__device__ inline long long rank_of(int score, int x, int position, double half_slope) {
    const double sum = (double)((long long)x + position);
    return __double_as_longlong(__dadd_rn((double)score, __dmul_rn(half_slope, sum)));
}

__device__ inline long long warp_max(long long value) {
    const int high = warp_max((int)(value >> 32));
    // The unsigned lower half as a signed number in descending order.
    const int descending = (int)((unsigned)value ^ 0x7fffffffu);
    const int least = warp_min((int)(value >> 32) == high ? descending : 0x7fffffff);
    return (long long)high << 32 | ((unsigned)least ^ 0x7fffffffu);
}

// First anchor within a distance before the current one. Lanes hold the x of 32 anchors, as the
// first anchor moves little from one anchor to the next.
struct Window {
    const Word* x;
    int count;
    Word distance;
    int base;
    Word lane_x;

    __device__ Window(const Word* all_x, int anchors, int max_distance)
        : x(all_x), count(anchors), distance(max_distance), base(0) {
        load();
    }

    __device__ void load() { lane_x = base + lane_id() < count ? x[base + lane_id()] : ~0ull; }

    // At most the current anchor.
    __device__ int start(Word here) {
        while (true) {
            const bool is_near = lane_x >= here || here - lane_x <= distance;
            const unsigned near = __ballot_sync(kAllLanes, is_near);
            if (near) return base + __ffs(near) - 1;
            base += kWarpLanes;
            load();
        }
    }
};

// 32 bins of the read, from the lowest position of a segment to the highest.
struct QueryBins {
    int lowest, shift;

    __device__ int bin_of(int position) const { return (position - lowest) >> shift; }
};

__device__ inline QueryBins query_bins(const Word* y, int count) {
    int lowest = query_position(y[0]), highest = lowest;
    for (int at = lane_id(); at < count; at += kWarpLanes) {
        lowest = min(lowest, query_position(y[at]));
        highest = max(highest, query_position(y[at]));
    }
    lowest = warp_min(lowest);
    highest = warp_max(highest);
    const int bits = 32 - __clz(highest - lowest);
    return {lowest, max(bits - 5, 0)};
}

// The last, incomplete block of 32 anchors; one anchor per lane.
struct NewestBlock {
    int start;
    int position;
    long long rank;
};

// The highest rank up to each bin of the read, one bin per lane: in a block of 32 anchors, and in
// all anchors so far. The values of complete blocks are stored by bin and block.
struct Ceilings {
    long long *of_blocks, *of_all;
    int blocks;
    QueryBins bins;
    long long newest, all;
    long long complete_all;  // of all anchors in complete blocks

    __device__ void add(int position, long long rank) {
        if (lane_id() >= bins.bin_of(position)) {
            newest = max(newest, rank);
            all = max(all, rank);
        }
    }

    __device__ void complete(int block) {
        of_blocks[(long long)lane_id() * blocks + block] = newest;
        of_all[(long long)lane_id() * blocks + block] = all;
        newest = kNoRank;
        complete_all = all;
    }
};

// The anchor of the highest rank, the first of ties.
struct Choice {
    long long rank;
    int index;

    // Considers one anchor per lane, the first anchor in the lowest lane.
    __device__ void consider(long long lane_rank, int base) {
        const long long highest = warp_max(lane_rank);
        if (highest == kNoRank || highest < rank) return;
        const unsigned lanes = __ballot_sync(kAllLanes, lane_rank == highest);
        const int first = base + __ffs(lanes) - 1;
        index = highest == rank ? min(index, first) : first;
        rank = highest;
    }
};

// Anchors that may be the far predecessor of the current one.
struct Reach {
    int start, end;
    long long min_position;  // in the read, exclusive
    int max_position;        // exclusive
    bool has_equal;          // whether anchor 0 may have the same position as the current one

    __device__ bool holds(int at, int position) const {
        return at >= start && at < end && position > min_position
            && position < max_position + (has_equal && at == 0);
    }
};

// The candidate of the highest rank; -1 if there is none.
__device__ inline int best_ranked(
    const JoinArrays& arrays, const Recent& recent, const Ceilings& ceilings,
    const NewestBlock& newest, const Reach& reach
) {
    Choice best{kNoRank, -1};
    if (reach.end > newest.start) {
        const bool is_candidate = reach.holds(newest.start + lane_id(), newest.position);
        best.consider(is_candidate ? newest.rank : kNoRank, newest.start);
    }
    const int first_block = reach.start / kWarpLanes;
    const int bin = ceilings.bins.bin_of(reach.max_position);
    const long long before = __shfl_sync(kAllLanes, ceilings.complete_all, bin);
    if (before == kNoRank || before < best.rank) return best.index;
    const long long row = (long long)bin * ceilings.blocks;
    const long long* of_blocks = ceilings.of_blocks + row;
    const long long* of_all = ceilings.of_all + row;
    const int last_block = min(newest.start, reach.end + kWarpLanes - 1) / kWarpLanes - 1;
    for (int near = last_block; near >= first_block; near -= kWarpLanes) {
        const int number = near - lane_id();
        long long ceiling = number >= first_block ? of_blocks[number] : kNoRank;
        const long long all = of_all[near];
        if (all == kNoRank || all < best.rank) break;
        while (__any_sync(kAllLanes, ceiling != kNoRank && ceiling >= best.rank)) {
            const long long highest = warp_max(ceiling);
            const int lane = __ffs(__ballot_sync(kAllLanes, ceiling == highest)) - 1;
            if (lane_id() == lane) ceiling = kNoRank;
            const int base = (near - lane) * kWarpLanes, at = base + lane_id();
            const bool is_recent = base >= newest.start + kWarpLanes - kRecent;
            const long long rank = is_recent ? recent.ranks[at % kRecent] : arrays.ranks[at];
            const int position =
                is_recent ? recent.positions[at % kRecent] : query_position(arrays.y[at]);
            best.consider(reach.holds(at, position) ? rank : kNoRank, base);
        }
    }
    return best.index;
}
