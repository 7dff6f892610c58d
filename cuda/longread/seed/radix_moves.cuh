// Moves of elements to their buckets, in the order of a single thread: one cycle at a time, each
// from the first incomplete bucket back to it.

#include "longread/seed/radix_buckets.cuh"

// Walk of one lane along the cycles. A cycle starts and ends in the first bucket with elements
// left; a lifted element belongs to the bucket from which the next element is lifted.
struct CycleWalk {
    int first;  // the bucket in which cycles start
    int next;   // the bucket to lift from
    int start;  // row where the cycle started, its last element goes there; -1: no element lifted

    __device__ bool is_at_start() const { return next == first && next < kBuckets; }

    // Lifts at most 32 elements, fewer if a digit is not known yet, or before some elements that are
    // in place; none only at the end, or if such elements come first.
    __device__ int lift(RadixScratch& scratch) {
        int count = 0;
        while (count < kWarpLanes && next < kBuckets) {
            const RadixBucket bucket = scratch.buckets[next];
            if (bucket.digits == kNoDigits) {
                if (bucket.head < bucket.end) break;
                next = first = next_filled(scratch, first + 1);
                continue;
            }
            if (next == first && starts_in_place(bucket, first)) break;
            scratch.buckets[next].head = bucket.head + 1;
            scratch.buckets[next].digits = bucket.digits >> kDigitBits;
            scratch.sources[count] = bucket.head;
            scratch.targets[count] = next == first ? start : bucket.head;
            scratch.visited[count] = static_cast<unsigned char>(next);
            if (next == first) start = bucket.head;
            next = static_cast<int>(bucket.digits) & (kBuckets - 1);
            ++count;
        }
        return count;
    }
};

// Skips the elements at the head of a bucket that are in place. By all lanes; returns whether there
// are any.
__device__ inline bool skip_in_place(
    const unsigned long long* keys, int shift, int number, RadixScratch& scratch
) {
    RadixBucket& bucket = scratch.buckets[number];
    const int start = bucket.head, end = bucket.end;
    int head = start, run = kWarpLanes;
    while (run == kWarpLanes) {
        const int i = head + lane_id();
        const bool is_in_place = i < end && key_digit(keys[i], shift) == number;
        const unsigned others = __ballot_sync(kAllLanes, !is_in_place);
        run = others ? __ffs(others) - 1 : kWarpLanes;
        head += run;
    }
    if (head == start) return false;
    __syncwarp();  // all have read the bucket
    if (lane_id() == 0) {
        bucket.head = head;
        bucket.digits = kNoDigits;
        look_ahead(keys, shift, bucket);
    }
    __syncwarp();
    return true;
}

// Moves elements to their buckets, one cycle at a time.
__device__ inline void permute_cycles(RadixPairs pairs, int shift, RadixScratch& scratch) {
    const int first = next_filled(scratch, 0);
    CycleWalk walk{first, first, -1};
    unsigned long long lifted_key = 0;  // of the last lifted element
    unsigned lifted_value = 0;
    while (true) {
        int at = lane_id() == 0 && walk.is_at_start() ? walk.first : kBuckets;
        at = __shfl_sync(kAllLanes, at, 0);
        if (at < kBuckets && skip_in_place(pairs.keys, shift, at, scratch)) {
            if (lane_id() == 0 && walk.start >= 0) {
                pairs.keys[walk.start] = lifted_key;
                pairs.values[walk.start] = lifted_value;
                walk.start = -1;
            }
        }
        int count = lane_id() == 0 ? walk.lift(scratch) : 0;
        count = __shfl_sync(kAllLanes, count, 0);
        __syncwarp();
        if (count == 0) {
            if (__shfl_sync(kAllLanes, walk.next, 0) == kBuckets) break;
            continue;  // the next bucket starts with elements in place
        }
        unsigned long long key = 0;
        unsigned value = 0;
        int bucket = kBuckets + lane_id(), target = -1;
        if (lane_id() < count) {
            key = pairs.keys[scratch.sources[lane_id()]];
            value = pairs.values[scratch.sources[lane_id()]];
            target = scratch.targets[lane_id()];
            bucket = scratch.visited[lane_id()];
        }
        const unsigned same = __match_any_sync(kAllLanes, bucket);
        if (bucket < kBuckets && __ffs(same) - 1 == lane_id()) {
            look_ahead(pairs.keys, shift, scratch.buckets[bucket]);
        }
        unsigned long long dropped_key = __shfl_up_sync(kAllLanes, key, 1);
        unsigned dropped_value = __shfl_up_sync(kAllLanes, value, 1);
        if (lane_id() == 0) {
            dropped_key = lifted_key;
            dropped_value = lifted_value;
        }
        __syncwarp();  // all are lifted before any is dropped
        if (target >= 0) {
            pairs.keys[target] = dropped_key;
            pairs.values[target] = dropped_value;
        }
        lifted_key = __shfl_sync(kAllLanes, key, count - 1);
        lifted_value = __shfl_sync(kAllLanes, value, count - 1);
        __syncwarp();
    }
    if (lane_id() == 0 && walk.start >= 0) {
        pairs.keys[walk.start] = lifted_key;
        pairs.values[walk.start] = lifted_value;
    }
    __syncwarp();
}

// The same for two buckets, whose cycles are known to all lanes: they swap the strays of the first
// bucket with the strays of the second, in turn, and elements between two strays of the second move
// on by one row.
__device__ inline void permute_two(RadixPairs pairs, int shift, RadixScratch& scratch) {
    const unsigned lower_lanes = (1u << lane_id()) - 1;
    const int low = next_filled(scratch, 0), high = next_filled(scratch, low + 1);
    const int middle = scratch.buckets[high].head, end = scratch.buckets[high].end;
    int scanned = scratch.buckets[low].head;
    __syncwarp();  // the values read before are overwritten from here on
    int listed = 0, swapped = 0;  // strays of the first bucket
    unsigned starts = 1;  // whether a stray is dropped at the first row of this round
    unsigned long long last_key = 0;  // of the previous round
    unsigned last_value = 0;
    for (int base = middle;; base += kWarpLanes) {
        while (scanned < middle && listed - swapped <= kWarpLanes) {
            const int i = scanned + lane_id();
            const bool is_stray = i < middle && key_digit(pairs.keys[i], shift) == high;
            const unsigned strays = __ballot_sync(kAllLanes, is_stray);
            if (is_stray) {
                scratch.strays[(listed + __popc(strays & lower_lanes)) % kMaxStrays] = i;
            }
            listed += __popc(strays);
            scanned += kWarpLanes;
        }
        if (swapped == listed) break;
        __syncwarp();

        const int i = base + lane_id();
        const unsigned long long key = i < end ? pairs.keys[i] : 0;
        const unsigned value = i < end ? pairs.values[i] : 0;
        const bool is_stray = i < end && key_digit(key, shift) == low;
        const unsigned strays = __ballot_sync(kAllLanes, is_stray);
        const int rank = swapped + __popc(strays & lower_lanes);
        const bool moves = i < end && rank < listed;
        const int partner = moves ? scratch.strays[rank % kMaxStrays] : 0;
        unsigned long long dropped_key = __shfl_up_sync(kAllLanes, key, 1);
        unsigned dropped_value = __shfl_up_sync(kAllLanes, value, 1);
        if (lane_id() == 0) {
            dropped_key = last_key;
            dropped_value = last_value;
        }
        if (moves && ((strays << 1 | starts) >> lane_id() & 1)) {
            dropped_key = pairs.keys[partner];
            dropped_value = pairs.values[partner];
        }
        __syncwarp();  // all are lifted before any is dropped
        if (moves) {
            pairs.keys[i] = dropped_key;
            pairs.values[i] = dropped_value;
        }
        if (moves && is_stray) {
            pairs.keys[partner] = key;
            pairs.values[partner] = value;
        }
        last_key = __shfl_sync(kAllLanes, key, kWarpLanes - 1);
        last_value = __shfl_sync(kAllLanes, value, kWarpLanes - 1);
        starts = strays >> (kWarpLanes - 1);
        swapped += __popc(strays);
        __syncwarp();
    }
    __syncwarp();
}
