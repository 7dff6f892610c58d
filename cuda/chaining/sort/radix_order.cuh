// The order in which minimap2's radix sort leaves keys, equal ones included; by a warp.
//
// That sort goes from the highest byte down and moves elements in cycles, which does not keep
// equal keys in order; blocks of up to 64 elements are sorted by insertion, which does. A cycle
// depends on nothing but the digits, so one lane walks along them, in shared memory, and all lanes
// move the elements behind it.

#include "chaining/sort/radix_moves.cuh"

// One past the last element of the large block that begins here.
__device__ inline int block_end(const unsigned long long* keys, int begin, int n, int shift) {
    const unsigned long long prefix = key_prefix(keys[begin], shift);
    int low = begin + kInsertionSize, high = n;  // the one at `low` belongs to it
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

// Where the run of elements begins that agree with the one at `at` in what is above the digit; at
// most 63 before it.
__device__ inline int run_begin(const unsigned long long* keys, int at, int shift) {
    const unsigned long long prefix = key_prefix(keys[at], shift);
    int begin = at;
    for (; begin > at - kInsertionSize; begin -= kWarpLanes) {
        const int i = begin - 1 - lane_id();
        const bool differs = i < 0 || key_prefix(keys[i], shift) != prefix;
        const unsigned lanes = __ballot_sync(kAllLanes, differs);
        if (lanes) return begin - (__ffs(lanes) - 1);
    }
    return begin;
}

// Whether a block of more than 64 elements may go through the place.
__device__ inline bool may_be_large(const unsigned long long* keys, int at, int n, int shift) {
    constexpr int kHalf = kInsertionSize / 2;
    if (at >= n) return false;
    const unsigned long long prefix = key_prefix(keys[at], shift);
    return (at >= kHalf && key_prefix(keys[at - kHalf], shift) == prefix) ||
           (at < n - kHalf && key_prefix(keys[at + kHalf], shift) == prefix);
}

// Distributes all blocks of more than 64 elements that agree in what is above the digit; each goes
// through a multiple of 64. The elements of a smaller one may be in any order, but no others stand
// among them, so that two as far apart as 64 cannot agree.
__device__ inline void order_level(RadixPairs pairs, int n, int shift, RadixScratch& scratch) {
    const unsigned long long* keys = pairs.keys;
    int next = 0;
    while (next < n) {
        const int at = next + lane_id() * kInsertionSize;
        const unsigned lanes = __ballot_sync(kAllLanes, may_be_large(keys, at, n, shift));
        next += (lanes ? __ffs(lanes) - 1 : kWarpLanes) * kInsertionSize;
        if (!lanes) continue;
        const int begin = run_begin(keys, next, shift);
        const bool is_large =
            begin < n - kInsertionSize &&
            key_prefix(keys[begin + kInsertionSize], shift) == key_prefix(keys[begin], shift);
        next += kInsertionSize;
        if (!is_large) continue;
        const int end = block_end(keys, begin, n, shift);
        next = (end + kInsertionSize - 1) / kInsertionSize * kInsertionSize;
        if (!count_digits(keys, begin, end, shift, scratch)) continue;
        if (place_buckets(keys, begin, shift, scratch) == 2) {
            permute_two(pairs, shift, scratch);
        } else {
            permute_cycles(pairs, shift, scratch);
        }
    }
}

// Sorts the blocks of up to 64 elements, the only ones that are not in order; equal keys stay as
// they are. An element passes those behind it that are smaller and those before it that are
// larger, all of which are less than 64 away.
__device__ inline void order_blocks(RadixPairs pairs, int n, RadixScratch& scratch) {
    const auto load = [=, &scratch](int begin) {
        for (int i = begin + lane_id(); i < min(begin + kInsertionSize, n); i += kWarpLanes) {
            scratch.keys[i % kRadixWindow] = pairs.keys[i];
            scratch.values[i % kRadixWindow] = pairs.values[i];
        }
    };
    __syncwarp();
    load(0);
    for (int base = 0; base < n; base += kInsertionSize) {
        load(base + kInsertionSize);  // before an element of this round is moved there
        __syncwarp();
        for (int i = base + lane_id(); i < min(base + kInsertionSize, n); i += kWarpLanes) {
            const unsigned long long key = scratch.keys[i % kRadixWindow];
            int place = i;
            for (int j = max(i - kInsertionSize + 1, 0); j < i; ++j) {
                place -= scratch.keys[j % kRadixWindow] > key;
            }
            for (int j = i + 1; j < min(i + kInsertionSize, n); ++j) {
                place += scratch.keys[j % kRadixWindow] < key;
            }
            pairs.keys[place] = key;
            pairs.values[place] = scratch.values[i % kRadixWindow];
        }
        __syncwarp();
    }
}

// Bits in which the keys differ.
__device__ inline unsigned long long varying_bits(const unsigned long long* keys, int n) {
    unsigned long long bits = 0;
    for (int i = lane_id(); i < n; i += kWarpLanes) bits |= keys[i] ^ keys[0];
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        bits |= __shfl_xor_sync(kAllLanes, bits, distance);
    }
    return bits;
}

// Sorts n keys, and with them the values, in global memory. Called by all lanes of a warp, which
// see what the others wrote there before (`__syncwarp`), and so they do behind it.
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
