// Candidates: positions where a piece of a read matches, compared with the whole read. Same as
// hapgpu/shortread/search/seeds.py.

#include "shortread/differences.cuh"
#include "shortread/hit.cuh"

// A multiprocessor runs at least so many thread blocks of `verify` and `survey` at once, of 256
// threads each, and one more of `survey` if no errors are allowed. The kernels spill no registers.
#if __CUDA_ARCH__ >= 1200
constexpr int kVerifyBlocks = 3, kSurveyBlocks = 2;
#else
constexpr int kVerifyBlocks = 4, kSurveyBlocks = 3;
#endif

constexpr int kMaxHits = 2;  // per candidate: a deletion and an insertion
constexpr Word kNoHit = ~0ull;

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
