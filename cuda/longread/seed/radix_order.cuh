// Sort of keys and values in the order of minimap2's radix sort, including ties; by a warp. Same as
// hapgpu/longread/seed/radix_sort.py.
//
// minimap2 sorts by bytes from the highest down and moves elements in cycles, which is not stable;
// blocks of at most 64 elements are sorted by insertion, which is stable. A cycle depends only on
// the digits, so one lane follows the digits in shared memory, and all lanes move the elements
// after it.

#include "longread/seed/radix_moves.cuh"
#include "longread/seed/varying_bits.cuh"

// End of the large block that starts at `start`.
__device__ inline int block_end(const unsigned long long* keys, int start, int n, int shift) {
    const unsigned long long prefix = key_prefix(keys[start], shift);
    int low = start + kInsertionSize, high = n;  // element `low` is in the block
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (key_prefix(keys[middle], shift) == prefix) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

// Start of the run of elements with the same bits above the digit as element `at`; at most 63
// before it.
__device__ inline int run_start(const unsigned long long* keys, int at, int shift) {
    const unsigned long long prefix = key_prefix(keys[at], shift);
    int start = at;
    for (; start > at - kInsertionSize; start -= kWarpLanes) {
        const int i = start - 1 - lane_id();
        const bool differs = i < 0 || key_prefix(keys[i], shift) != prefix;
        const unsigned lanes = __ballot_sync(kAllLanes, differs);
        if (lanes) return start - (__ffs(lanes) - 1);
    }
    return start;
}

// Whether a block of more than 64 elements may contain element `at`.
__device__ inline bool may_be_large(const unsigned long long* keys, int at, int n, int shift) {
    constexpr int kHalf = kInsertionSize / 2;
    if (at >= n) return false;
    const unsigned long long prefix = key_prefix(keys[at], shift);
    return (at >= kHalf && key_prefix(keys[at - kHalf], shift) == prefix) ||
           (at < n - kHalf && key_prefix(keys[at + kHalf], shift) == prefix);
}

// Distributes all blocks of more than 64 elements with the same bits above the digit; each has an
// element whose number is a multiple of 64. The elements of a smaller block may be in any order, but
// are adjacent, so two elements 64 apart cannot be in one smaller block.
__device__ inline void order_level(RadixPairs pairs, int n, int shift, RadixScratch& scratch) {
    const unsigned long long* keys = pairs.keys;
    int next = 0;
    while (next < n) {
        const int at = next + lane_id() * kInsertionSize;
        const unsigned lanes = __ballot_sync(kAllLanes, may_be_large(keys, at, n, shift));
        next += (lanes ? __ffs(lanes) - 1 : kWarpLanes) * kInsertionSize;
        if (!lanes) continue;
        const int start = run_start(keys, next, shift);
        const bool is_large =
            start < n - kInsertionSize &&
            key_prefix(keys[start + kInsertionSize], shift) == key_prefix(keys[start], shift);
        next += kInsertionSize;
        if (!is_large) continue;
        const int end = block_end(keys, start, n, shift);
        next = (end + kInsertionSize - 1) / kInsertionSize * kInsertionSize;
        if (!count_digits(keys, start, end, shift, scratch)) continue;
        if (place_buckets(keys, start, shift, scratch) == 2) {
            permute_two(pairs, shift, scratch);
        } else {
            permute_cycles(pairs, shift, scratch);
        }
    }
}

// Sorts the blocks of at most 64 elements, stably; the order of the blocks is final. An element
// moves past smaller elements after it and larger elements before it, all less than 64 away.
__device__ inline void order_blocks(RadixPairs pairs, int n, RadixScratch& scratch) {
    const auto load = [=, &scratch](int start) {
        for (int i = start + lane_id(); i < min(start + kInsertionSize, n); i += kWarpLanes) {
            scratch.keys[i % kRadixWindow] = pairs.keys[i];
            scratch.values[i % kRadixWindow] = pairs.values[i];
        }
    };
    __syncwarp();
    load(0);
    for (int base = 0; base < n; base += kInsertionSize) {
        load(base + kInsertionSize);  // before this round moves an element there
        __syncwarp();
        for (int i = base + lane_id(); i < min(base + kInsertionSize, n); i += kWarpLanes) {
            const unsigned long long key = scratch.keys[i % kRadixWindow];
            int row = i;
            for (int j = max(i - kInsertionSize + 1, 0); j < i; ++j) {
                row -= scratch.keys[j % kRadixWindow] > key;
            }
            for (int j = i + 1; j < min(i + kInsertionSize, n); ++j) {
                row += scratch.keys[j % kRadixWindow] < key;
            }
            pairs.keys[row] = key;
            pairs.values[row] = scratch.values[i % kRadixWindow];
        }
        __syncwarp();
    }
}

// Sorts n keys and their values in global memory. Called by all lanes of a warp; writes of other
// lanes must be visible before (`__syncwarp`), and are visible after.
__device__ inline void radix_order(
    unsigned long long* keys, unsigned* values, int n, RadixScratch& scratch
) {
    const RadixPairs pairs{keys, values};
    if (n > kInsertionSize) {
        const unsigned long long bits = varying_bits(keys, n);
        for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
            if (key_digit(bits, shift)) order_level(pairs, n, shift, scratch);
        }
    }
    order_blocks(pairs, n, scratch);
}
