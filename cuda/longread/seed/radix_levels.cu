// Sort of the rows of an array in the order of minimap2's radix sort, including ties
// (longread/seed/radix_order.cuh), byte by byte: in each round, a warp distributes a block of more
// than 64 elements of a row, and lists the blocks for the next round. So many warps share a row with
// many elements.

#include "common/binary_search.cuh"
#include "longread/seed/radix_moves.cuh"
#include "longread/seed/varying_bits.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;
constexpr int kBlocksAtOnce = 7;  // at least so many per multiprocessor: leaves enough registers
constexpr int kTile = 256, kHalo = kInsertionSize - 1;

struct alignas(8) Block {
    int start, end;
};

}  // namespace

// Lists the rows of more than 64 elements, in any order; one thread per row.
extern "C" __global__ void __launch_bounds__(kThreads) list_large_rows(
    const long long* offsets, const int* sizes, const long long* order, int rows, int* blocks,
    int* counts, int capacity, int levels
) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x) {
        const int row = static_cast<int>(order[i]);
        if (sizes[row] <= kInsertionSize) continue;
        const int start = static_cast<int>(offsets[row]);
        reinterpret_cast<Block*>(blocks)[atomicAdd(counts, 1)] = {start, start + sizes[row]};
    }
}

// Distributes the blocks of a level by the highest byte in which their keys differ, and lists
// their parts of more than 64 elements; one warp per block. `taken` counts the blocks at work.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) distribute_blocks(
    unsigned long long* keys, unsigned* values, long long elements, const int* blocks, int* parts,
    int* counts, int* taken, int capacity, int levels, int level
) {
    __shared__ RadixScratch all_scratch[kWarpsPerBlock];
    RadixScratch& scratch = all_scratch[threadIdx.x / kWarpLanes];
    const int count = counts[level];
    while (true) {
        int rank = 0;
        if (lane_id() == 0) rank = atomicAdd(taken + level, 1);
        rank = __shfl_sync(kAllLanes, rank, 0);
        if (rank >= count) break;
        const Block block = reinterpret_cast<const Block*>(blocks)[rank];
        const RadixPairs pairs{keys + block.start, values + block.start};
        const int n = block.end - block.start;
        const unsigned long long bits = varying_bits(pairs.keys, n);
        if (!bits) continue;
        const int shift = (63 - __clzll(bits)) / kDigitBits * kDigitBits;
        count_digits(pairs.keys, 0, n, shift, scratch);
        const int filled = place_buckets(pairs.keys, 0, shift, scratch);
        for (int bucket = lane_id(); bucket < kBuckets && shift; bucket += kWarpLanes) {
            const int start = scratch.buckets[bucket].head, end = scratch.buckets[bucket].end;
            if (end - start <= kInsertionSize) continue;
            reinterpret_cast<Block*>(parts)[atomicAdd(counts + level + 1, 1)] = {
                block.start + start, block.start + end};
        }
        __syncwarp();
        if (filled == 2) {
            permute_two(pairs, shift, scratch);
        } else {
            permute_cycles(pairs, shift, scratch);
        }
    }
}

// Sorts the blocks of at most 64 elements, stably, into other arrays; one thread per element. The
// order of the blocks is final, so an element moves past smaller elements after it and larger
// elements before it, all less than 64 away.
extern "C" __global__ void __launch_bounds__(kTile) insert_elements(
    const unsigned long long* keys, const unsigned* values, const long long* offsets,
    const int* sizes, unsigned long long* sorted_keys, unsigned* sorted_values, long long elements,
    int rows
) {
    __shared__ unsigned long long tile[kTile + 2 * kHalo];
    const long long base = static_cast<long long>(blockIdx.x) * kTile - kHalo;
    for (int k = threadIdx.x; k < kTile + 2 * kHalo; k += kTile) {
        const long long at = base + k;
        tile[k] = at >= 0 && at < elements ? keys[at] : 0;
    }
    __syncthreads();
    const long long at = base + kHalo + threadIdx.x;
    if (at >= elements) return;
    const int row = count_at_most(offsets, rows + 1, at) - 1;
    const long long start = offsets[row], end = start + sizes[row];
    if (at >= end) return;
    const int own = kHalo + threadIdx.x;
    const unsigned long long key = tile[own];
    const int first = at - start < kHalo ? own - static_cast<int>(at - start) : own - kHalo;
    const int last = end - at <= kHalo ? own + static_cast<int>(end - at) : own + kHalo + 1;
    long long to = at;
    for (int k = first; k < own; ++k) to -= tile[k] > key;
    for (int k = own + 1; k < last; ++k) to += tile[k] < key;
    sorted_keys[to] = key;
    sorted_values[to] = values[at];
}
