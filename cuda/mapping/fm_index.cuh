// The FM index of a reference; hapgpu/mapping/index/fm_index.py says what its arrays hold.

typedef unsigned long long Word;

constexpr int kWordBits = 64;
constexpr Word kAllBits = ~0ull;
constexpr int kSampling = 8;  // of so many text positions, one is kept in a sampled suffix array

// A block of occurrences: counts of the four bases, low bits and high bits of 64 symbols.
struct Occurrences {
    unsigned counts[4];
    Word low, high;
};

// Number of positions with a base in the first `count` (0 to 63) of a block.
__device__ inline int base_count(Word low_bits, Word high_bits, int base, int count) {
    const Word of_base = (low_bits ^ ((base & 1) - 1ll)) & (high_bits ^ ((base >> 1) - 1ll));
    return __popcll(of_base & ((1ull << count) - 1));
}

// The first row of the suffixes that are a base and then a suffix from `row` on: C(c) + O(c, row)
// of Seide 2012, Algorithm 2.
__device__ inline unsigned preceded(
    const Occurrences* occurrences, unsigned primary, int base, unsigned row
) {
    const unsigned symbol = row - (row > primary);
    const Occurrences* block = occurrences + symbol / kWordBits;
    const ulonglong2 bits = *(const ulonglong2*)&block->low;
    return block->counts[base] + base_count(bits.x, bits.y, base, symbol % kWordBits);
}

// The position of the suffix in a row, from the whole suffix array or, if there are `marks`, from
// samples of it: walking back until a row is marked. No walk takes kSampling steps; one that does,
// in an index that was not made as it should be, ends in row 0, which is marked.
__device__ inline long long located(
    const Occurrences* occurrences, unsigned primary, const unsigned* suffixes, const Word* marks,
    const unsigned* mark_ranks, int mark_words, unsigned row
) {
    if (mark_words == 0) return suffixes[row];
    int steps = 0;
    while (!(marks[row / kWordBits] >> row % kWordBits & 1)) {
        const unsigned symbol = row - (row > primary);
        const Occurrences* block = occurrences + symbol / kWordBits;
        const int base = (int)(block->low >> symbol % kWordBits & 1)
            | (int)(block->high >> symbol % kWordBits & 1) << 1;
        row = ++steps < kSampling ? preceded(occurrences, primary, base, row) : 0;
    }
    const Word before = marks[row / kWordBits] & ((1ull << row % kWordBits) - 1);
    return (long long)suffixes[mark_ranks[row / kWordBits] + __popcll(before)] + steps;
}

// Bits from `begin` to `end` set, either of which may lie outside of the word.
__device__ inline Word span_mask(int begin, int end) {
    if (begin >= kWordBits || end <= 0) return 0;
    const Word upper = end >= kWordBits ? kAllBits : (1ull << end) - 1;
    return begin > 0 ? upper & kAllBits << begin : upper;
}
