// Candidates: positions where a piece of a read matches, compared with the whole read. Same as
// hapgpu/shortread/search/seeds.py.

#include "shortread/fm_index.cuh"
#include "shortread/hit.cuh"
#include "shortread/packed_reads.cuh"
#include "shortread/shifted.cuh"

// A multiprocessor runs at least so many thread blocks of `verify` and `survey` at once, of 256
// threads each, and one more of `survey` if no errors are allowed. The kernels spill no registers.
#if __CUDA_ARCH__ >= 1200
constexpr int kVerifyBlocks = 3, kSurveyBlocks = 2;
#else
constexpr int kVerifyBlocks = 4, kSurveyBlocks = 3;
#endif

constexpr int kMaxHits = 2;  // per candidate: a deletion and an insertion
constexpr Word kNoHit = ~0ull;

// 64 positions of the reference: low bits and high bits of the bases, and positions of other letters.
struct TextWord {
    Word low, high, others;
};

// The 64 positions from `shift` on in two successive words.
__device__ inline TextWord shifted(const TextWord& word, const TextWord& next, int shift) {
    const int carry = kWordBits - 1 - shift;
    return {word.low >> shift | next.low << 1 << carry, word.high >> shift | next.high << 1 << carry,
            word.others >> shift | next.others << 1 << carry};
}

struct Reference {
    const Word* planes;
    const Word* others;
    const unsigned* other_blocks;  // see other_blocks.cu
    const long long* contig_offsets;
    int contigs;

    __device__ TextWord word(long long block, bool has_others = true) const {
        const ulonglong2 bases = ((const ulonglong2*)planes)[block];
        return {bases.x, bases.y, has_others ? others[block] : 0};
    }

    // Whether a block, or one of the next `more`, at least 2, has letters other than bases.
    __device__ bool has_others(unsigned long long block, int more) const {
        bool found = false;
        for (int k = 0; k <= more - 2; ++k) {
            found |= other_blocks[(block + k) / 32] >> (block + k) % 32 & 1;
        }
        return found;
    }
};

// Rows of the pieces of reads: the first row, and where its suffixes start in the read; `ends` are
// the numbers of rows before each seed.
struct Seeds {
    const unsigned* first_rows;
    const int* read_offsets;
    const long long* ends;
};

// The reference at a read on some diagonal, read word by word.
struct StoredText {
    static constexpr int kMaxWords = 1 << 26, kUnrolled = 1;
    const Reference& reference;
    long long diagonal;

    __device__ StoredText(const Reference& reference, long long diagonal, int)
        : reference(reference), diagonal(diagonal) {}

    struct Cursor {
        const Reference& reference;
        long long block;
        int shift;
        TextWord word;

        __device__ TextWord next(int) {
            const TextWord before = word;
            word = reference.word(++block);
            return shifted(before, word, shift);
        }
    };

    // The text from the diagonal beside this one on.
    __device__ Cursor beside(int offset) const {
        const long long bit = diagonal + offset + kWordBits, block = bit / kWordBits;
        return {reference, block, (int)(bit % kWordBits), reference.word(block)};
    }
};

__device__ inline TextWord selected(bool second, TextWord one, TextWord other) {
    return {second ? other.low : one.low, second ? other.high : one.high,
            second ? other.others : one.others};
}

// The same for a short read of at most `kWords` words, in registers: from one base before the
// diagonal to one after the read. Threads of a warp read different lines, so each word is read once
// for all three diagonals.
template <int kWords>
struct ShortText {
    static constexpr int kMaxWords = kWords, kUnrolled = kWords;
    TextWord words[kWords + 1];
    int shift;

    __device__ ShortText(const Reference& reference, long long diagonal, int length) {
        const long long bit = diagonal - 1 + kWordBits, block = bit / kWordBits;
        shift = (int)(bit % kWordBits);
        const int end = shift + length + 2;
        const bool has_others = reference.has_others(block, kWords);
#pragma unroll
        for (int k = 0; k <= kWords; ++k) {
            words[k] = {0, 0, 0};
            if (k == 0 || end > k * kWordBits) words[k] = reference.word(block + k, has_others);
        }
    }

    struct Cursor {
        TextWord words[kWords + 1];
        int shift;

        __device__ TextWord next(int word) const {
            return shifted(words[word], words[word + 1], shift);
        }
    };

    __device__ Cursor beside(int offset) const {
        const int start = shift + 1 + offset;
        const bool jumps = start >= kWordBits;
        Cursor cursor;
        cursor.shift = start % kWordBits;
#pragma unroll
        for (int k = 0; k <= kWords; ++k) {
            const TextWord next = k < kWords ? words[k + 1] : TextWord{0, 0, 0};
            cursor.words[k] = selected(jumps, words[k], next);
        }
        return cursor;
    }
};

// Two bases are between the words: a read with a gap and any shift has them in one word more.
__device__ constexpr int max_bases(int words) { return words * kWordBits - 2; }

struct Comparison {
    int mismatches, first, last;  // -1 mismatches: a mismatch within the exact part
};

// Compares a read with the reference on the diagonal beside that of a text. Returns the number of
// mismatches and the offsets of the first and the last mismatch, `length` and -1 without mismatches.
template <typename Text>
__device__ inline Comparison compare(
    const Text& text, int offset, const Word* read, int length, int exact_start, int exact_end
) {
    auto cursor = text.beside(offset);
    Comparison result = {0, length, -1};
#pragma unroll Text::kUnrolled
    for (int word = 0; word < Text::kMaxWords; ++word) {
        const int start = word * kWordBits;
        if (start >= length) break;
        const TextWord bases = cursor.next(word);
        Word differs = (bases.low ^ read[0]) | (bases.high ^ read[1]) | bases.others | read[2];
        read += kPlanes;
        if (length - start < kWordBits) differs &= (1ull << (length - start)) - 1;
        if (!differs) continue;
        if (differs & span_mask(exact_start - start, exact_end - start)) return {-1, 0, 0};
        if (result.last < 0) result.first = start + __ffsll(differs) - 1;
        result.last = start + kWordBits - 1 - __clzll(differs);
        result.mismatches += __popcll(differs);
    }
    return result;
}

// Differences of a short read from the reference: a bit per base.
template <int kWords>
struct Differences {
    Word words[kWords];

    __device__ int count() const {
        int sum = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k) sum += __popcll(words[k]);
        return sum;
    }

    // The offset of the first difference, and of the last one; there is at least one.
    __device__ int first() const {
        int offset = 0;
#pragma unroll
        for (int k = kWords - 1; k >= 0; --k) {
            if (words[k]) offset = k * kWordBits + __ffsll(words[k]) - 1;
        }
        return offset;
    }
    __device__ int last() const {
        int offset = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            if (words[k]) offset = (k + 1) * kWordBits - 1 - __clzll(words[k]);
        }
        return offset;
    }

    // Whether a difference is within a piece of the read.
    template <int kPieces>
    __device__ bool is_in(int piece, int length) const {
        Word found = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const int start = k * kWordBits, half = length / 2 - start;
            Word left = kAllBits;
            if (kPieces == 2) left = start < max_bases(kWords) / 2 ? span_mask(0, half) : 0;
            found |= words[k] & (piece == 0 ? left : ~left);
        }
        return found;
    }
};

// Compares a short read with the bases of the reference on a diagonal, which is `start` - 1; other
// letters of the reference are any bases. No bit of `start` is lost, as the reference has 2**20 bases
// less than 2**32.
template <int kWords>
__device__ inline Differences<kWords> differences(
    const Reference& reference, unsigned start, const Word* read, int length
) {
    const unsigned bit = start + (kWordBits - 1), block = bit / kWordBits;
    const int shift = bit % kWordBits, end = shift + length;
    Word low[kWords + 1], high[kWords + 1];
#pragma unroll
    for (int k = 0; k <= kWords; ++k) {
        TextWord word{0, 0, 0};
        if (k == 0 || end > k * kWordBits) word = reference.word(block + k, false);
        low[k] = word.low;
        high[k] = word.high;
    }
    const Shifted<kWords> shifted_low(low, shift), shifted_high(high, shift);
    Differences<kWords> differs;
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
        const int used = length - k * kWordBits;
        differs.words[k] = 0;
        if (used <= 0) continue;
        differs.words[k] = (shifted_low.words[k] ^ read[kPlanes * k])
            | (shifted_high.words[k] ^ read[kPlanes * k + 1]) | read[kPlanes * k + 2];
        differs.words[k] &= kAllBits >> max(kWordBits - used, 0);
    }
    return differs;
}

// Adds the other letters of the reference to the differences of a read on a diagonal.
template <int kWords>
__device__ inline void add_others(
    const Reference& reference, unsigned start, int length, Differences<kWords>& differs
) {
    const unsigned bit = start + (kWordBits - 1), block = bit / kWordBits;
    if (!reference.has_others(block, kWords)) return;
    const int shift = bit % kWordBits;
    Word others[kWords + 1];
#pragma unroll
    for (int k = 0; k <= kWords; ++k) {
        others[k] = 0;
        if (k == 0 || shift + length > k * kWordBits) others[k] = reference.others[block + k];
    }
    const Shifted<kWords> shifted(others, shift);
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
        const int used = length - k * kWordBits;
        if (used <= 0) continue;
        differs.words[k] |= shifted.words[k] & kAllBits >> max(kWordBits - used, 0);
    }
}

// The bounds of a contig.
struct Contig {
    long long low, high;

    __device__ bool holds(long long start, int length) const {
        return start >= low && start + length <= high;
    }
};

__device__ inline Contig contig_of(const Reference& reference, long long position) {
    const long long* offsets = reference.contig_offsets;
    int low = 0, high = reference.contigs;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (offsets[middle] <= position) low = middle;
        else high = middle;
    }
    return {offsets[low], offsets[low + 1]};
}

// A strand of a read, searched by one of its pieces.
struct Query {
    const Word* read;
    int length, piece, strand;
};

// The hits that belong to a candidate: a piece of a read on a diagonal. A hit belongs to the half
// without its error, an exact hit to the left half.
struct CandidateHits {
    Word hits[kMaxHits];
};

// Hits that start (left half) or end (right half) at the candidate, with a gap in the other half; an
// ungapped hit with the same end (start) excludes them. `own` is the comparison on the diagonal,
// where there is no ungapped hit. After (before) the error, the read must match beside the
// candidate: most comparisons end there, before the contig is known.
template <typename Text>
__device__ inline CandidateHits gapped_hits(
    const Reference& reference, const Query& query, long long diagonal, const Comparison& own
) {
    const int length = query.length, piece = query.piece, strand = query.strand;
    const Word* read = query.read;
    const CandidateHits none = {{kNoHit, kNoHit}};
    const Text text(reference, diagonal, length);
    const int step = piece == 0 ? 1 : -1, half = piece_start<2>(1, length);
    const auto is_owned = [&](int error) { return piece == 0 ? error >= half : error < half; };
    const Comparison deleted = compare(
        text, step, read, length, piece == 0 ? own.first : 0, piece == 0 ? length : own.last + 1
    );
    const int deletion_error = (piece == 0 ? deleted.last : own.last) + 1;
    const bool may_be_deletion = deleted.mismatches > 1 && is_owned(deletion_error);
    const Comparison inserted = compare(
        text, -step, read, length, piece == 0 ? own.first + 1 : 0,
        piece == 0 ? length : max(own.last, 0)
    );
    const int insertion_error = max(piece == 0 ? inserted.last : own.last, 0);
    const bool may_be_insertion = inserted.mismatches >= 0 && is_owned(insertion_error);
    if (!may_be_deletion && !may_be_insertion) return none;
    const Contig contig = contig_of(reference, piece == 0 ? diagonal : diagonal + length - 1);
    CandidateHits found = none;
    const long long deletion_start = piece == 0 ? diagonal : diagonal - 1;
    if (may_be_deletion && contig.holds(deletion_start, length + 1)) {
        found.hits[0] = packed_hit(1, deletion_start, strand, kDeletion, deletion_error);
    }
    const long long insertion_start = piece == 0 ? diagonal : diagonal + 1;
    const bool is_excluded = inserted.mismatches <= 1 && contig.holds(diagonal - step, length);
    if (may_be_insertion && !is_excluded && contig.holds(insertion_start, length - 1)) {
        found.hits[1] = packed_hit(1, insertion_start, strand, kInsertion, insertion_error);
    }
    return found;
}

// Whether the anchor of a candidate is in the reference, and no comparison leaves its padding.
__device__ inline bool is_inside(long long total, const Query& query, long long diagonal) {
    const long long anchor = query.piece == 0 ? diagonal : diagonal + query.length - 1;
    return anchor >= 0 && anchor < total && diagonal >= -1 && diagonal + query.length <= total + 1;
}

// The hit without a gap at a candidate with `mismatches`, one of them at `error`; kNoHit if it
// leaves its contig.
__device__ inline Word ungapped_hit(
    const Reference& reference, const Query& query, long long diagonal, int mismatches, int error
) {
    const int length = query.length;
    const Contig contig =
        contig_of(reference, query.piece == 0 ? diagonal : diagonal + length - 1);
    if (!contig.holds(diagonal, length)) return kNoHit;
    return packed_hit(mismatches, diagonal, query.strand, kUngapped, mismatches ? error : 0);
}

template <int kPieces>
__device__ inline CandidateHits hits_of_short(
    const Reference& reference, const Query& query, long long diagonal, bool indels
) {
    const CandidateHits none = {{kNoHit, kNoHit}};
    const unsigned start = (unsigned)(diagonal + 1);
    auto differs = differences<2>(reference, start, query.read, query.length);
    if (differs.template is_in<kPieces>(query.piece, query.length)) return none;
    add_others(reference, start, query.length, differs);
    if (differs.template is_in<kPieces>(query.piece, query.length)) return none;
    const int count = differs.count();
    if (count < kPieces) {
        const int error = count ? differs.first() : 0;
        const Word hit = ungapped_hit(reference, query, diagonal, count, error);
        if (hit != kNoHit) return {{!count && query.piece != 0 ? kNoHit : hit, kNoHit}};
    }
    if (!indels || kPieces == 1) return none;
    const Comparison own = {
        count, count ? differs.first() : query.length, count ? differs.last() : -1
    };
    return gapped_hits<ShortText<2>>(reference, query, diagonal, own);
}

template <int kPieces>
__device__ inline CandidateHits hits_of(
    const Reference& reference, const Query& query, long long diagonal, bool indels
) {
    const CandidateHits none = {{kNoHit, kNoHit}};
    if (!is_inside(reference.contig_offsets[reference.contigs], query, diagonal)) return none;
    if (query.length <= max_bases(2)) {
        return hits_of_short<kPieces>(reference, query, diagonal, indels);
    }
    const StoredText text(reference, diagonal, query.length);
    const Comparison own = compare(
        text, 0, query.read, query.length, piece_start<kPieces>(query.piece, query.length),
        piece_start<kPieces>(query.piece + 1, query.length)
    );
    const int count = own.mismatches;
    if (count < 0) return none;
    if (count < kPieces) {
        const Word hit = ungapped_hit(reference, query, diagonal, count, own.first);
        if (hit != kNoHit) return {{!count && query.piece != 0 ? kNoHit : hit, kNoHit}};
    }
    if (!indels || kPieces == 1) return none;
    return gapped_hits<StoredText>(reference, query, diagonal, own);
}
