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

// Scores as the cells add them.
struct CellCosts {
    unsigned pair_scores, ambiguous_scores;  // signed bytes, by the difference of two codes
    int deletion, insertion, long_deletion, long_insertion;  // to open a gap, with its tags
    int extend, long_extend;

    __device__ explicit CellCosts(const Scoring& scoring) {
        const unsigned mismatch = -scoring.mismatch & 0xff, transition = -scoring.transition & 0xff;
        pair_scores = (scoring.match & 0xff) | mismatch << 8 | transition << 16 | mismatch << 24;
        ambiguous_scores = (-scoring.dp_ambiguous & 0xff) * 0x01010101u;
        const int open = -scaled(scoring.gap_open + scoring.gap_extend);
        const int long_open = -scaled(scoring.gap_open2 + scoring.gap_extend2);
        deletion = open + (kDeletionGap << kChoiceShift) + kOpensDeletion;
        insertion = open + (kInsertionGap << kChoiceShift) + kOpensInsertion;
        long_deletion = long_open + (kLongDeletion << kChoiceShift) + kOpensLongDeletion;
        long_insertion = long_open + (kLongInsertion << kChoiceShift) + kOpensLongInsertion;
        extend = -scaled(scoring.gap_extend);
        long_extend = -scaled(scoring.gap_extend2);
    }

    // Returns the score of two bases by the difference of their codes, 0 to 7: see `differences`.
    __device__ int of_pair(unsigned difference) const {
        // The first byte is the score, the other bytes repeat its sign.
        const unsigned bytes = difference * 0x1111u + 0x8880u;
        return (int)__byte_perm(pair_scores, ambiguous_scores, bytes);
    }
};

// Returns the differences of four pairs of codes: 0 if equal, 2 for a transition, 1 or 3 for another
// mismatch, 4 or more with an ambiguous base.
__device__ inline unsigned differences(unsigned targets, unsigned queries) {
    return (targets ^ queries) | ((targets | queries) & 0x04040404u);
}

// Returns the bits of `one` in `mask`, and the other bits of `other`.
__device__ inline unsigned selected(unsigned mask, unsigned one, unsigned other) {
    return (one & mask) | (other & ~mask);
}

// Gaps that arrive at a cell, or go on from it: scores with the tags of their kind.
struct Gaps {
    int deletion, long_deletion, insertion, long_insertion;
};

// Computes a cell. `score` is that of the cell before on the diagonal, and becomes that of this one,
// `pair` that of the cell's bases. Returns the direction in the low seven bits.
__device__ inline unsigned
compute_cell(const CellCosts& costs, int pair, int& score, Gaps& gaps) {
    const int by_pair = score + scaled(pair) + (kPair << kChoiceShift);
    const int short_best = max3(by_pair, gaps.deletion, gaps.insertion);
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

// Codes of a sequence from a position on, four at a time; before and after the sequence anything.
struct CodeStream {
    const unsigned* words;
    int at, last;  // next word, last word of the sequence
    unsigned shift, current, next;

    __device__ CodeStream(const unsigned char* codes, int length, int position) {
        const unsigned long long first = (unsigned long long)codes;
        words = (const unsigned*)(first & ~3ull);
        const int offset = (int)(first & 3) + position;
        last = ((int)(first & 3) + length - 1) >> 2;
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
