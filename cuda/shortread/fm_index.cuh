// Steps of the FM index, same as hapgpu/shortread/index/cpu.py; for the arrays see
// hapgpu/shortread/index/fm_index.py.

typedef unsigned long long Word;

constexpr int kWordBits = 64;
constexpr Word kAllBits = ~0ull;
constexpr int kSampling = 8;  // a sampled suffix array keeps one per kSampling text positions

// Block of occurrences: counts of the four bases, low bits and high bits of 64 symbols.
struct Occurrences {
    unsigned counts[4];
    Word low, high;
};

// The transformed text, without the end of the text, which is in the row `primary`.
struct Bwt {
    const Occurrences* occurrences;
    unsigned primary;
};

// The first row of each k-mer of `length` bases, and the number of rows.
struct JumpTable {
    const unsigned* rows;
    int length;
    int entries;
};

// The whole suffix array or, with `marks`, the positions of the marked rows.
struct SuffixArray {
    const unsigned* positions;
    const Word* marks;
    const unsigned* mark_ranks;
    int mark_words;
};

// Returns how often a base occurs among the first `count` (0 to 63) symbols of a block.
__device__ inline int base_count(Word low_bits, Word high_bits, int base, int count) {
    const Word of_base = (low_bits ^ ((base & 1) - 1ll)) & (high_bits ^ ((base >> 1) - 1ll));
    return __popcll(of_base & ((1ull << count) - 1));
}

// Returns the first row of the suffixes that are a base followed by a suffix from `row` on:
// C(c) + O(c, row) of Seide 2012, Algorithm 2.
__device__ inline unsigned backward_step(Bwt bwt, int base, unsigned row) {
    const unsigned symbol = row - (row > bwt.primary);
    const Occurrences* block = bwt.occurrences + symbol / kWordBits;
    const ulonglong2 bits = *(const ulonglong2*)&block->low;
    return block->counts[base] + base_count(bits.x, bits.y, base, symbol % kWordBits);
}

// Returns the position of the suffix in a row: from the whole suffix array, or by a walk back to a
// marked row. A walk takes fewer than kSampling steps; in an incorrect index, a
// longer walk ends in row 0, which is marked.
__device__ inline long long locate(Bwt bwt, SuffixArray suffixes, unsigned row) {
    if (suffixes.mark_words == 0) return suffixes.positions[row];
    int steps = 0;
    while (!(suffixes.marks[row / kWordBits] >> row % kWordBits & 1)) {
        const unsigned symbol = row - (row > bwt.primary);
        const Occurrences* block = bwt.occurrences + symbol / kWordBits;
        const int base = (int)(block->low >> symbol % kWordBits & 1)
            | (int)(block->high >> symbol % kWordBits & 1) << 1;
        row = ++steps < kSampling ? backward_step(bwt, base, row) : 0;
    }
    const Word before = suffixes.marks[row / kWordBits] & ((1ull << row % kWordBits) - 1);
    const unsigned rank = suffixes.mark_ranks[row / kWordBits] + __popcll(before);
    return (long long)suffixes.positions[rank] + steps;
}

// Returns a word with the bits from `start` to `end` set; both may lie outside the word.
__device__ inline Word span_mask(int start, int end) {
    if (start >= kWordBits || end <= 0) return 0;
    const Word upper = end >= kWordBits ? kAllBits : (1ull << end) - 1;
    return start > 0 ? upper & kAllBits << start : upper;
}
