// Cells of fills in registers: a lane holds some neighbouring diagonals, and computes every second
// of them per antidiagonal.
//
// All scores are scaled by 128. The low bits say what a score came from (see `Choice`), so that one
// maximum finds the best choice, and of equal scores the first one in minimap2's order: two bases, a
// deletion, an insertion, a long deletion, a long insertion. A gap goes on only if its score is
// larger than that of a new one, which has one bit more.

constexpr int kScaleShift = 7, kTags = (1 << kScaleShift) - 1;
constexpr int kUnreachable = -1600000000;

__device__ inline int max3(int one, int two, int three) {
#if __CUDA_ARCH__ >= 900
    return __vimax3_s32(one, two, three);
#else
    return max(max(one, two), three);
#endif
}

__device__ inline int add_max(int one, int added, int other) {
#if __CUDA_ARCH__ >= 900
    return __viaddmax_s32(one, added, other);
#else
    return max(one + added, other);
#endif
}

__device__ inline int scaled(int score) { return score * (1 << kScaleShift); }

// Scores as the cells add them: `cell_costs` in hapgpu/longread/cuda/align/fills.py.
struct CellCosts {
    unsigned pairs, ambiguous_pairs;  // bytes, by the difference of two codes: score less `lowest`
    int lowest;  // score of a pair, with the tag of its choice
    int deletion, insertion, long_deletion, long_insertion;  // to open a gap, with its tags
    int extend, long_extend;
};

// Returns four bytes of two words: each of the low 16 bits by four is the number of a byte, or that
// plus 8 for its sign in all bits. (`__byte_perm` has no signs.)
__device__ inline unsigned permuted(unsigned low, unsigned high, unsigned selectors) {
#ifdef __CUDACC__
    unsigned result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selectors));
    return result;
#else
    unsigned result = __byte_perm(low, high, selectors);
    for (int k = 0; k < 4; ++k) {
        const unsigned ones = 0xffu << 8 * k;
        const bool is_negative = (result & ones) >> 8 * k >= 0x80;
        if (selectors >> 4 * k & 8) result = is_negative ? result | ones : result & ~ones;
    }
    return result;
#endif
}

// A byte of `CellCosts` is selected by four bits; for the bytes above it the signs are, which are 0.
// The lowest of these selectors is set in all target codes.
constexpr unsigned kNoByte = 0x80808080u, kNoBytes = 0x88888888u;

// Returns the differences of four pairs of codes: 0 if equal, 2 for a transition, 1 or 3 for another
// mismatch, 4 or more with an ambiguous base.
__device__ inline unsigned differences(unsigned targets, unsigned queries) {
    constexpr unsigned kAmbiguousCodes = 0x04040404;
#ifdef __CUDACC__
    // In one instruction: where the third operand has a bit, the table says `or`, else `xor`.
    unsigned result;
    asm("lop3.b32 %0, %1, %2, %3, 0xbc;"
        : "=r"(result) : "r"(targets), "r"(queries), "n"(kAmbiguousCodes));
    return result;
#else
    return (targets ^ queries) | ((targets | queries) & kAmbiguousCodes);
#endif
}

// Returns the bits of `one` in `mask`, and the other bits of `other`.
__device__ inline unsigned selected(unsigned mask, unsigned one, unsigned other) {
    return (one & mask) | (other & ~mask);
}

// Gaps that arrive at a cell, or go on from it: scores with the tags of their kind.
struct Gaps {
    int deletion, long_deletion, insertion, long_insertion;
};

// Computes a cell. `score` is that of the cell before on the diagonal, and becomes that of this one;
// `pair` is the byte of the cell's bases. Returns the direction in the low seven bits.
__device__ inline unsigned
compute_cell(const CellCosts& costs, int pair, int& score, Gaps& gaps) {
    const int short_best =
        max(add_max(score + scaled(pair), costs.lowest, gaps.deletion), gaps.insertion);
    const int best = max3(short_best, gaps.long_deletion, gaps.long_insertion);
    score = best & ~kTags;
    const int deletion = add_max(gaps.deletion, costs.extend, score + costs.deletion);
    const int insertion = add_max(gaps.insertion, costs.extend, score + costs.insertion);
    const int long_deletion =
        add_max(gaps.long_deletion, costs.long_extend, score + costs.long_deletion);
    const int long_insertion =
        add_max(gaps.long_insertion, costs.long_extend, score + costs.long_insertion);
    gaps.deletion = deletion & ~kOpensDeletion;
    gaps.insertion = insertion & ~kOpensInsertion;
    gaps.long_deletion = long_deletion & ~kOpensLongDeletion;
    gaps.long_insertion = long_insertion & ~kOpensLongInsertion;
    unsigned direction = selected(kOpensDeletion, deletion, insertion);
    direction = selected(kOpensDeletion | kOpensInsertion, direction, long_deletion);
    direction = selected(kOpensLongDeletion * 2 - 1, direction, long_insertion);
    return selected(kOpensLongInsertion * 2 - 1, direction, best);
}

// Codes of a sequence from a position on, four at a time; before and after the sequence anything. Only
// words with a code of the sequence are loaded: so none is beyond the memory of the codes.
struct CodeStream {
    const unsigned* words;
    int at, last;  // next word, last word of the sequence
    unsigned shift, current, next;

    __device__ CodeStream(const unsigned char* codes, int length, int position) {
        const int misaligned = (int)((unsigned long long)codes & 3);
        words = (const unsigned*)(codes - misaligned);
        const int offset = misaligned + position;
        last = (misaligned + length - 1) >> 2;
        at = offset >> 2;
        shift = 8 * (offset & 3);
        current = load();
        next = load();
    }

    __device__ unsigned load() { return words[min(max(at++, 0), last)]; }

    __device__ unsigned four() {
        const unsigned codes = __funnelshift_r(current, next, shift);
        current = next;
        next = load();
        return codes;
    }
};
