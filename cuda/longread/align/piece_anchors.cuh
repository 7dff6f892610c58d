// Anchors of a mapping, and the unreliable ones, which become no cut points: same as
// hapgpu/longread/align/piece_anchors.py. All functions are called by all lanes of a warp.

#include "common/grid.cuh"
#include "longread/align/rows.cuh"

namespace {

using Word = unsigned long long;

// Flags in `y`.
constexpr Word kLongJoin = 1ull << 40, kIgnored = 1ull << 41, kTandem = 1ull << 42;

__device__ inline int query_of(Word y) { return (int)y; }
__device__ inline int target_of(Word x) { return (int)x; }
__device__ inline int span_of(Word y) { return (int)(y >> 32) & 0xff; }

// Anchors from some row on; rows before it have negative numbers.
struct AnchorRows {
    const Word* x;
    Word* y;

    __device__ AnchorRows from(int anchor) const { return {x + anchor, y + anchor}; }
    __device__ int query(int anchor) const { return query_of(y[anchor]); }
    __device__ int target(int anchor) const { return target_of(x[anchor]); }
    __device__ int span(int anchor) const { return span_of(y[anchor]); }

    // Bases inserted between an anchor and the one before; negative if deleted.
    __device__ int gap_before(int anchor) const {
        return query(anchor) - query(anchor - 1) - (target(anchor) - target(anchor - 1));
    }
};

// Number of unreliable anchors at an end of a mapping. Its `count` anchors besides both ends are
// visited from anchor `start` on in direction `step`; `span` is the span of the anchor at the end.
__device__ inline int unreliable_anchors(
    const AnchorRows& anchors, int start, int step, int count, int span, int matches,
    const Parameters& parameters
) {
    const long long min_length = 2ll * parameters.bandwidth;
    const long long min_matched =
        max(2ll * parameters.min_chain_score, (long long)parameters.bandwidth);
    const long long enough = min(min_matched, (long long)(matches >> 1));
    long long length = span, matched = span;
    int unreliable = 0;
    for (int base = 0; base < count; base += kWarpLanes) {
        const bool exists = base + lane_id() < count;
        int shorter = 0, longer = 0, own_matched = 0;
        bool is_visited = false;
        if (exists) {
            const int anchor = start + step * (base + lane_id());
            const Word y = anchors.y[anchor];
            const int query = query_of(y) - anchors.query(anchor - 1);
            const int target = anchors.target(anchor) - anchors.target(anchor - 1);
            shorter = min(query, target);
            longer = max(query, target);
            own_matched = min(shorter, span_of(y));
            is_visited = !(y & kLongJoin);
        }
        const long long length_after = length + sum_to_lane(shorter);
        const long long matched_after = matched + sum_to_lane(own_matched);
        // An anchor with a flag is not visited; the one that makes the length enough is.
        const unsigned stops = __ballot_sync(kAllLanes, !is_visited);
        const unsigned ends =
            __ballot_sync(kAllLanes, length_after >= min_length || matched_after >= enough);
        const int visited =
            min(stops ? __ffs(stops) - 1 : kWarpLanes, ends ? __ffs(ends) : kWarpLanes);
        const bool is_beyond_gap =
            lane_id() < visited && longer - shorter > (length_after - shorter) >> 1;
        const unsigned beyond = __ballot_sync(kAllLanes, is_beyond_gap);
        if (beyond) unreliable = base + kWarpLanes - __clz(beyond);
        if (stops | ends) break;
        length = __shfl_sync(kAllLanes, length_after, kWarpLanes - 1);
        matched = __shfl_sync(kAllLanes, matched_after, kWarpLanes - 1);
    }
    return unreliable;
}

// Sets `kIgnored` for the anchors `first` to `end`.
__device__ inline void ignore(const AnchorRows& anchors, int first, int end) {
    for (int anchor = first + lane_id(); anchor < end; anchor += kWarpLanes) {
        anchors.y[anchor] |= kIgnored;
    }
    __syncwarp();  // other lanes may set another flag of these anchors
}

constexpr int kMinGap = 10, kMinCancelled = 40, kMaxSteps = 10, kMinLongGap = 30;

// Lists the anchors after gaps longer than `kMinGap`; returns their number.
__device__ inline int list_gapped(const AnchorRows& anchors, int size, int* gapped) {
    constexpr int kUnrolled = 8;  // loads at a time, without branches: they take longest
    int count = 0;
    for (int base = 1; base < size; base += kUnrolled * kWarpLanes) {
        int gaps[kUnrolled];
        for (int k = 0; k < kUnrolled; ++k) {
            gaps[k] = anchors.gap_before(min(base + k * kWarpLanes + lane_id(), size - 1));
        }
        for (int k = 0; k < kUnrolled; ++k) {
            const int anchor = base + k * kWarpLanes + lane_id();
            const bool is_gapped = anchor < size && abs(gaps[k]) > kMinGap;
            const unsigned lanes = __ballot_sync(kAllLanes, is_gapped);
            if (is_gapped) gapped[count + __popc(lanes & lower_lanes())] = anchor;
            count += __popc(lanes);
        }
    }
    __syncwarp();
    return count;
}

// Keeps the listed anchors after gaps longer than `kMinLongGap`; returns their number.
__device__ inline int keep_long_gaps(const AnchorRows& anchors, int* gapped, int count) {
    int kept = 0;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int k = base + lane_id();
        const int anchor = k < count ? gapped[k] : 0;
        const bool is_long = k < count && abs(anchors.gap_before(anchor)) > kMinLongGap;
        // After this, all lanes have read the elements that some overwrite.
        const unsigned lanes = __ballot_sync(kAllLanes, is_long);
        __syncwarp();
        if (is_long) gapped[kept + __popc(lanes & lower_lanes())] = anchor;
        kept += __popc(lanes);
    }
    __syncwarp();
    return kept;
}

// The most bases that gaps from some gap on cancel, and the last of these gaps.
struct Cancelled {
    long long bases;
    int last;
};

// Called by single lanes.
__device__ inline Cancelled most_cancelled(
    const AnchorRows& anchors, const int* gapped, int count, int k, int reach
) {
    const int start = gapped[k] - 1;
    const long long max_query = (long long)anchors.query(start) + reach;
    const long long max_target = (long long)anchors.target(start) + reach;
    int gap = anchors.gap_before(gapped[k]);
    long long inserted = max(gap, 0), deleted = max(-gap, 0);
    Cancelled best{0, 0};
    const int end = min(k + kMaxSteps + 1, count);
    for (int other = k + 1; other < end; ++other) {
        const int anchor = gapped[other];
        if (anchors.query(anchor) > max_query || anchors.target(anchor) > max_target) break;
        gap = anchors.gap_before(anchor);
        inserted += max(gap, 0);
        deleted += max(-gap, 0);
        const long long cancelled = 2 * min(inserted, deleted);
        if (cancelled > best.bases) best = {cancelled, other};
    }
    return best;
}

// Ignores the anchors between insertions and deletions that cancel each other. Of ranges that
// begin within one another, the one that cancels most is ignored.
__device__ inline void ignore_cancelling(
    const AnchorRows& anchors, const int* gapped, int count, int reach
) {
    long long best = 0;
    int first = 0, end = 0;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int own = base + lane_id();
        Cancelled cancelled{0, 0};
        if (own < count) cancelled = most_cancelled(anchors, gapped, count, own, reach);
        unsigned lanes = __ballot_sync(kAllLanes, cancelled.bases > kMinCancelled);
        // Other gaps change nothing but the time at which the range before them is ignored.
        for (; lanes; lanes &= lanes - 1) {
            const int lane = __ffs(lanes) - 1;
            if (base + lane >= end) {
                if (end > 0) ignore(anchors, gapped[first], gapped[end]);
                best = first = end = 0;
            }
            const long long bases = __shfl_sync(kAllLanes, cancelled.bases, lane);
            const int last = __shfl_sync(kAllLanes, cancelled.last, lane);
            if (bases > best) {
                best = bases;
                first = base + lane;
                end = last;
            }
        }
    }
    if (end > 0) ignore(anchors, gapped[first], gapped[end]);
}

// Whether the gaps before two anchors are longer than the match between the gaps.
__device__ inline bool are_joined(const AnchorRows& anchors, int one, int other, int reach) {
    const int target = anchors.target(one), query = anchors.query(one);
    if (anchors.query(other) - query > reach || anchors.target(other) - target > reach) {
        return false;
    }
    const int span = anchors.span(other - 1);
    const int matched_target = anchors.target(other - 1) + span - target;
    const int matched_query = anchors.query(other - 1) + span - query;
    const long long gaps =
        (long long)abs(anchors.gap_before(one)) + abs(anchors.gap_before(other));
    return min(matched_target, matched_query) <= gaps;
}

// Ignores the anchors between long gaps that are longer than what matches between them. The anchor
// after the last of these gaps gets `kLongJoin`.
__device__ inline void ignore_between_long(
    const AnchorRows& anchors, const int* gapped, int count, int reach
) {
    for (int base = 1; base < count; base += kWarpLanes) {
        const int k = base + lane_id();
        const int before = k < count ? gapped[k - 1] : 0, anchor = k < count ? gapped[k] : 0;
        const bool is_joined = k < count && are_joined(anchors, before, anchor, reach);
        const bool is_last = is_joined
            && (k + 1 == count || !are_joined(anchors, anchor, gapped[k + 1], reach));
        unsigned lanes = __ballot_sync(kAllLanes, is_joined);
        for (; lanes; lanes &= lanes - 1) {
            const int lane = __ffs(lanes) - 1;
            const int first = __shfl_sync(kAllLanes, before, lane);
            ignore(anchors, first, __shfl_sync(kAllLanes, anchor, lane));
        }
        if (is_last) anchors.y[anchor] |= kLongJoin;
        __syncwarp();
    }
}

// Sets `kIgnored` and `kLongJoin` for the first `size` anchors. `gapped` has space for them.
__device__ inline void mark_bad_seeds(
    const AnchorRows& anchors, int size, int max_gap, int* gapped
) {
    const int reach = max_gap / 2;
    int count = list_gapped(anchors, size, gapped);
    if (count < 2) return;
    ignore_cancelling(anchors, gapped, count, reach);
    count = keep_long_gaps(anchors, gapped, count);
    if (count > 1) ignore_between_long(anchors, gapped, count, reach);
}

}  // namespace
