// Buckets of elements by one byte (digit) of their keys: sizes and bounds.

#include "common/warp.cuh"

constexpr int kDigitBits = 8;
constexpr int kBuckets = 1 << kDigitBits;
constexpr int kInsertionSize = 64;
constexpr int kRadixWindow = 4 * kInsertionSize;  // three blocks are in use; a power of two is fast
constexpr int kDigitsAhead = 7;
constexpr int kMaxStrays = 2 * kWarpLanes;

// Digits of the next elements of a bucket, from the low bits up; a 1 follows the last digit.
using DigitQueue = unsigned long long;
constexpr DigitQueue kNoDigits = 1;

struct alignas(16) RadixBucket {
    int head, end;  // elements not lifted yet
    DigitQueue digits;
};

// Working memory of one warp, in shared memory.
union RadixScratch {
    struct {
        RadixBucket buckets[kBuckets];
        unsigned filled[kBuckets / kWarpLanes];  // one bit per bucket with elements
        int sources[kWarpLanes];                 // rows from which elements are lifted
        int targets[kWarpLanes];                 // rows for the previously lifted elements, or -1
        unsigned char visited[kWarpLanes];       // buckets of the sources
    };
    int strays[kMaxStrays];  // a ring
    struct {
        unsigned long long keys[kRadixWindow];
        unsigned values[kRadixWindow];
    };
};

struct RadixPairs {
    unsigned long long* keys;
    unsigned* values;
};

__device__ inline int key_digit(unsigned long long key, int shift) {
    return static_cast<int>(key >> shift) & (kBuckets - 1);
}

// The bits above the digit; none for the highest digit.
__device__ inline unsigned long long key_prefix(unsigned long long key, int shift) {
    return key >> shift >> kDigitBits;
}

// Sum over the lower lanes.
__device__ inline int lanes_before(int count) {
    return sum_to_lane(count) - count;
}

// Counts the digits, into `end`; returns true if the keys have different digits.
__device__ inline bool count_digits(
    const unsigned long long* keys, int start, int end, int shift, RadixScratch& scratch
) {
    for (int bucket = lane_id(); bucket < kBuckets; bucket += kWarpLanes) {
        scratch.buckets[bucket].end = 0;
    }
    __syncwarp();
    for (int i = start + lane_id(); i < end; i += kWarpLanes) {
        atomicAdd(&scratch.buckets[key_digit(keys[i], shift)].end, 1);
    }
    __syncwarp();
    const bool differ = scratch.buckets[key_digit(keys[start], shift)].end < end - start;
    __syncwarp();
    return differ;
}

// Loads digits until the queue is full.
__device__ inline void look_ahead(const unsigned long long* keys, int shift, RadixBucket& bucket) {
    const int known = (63 - __clzll(bucket.digits)) / kDigitBits;
    const int needed = min(bucket.end - bucket.head, kDigitsAhead);
    unsigned long long ahead[kDigitsAhead];
#pragma unroll
    for (int k = 0; k < kDigitsAhead; ++k) {  // independent loads
        ahead[k] = k >= known && k < needed ? keys[bucket.head + k] : 0;
    }
    DigitQueue digits = bucket.digits ^ kNoDigits << known * kDigitBits;
#pragma unroll
    for (int k = 0; k < kDigitsAhead; ++k) {
        digits |= static_cast<DigitQueue>(key_digit(ahead[k], shift)) << k * kDigitBits;
    }
    bucket.digits = digits | kNoDigits << needed * kDigitBits;
}

// Converts the counts of digits to bounds of buckets with all elements; returns the number of
// non-empty buckets.
__device__ inline int place_buckets(
    const unsigned long long* keys, int start, int shift, RadixScratch& scratch
) {
    int before = start, filled_buckets = 0;
    for (int base = 0; base < kBuckets; base += kWarpLanes) {
        RadixBucket& bucket = scratch.buckets[base + lane_id()];
        const int count = bucket.end;
        const unsigned filled = __ballot_sync(kAllLanes, count > 0);
        if (lane_id() == 0) scratch.filled[base / kWarpLanes] = filled;
        filled_buckets += __popc(filled);
        bucket.head = before + lanes_before(count);
        bucket.end = bucket.head + count;
        bucket.digits = kNoDigits;
        before = __shfl_sync(kAllLanes, bucket.end, kWarpLanes - 1);
        look_ahead(keys, shift, bucket);
    }
    __syncwarp();
    return filled_buckets;
}

// Whether at least three elements at the head of a bucket are in place: all lanes skip such faster.
__device__ inline bool starts_in_place(const RadixBucket& bucket, int number) {
    constexpr int kLeast = 3;
    constexpr DigitQueue kOnes = 0x010101;
    const bool are_known = bucket.digits >> kLeast * kDigitBits;
    return are_known && (bucket.digits & kOnes * (kBuckets - 1)) == kOnes * number;
}

// The first bucket with elements from `bucket` on, `kBuckets` if there is none.
__device__ inline int next_filled(const RadixScratch& scratch, int bucket) {
    unsigned above = ~0u << bucket % kWarpLanes;
    for (int word = bucket / kWarpLanes; word < kBuckets / kWarpLanes; ++word) {
        const unsigned bits = scratch.filled[word] & above;
        if (bits) return word * kWarpLanes + __ffs(bits) - 1;
        above = ~0u;
    }
    return kBuckets;
}
