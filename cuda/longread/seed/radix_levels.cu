// Sort of the rows of an array in the order of minimap2's radix sort, including ties
// (longread/seed/radix_order.cuh), byte by byte: in each round, a warp distributes a block of more
// than 64 elements of a row, and lists its parts for the next round. So many warps share a row with
// many elements. The blocks of all rounds are in one list, one round after the other. At last, each
// element of a smaller block finds its place alone; one bit per element marks where blocks start.

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

__device__ inline void mark_start(unsigned* starts, int at) {
    atomicOr(starts + at / 32, 1u << at % 32);
}

// Bits `at` to `at` + 63 of an array of words.
__device__ inline unsigned long long bits_from(const unsigned* words, int at) {
    const int word = at / 32, shift = at % 32;
    const unsigned low = __funnelshift_r(words[word], words[word + 1], shift);
    const unsigned high = __funnelshift_r(words[word + 1], words[word + 2], shift);
    return static_cast<unsigned long long>(high) << 32 | low;
}

}  // namespace

// Marks the starts of rows, and lists the rows of more than 64 elements, in any order; one thread per
// row. A row that is sorted already has size 0.
extern "C" __global__ void __launch_bounds__(kThreads) list_large_rows(
    const long long* offsets, const int* sizes, int rows, unsigned* starts, int* blocks, int* counts
) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows;
         row += gridDim.x * blockDim.x) {
        if (offsets[row] == offsets[row + 1]) continue;
        const int start = static_cast<int>(offsets[row]);
        mark_start(starts, start);
        if (sizes[row] <= kInsertionSize) continue;
        reinterpret_cast<Block*>(blocks)[atomicAdd(counts, 1)] = {start, start + sizes[row]};
    }
}

// Distributes the blocks of a round by the highest byte in which their keys differ, and lists their
// parts of more than 64 elements; one warp per block. `counts` and `taken` are the numbers of blocks
// of each round that are listed, and at work.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocksAtOnce) distribute_blocks(
    unsigned long long* keys, unsigned* values, unsigned* starts, int* blocks, int* counts,
    int* taken, int round
) {
    __shared__ RadixScratch all_scratch[kWarpsPerBlock];
    RadixScratch& scratch = all_scratch[threadIdx.x / kWarpLanes];
    const Block* current = reinterpret_cast<const Block*>(blocks);
    for (int before = 0; before < round; ++before) current += counts[before];
    const int count = counts[round];
    Block* const parts = const_cast<Block*>(current) + count;
    while (true) {
        int rank = 0;
        if (lane_id() == 0) rank = atomicAdd(taken + round, 1);
        rank = __shfl_sync(kAllLanes, rank, 0);
        if (rank >= count) break;
        const Block block = current[rank];
        const RadixPairs pairs{keys + block.start, values + block.start};
        const int n = block.end - block.start;
        const unsigned long long bits = varying_bits(pairs.keys, n);
        if (!bits) continue;
        const int shift = (63 - __clzll(bits)) / kDigitBits * kDigitBits;
        count_digits(pairs.keys, 0, n, shift, scratch);
        const int filled = place_buckets(pairs.keys, 0, shift, scratch);
        for (int bucket = lane_id(); bucket < kBuckets; bucket += kWarpLanes) {
            const int start = scratch.buckets[bucket].head, end = scratch.buckets[bucket].end;
            if (start < end) mark_start(starts, block.start + start);
            if (end - start <= kInsertionSize || !shift) continue;
            parts[atomicAdd(counts + round + 1, 1)] = {block.start + start, block.start + end};
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
// elements before it in its block. All elements of a larger block are equal, and stay.
extern "C" __global__ void __launch_bounds__(kTile) insert_elements(
    const unsigned long long* keys, const unsigned* values, const unsigned* starts,
    unsigned long long* sorted_keys, unsigned* sorted_values, long long elements, int words
) {
    constexpr int kBefore = 64;  // elements of the tile before the first one to sort
    __shared__ unsigned long long tile[kBefore + kTile + kHalo];
    __shared__ unsigned marks[(kBefore + kTile) / 32 + 4];
    const long long base = static_cast<long long>(blockIdx.x) * kTile - kBefore;
    for (int k = threadIdx.x; k < kBefore + kTile + kHalo; k += kTile) {
        const long long at = base + k;
        tile[k] = at >= 0 && at < elements ? keys[at] : 0;
    }
    if (threadIdx.x < (kBefore + kTile) / 32 + 4) {
        const long long word = base / 32 + static_cast<int>(threadIdx.x);
        marks[threadIdx.x] = word >= 0 && word < words ? starts[word] : 0;
    }
    __syncthreads();
    const int own = kBefore + threadIdx.x;
    const long long at = base + own;
    if (at >= elements) return;
    const unsigned long long key = tile[own];
    const unsigned long long before = bits_from(marks, own - kHalo);  // up to the element itself
    const unsigned long long after = bits_from(marks, own + 1);
    const int first = before ? own - __clzll(before) : own - kHalo;
    const int end = after ? own + __ffsll(after) : own + kHalo + 1;
    const int last = static_cast<int>(min(static_cast<long long>(end), elements - base));
    long long to = at;
    for (int k = first; k < own; ++k) to -= tile[k] > key;
    for (int k = own + 1; k < last; ++k) to += tile[k] < key;
    sorted_keys[to] = key;
    sorted_values[to] = values[at];
}
