// Suffixes of a text in two bits per base (hapgpu/shortread/index/suffixes/text.py), their first
// bases as keys, and their ranks.

constexpr int kWordBases = 32;
constexpr int kThreads = 256;

struct Text {
    const unsigned long long* words;
    long long size;
};

// Suffixes with keys of the same highest bits, from `first` on.
struct Buckets {
    int shift;
    unsigned first, count;
};

// 32 bases from an offset on, the first in the highest bits; the offset is at most the size.
__device__ inline unsigned long long key_at(const unsigned long long* words, long long offset) {
    const long long word = offset / kWordBases;
    const int bit = 2 * (offset % kWordBases);
    return words[word] << bit | (words[word + 1] >> 1) >> (63 - bit);
}

__device__ inline unsigned long long key_after(const Text& text, long long offset) {
    return offset < text.size ? key_at(text.words, offset) : 0;
}

// Calls `take(key, offset)` for the suffixes that start in a word, and belong to the buckets.
template <typename Take>
__device__ inline void for_suffixes(
    const Text& text, const Buckets& buckets, long long word, Take take
) {
    const long long start = word * kWordBases;
    if (start >= text.size) return;
    const unsigned long long here = text.words[word], next = text.words[word + 1] >> 1;
    const int bases = text.size - start < kWordBases ? int(text.size - start) : kWordBases;
    for (int base = 0; base < bases; ++base) {
        const unsigned long long key = here << 2 * base | next >> (63 - 2 * base);
        const unsigned bucket = unsigned(key >> buckets.shift) - buckets.first;
        if (bucket < buckets.count) take(key, unsigned(start + base));
    }
}

// Counts the suffixes of some buckets; a thread per word, a count per thread block.
extern "C" __global__ void count_suffixes(
    Text text, Buckets buckets, unsigned* counts
) {
    const long long word = (long long)blockIdx.x * kThreads + threadIdx.x;
    int count = 0;
    for_suffixes(text, buckets, word, [&](unsigned long long, unsigned) { ++count; });
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, count);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// Writes the suffixes that `count_suffixes` counted, in the order of the text, with their keys.
extern "C" __global__ void select_suffixes(
    Text text, Buckets buckets, const unsigned* ends, unsigned long long* keys, unsigned* offsets
) {
    const long long word = (long long)blockIdx.x * kThreads + threadIdx.x;
    int count = 0;
    for_suffixes(text, buckets, word, [&](unsigned long long, unsigned) { ++count; });
    __shared__ int sums[2][kThreads];
    int from = 0;
    sums[0][threadIdx.x] = count;
    __syncthreads();
    for (int distance = 1; distance < kThreads; distance *= 2, from ^= 1) {
        int sum = sums[from][threadIdx.x];
        if (int(threadIdx.x) >= distance) sum += sums[from][threadIdx.x - distance];
        sums[from ^ 1][threadIdx.x] = sum;
        __syncthreads();
    }
    unsigned to = (blockIdx.x ? ends[blockIdx.x - 1] : 0) + sums[from][threadIdx.x] - count;
    for_suffixes(text, buckets, word, [&](unsigned long long key, unsigned offset) {
        keys[to] = key;
        offsets[to++] = offset;
    });
}

// Makes keys of the number of the group of each suffix, and the 18 bases `width` bases later.
extern "C" __global__ void following_bases(
    Text text,
    const unsigned* offsets,
    const unsigned* groups,
    int suffixes,
    long long width,
    unsigned long long* keys
) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= suffixes) return;
    const unsigned long long bases = key_after(text, offsets[i] + width);
    keys[i] = (unsigned long long)groups[i] << 36 | bases >> 28;
}

// Makes keys of the number of the group of each suffix, and the rank of the suffix `width` bases
// later. After the end of the text, ranks decrease by one per base.
extern "C" __global__ void following_ranks(
    const unsigned* ranks,
    long long size,
    const unsigned* offsets,
    const unsigned* groups,
    int suffixes,
    long long width,
    unsigned long long* keys
) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= suffixes) return;
    const long long following = offsets[i] + width;
    const long long rank = following < size ? ranks[following] : size - following;
    keys[i] = (unsigned long long)groups[i] << 34 | (unsigned long long)(rank + width);
}

// Sets the rank of each suffix to its row.
extern "C" __global__ void rank_rows(
    const unsigned* offsets, int suffixes, long long first_row, unsigned* ranks, long long size
) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < suffixes && offsets[i] < size) ranks[offsets[i]] = unsigned(first_row + i);
}

// Sets the rank of each suffix to the first row of its group.
extern "C" __global__ void rank_groups(
    const unsigned* offsets, const unsigned* groups, int suffixes, unsigned* ranks, long long size
) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < suffixes && offsets[i] < size) ranks[offsets[i]] = groups[i];
}
