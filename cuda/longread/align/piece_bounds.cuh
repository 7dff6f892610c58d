// Bounds of the pieces of a mapping: the limits of its extensions, and its cut points between. Same
// as hapgpu/longread/align/piece_bounds.py. All functions are called by all lanes of a warp.

#include "longread/align/piece_anchors.cuh"

namespace {

// A cut point: positions on the strand of the mapping and in the reference sequence, and the
// anchor, counted from the first one used.
struct Cut {
    int query, target, anchor;
};

// Where the extensions of a mapping end.
struct Limits {
    int query_start, target_start, query_end, target_end;
};

// Bases of the read on the strand of a mapping, and of its reference sequence.
struct MappingBases {
    const unsigned char* query;
    const unsigned char* target;
    long long query_size, target_size;
};

__device__ inline long long query_start(const ReadCodes& reads, const Mapping& mapping) {
    const long long start = reads.starts[mapping.read];
    return mapping.is_reverse ? start + reads.lengths[mapping.read] : start;
}

// Start of the run of equal bases that ends at a position, but not before base `first`.
__device__ inline int run_start(const unsigned char* codes, int position, int first) {
    int start = position;
    while (start > first && codes[start - 1] == codes[position]) --start;
    return start;
}

// Lists the cut points of the first `size` anchors; returns their number. As in minimap2, the last
// homopolymer of a k-mer in a read never starts before base 1, unless the k-mer ends at base 0.
__device__ inline int list_cuts(
    const AnchorRows& anchors, int size, const MappingBases& bases, const Parameters& parameters,
    Cut* cuts
) {
    const int half = parameters.k >> 1, min_piece = parameters.min_piece;
    int count = 0, query_cut = 0, target_cut = 0;
    Word next_x = 0, next_y = 0;
    if (lane_id() < size) {
        next_x = anchors.x[lane_id()];
        next_y = anchors.y[lane_id()];
    }
    for (int base = 0; base < size; base += kWarpLanes) {
        const int anchor = base + lane_id();
        const Word x = next_x, y = next_y;
        if (anchor + kWarpLanes < size) {  // loaded while this round works
            next_x = anchors.x[anchor + kWarpLanes];
            next_y = anchors.y[anchor + kWarpLanes];
        }
        const bool is_end = anchor == 0 || anchor == size - 1;
        const bool is_usable = anchor < size && (is_end || !(y & (kIgnored | kTandem)));
        const bool is_needed = is_end || (y & kLongJoin);
        int query = query_of(y) - half, target = target_of(x) - half;
        if (is_usable && parameters.is_hpc) {
            query = run_start(bases.query, query_of(y), 1);
            target = run_start(bases.target, target_of(x), 0);
        }
        unsigned left = kAllLanes;
        for (;;) {
            const bool is_far = query - query_cut >= min_piece && target - target_cut >= min_piece;
            const bool is_cut = is_usable && (is_needed || is_far);
            const unsigned lanes = __ballot_sync(kAllLanes, is_cut) & left;
            if (!lanes) break;
            const int lane = __ffs(lanes) - 1;
            query_cut = __shfl_sync(kAllLanes, query, lane);
            target_cut = __shfl_sync(kAllLanes, target, lane);
            if (lane_id() == lane) cuts[count] = {query, target, anchor};
            ++count;
            left = ~((2u << lane) - 1);
        }
    }
    return count;
}

constexpr long long kNoLimit = 1ll << 40;

// Distance to the far end of the `min_anchors` + 1 th anchor beyond an end of a mapping; the
// `count` anchors beyond anchor 0, in direction `step`, are of the same read.
__device__ inline long long reach_of_others(
    const AnchorRows& anchors, int step, long long count, int query_end, int target_end,
    int min_anchors
) {
    const Word place = anchors.x[0] >> 32;
    int needed = max(min_anchors, 0);
    for (long long base = 0; base < count; base += kWarpLanes) {
        int query = 0, target = 0;
        bool is_beside = false;
        if (base + lane_id() < count) {
            const long long anchor = step * (base + lane_id() + 1);
            const Word x = anchors.x[anchor], y = anchors.y[anchor];
            is_beside = x >> 32 == place;
            const int before = step < 0 ? span_of(y) : 0;
            query = step * (query_of(y) + 1 - before - query_end);
            target = step * (target_of(x) + 1 - before - target_end);
        }
        const unsigned stops = __ballot_sync(kAllLanes, !is_beside);
        const unsigned visited = stops ? (stops & -stops) - 1 : kAllLanes;
        const bool is_counted =
            is_beside && query > 0 && target > 0 && (visited >> lane_id() & 1);
        const unsigned counted = __ballot_sync(kAllLanes, is_counted);
        if (__popc(counted) > needed) {
            const bool is_last = is_counted && __popc(counted & lower_lanes()) == needed;
            const unsigned last = __ballot_sync(kAllLanes, is_last);
            return __shfl_sync(kAllLanes, max(query, target), __ffs(last) - 1);
        }
        if (stops) break;
        needed -= __popc(counted);
    }
    return kNoLimit;
}

// Bases of the reference for some of the read, with the longest gap that could pay.
__device__ inline long long with_gap(long long length, const Scoring& scoring) {
    const long long score = length * scoring.match;
    if (score <= scoring.gap_open) return length;
    return length + (score - scoring.gap_open) / scoring.gap_extend;
}

// Sets where the extension to lower positions ends. Anchor 0 is the first one of the mapping.
__device__ inline void set_start_limits(
    const AnchorRows& anchors, long long earlier, int query_cut, int target_cut,
    const Parameters& parameters, const Scoring& scoring, Limits& limits
) {
    limits.query_start = query_cut;
    limits.target_start = target_cut;
    if (query_cut == 0 || target_cut == 0) return;
    const int span = anchors.span(0);
    const int query_start = anchors.query(0) + 1 - span;
    const int target_start = max(anchors.target(0) + 1 - span, 0);
    const long long reach = reach_of_others(
        anchors, -1, earlier, query_start, target_start, parameters.min_anchors);
    const long long max_gap = parameters.max_gap;
    const long long query_length = min((long long)query_cut, max_gap);
    const long long target_length =
        min(min(with_gap(query_length, scoring), max_gap), (long long)target_cut);
    const long long query_limit = max(query_start - reach, query_cut - query_length);
    const long long target_limit = max(target_start - reach, target_cut - target_length);
    limits.query_start = (int)min((long long)query_start, query_limit);
    limits.target_start =
        (int)min(min((long long)target_start, target_limit), (long long)target_cut);
}

// Sets where the extension to higher positions ends. Anchor 0 is the last one of the mapping.
__device__ inline void set_end_limits(
    const AnchorRows& anchors, long long later, int query_cut, int target_cut,
    const MappingBases& bases, const Parameters& parameters, const Scoring& scoring,
    Limits& limits
) {
    const int query_end = anchors.query(0) + 1, target_end = anchors.target(0) + 1;
    const long long reach =
        reach_of_others(anchors, 1, later, query_end, target_end, parameters.min_anchors);
    const long long max_gap = parameters.max_gap;
    const long long query_length = min(bases.query_size - query_cut, max_gap);
    const long long target_length =
        min(min(with_gap(query_length, scoring), max_gap), bases.target_size - target_cut);
    const long long query_limit = min(query_end + reach, query_cut + query_length);
    const long long target_limit = min(target_end + reach, target_cut + target_length);
    limits.query_end = (int)max((long long)query_end, query_limit);
    limits.target_end = (int)max((long long)target_end, target_limit);
}

}  // namespace
