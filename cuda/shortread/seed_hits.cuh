// Hits at the candidates of a tile.

#include "shortread/tile.cuh"

// Numbers of hits of a read without an error, and with one; a bit for a read that leaves its contig.
constexpr int kInexactShift = 16, kExactMask = (1 << kInexactShift) - 1, kIsCut = 1 << 31;

// Returns the piece of a candidate, or of both halves, that has no difference; -1 without one.
template <int kPieces, int kWords>
__device__ inline int piece_without(
    const Differences<kWords>& differs, const Query& query, bool is_whole
) {
    if (!differs.template is_in<kPieces>(query.piece, query.length)) return query.piece;
    return is_whole && !differs.template is_in<kPieces>(1, query.length) ? 1 : -1;
}

// What the diagonal of a candidate holds: a hit without a gap, or none; `gap_piece` is the half without
// a difference that may belong to hits with a gap, -1 for none.
struct DiagonalHit {
    Word hit;
    int gap_piece;
    bool is_cut;  // both halves may
};

// A diagonal of both halves has at most one hit without a gap, and with more than one difference, at
// most one half without any.
template <int kPieces, int kWords>
__device__ inline DiagonalHit hit_of_seed(
    const Reference& reference, Query query, unsigned start, bool is_whole, bool indels
) {
    DiagonalHit found = {kNoHit, -1, false};
    auto differs = differences<kWords>(reference, start, query.read, query.length);
    if (piece_without<kPieces>(differs, query, is_whole) < 0) return found;
    add_others(reference, start, query.length, differs);
    query.piece = piece_without<kPieces>(differs, query, is_whole);
    if (query.piece < 0) return found;
    const int count = differs.count();
    if (count < kPieces) {
        const int error = count ? differs.first() : 0;
        const Word hit = ungapped_hit(reference, query, (long long)start - 1, count, error);
        if (hit != kNoHit) {
            if (count || query.piece == 0) found.hit = hit;
            return found;
        }
        found.is_cut = is_whole;
    }
    if (indels && kPieces > 1) found.gap_piece = query.piece;
    return found;
}

// The hits with a gap of a half without a difference on a diagonal.
template <int kWords>
__device__ inline CandidateHits gaps_of_seed(
    const Reference& reference, const Query& query, unsigned start
) {
    auto differs = differences<kWords>(reference, start, query.read, query.length);
    add_others(reference, start, query.length, differs);
    const int count = differs.count();
    const Comparison own = {
        count, count ? differs.first() : query.length, count ? differs.last() : -1
    };
    return gapped_hits<ShortText<kWords>>(reference, query, (long long)start - 1, own);
}
