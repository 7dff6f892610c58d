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

// The hits at a candidate. A diagonal of both halves has at most one hit without a gap, and with
// more than one mismatch, at most one half without any; else `is_cut` is set.
template <int kPieces, int kWords>
__device__ inline CandidateHits hits_of_seed(
    const Reference& reference, Query query, unsigned start, bool is_whole, bool indels,
    bool& is_cut
) {
    const CandidateHits none = {{kNoHit, kNoHit}};
    auto differs = differences<kWords>(reference, start, query.read, query.length);
    if (piece_without<kPieces>(differs, query, is_whole) < 0) return none;
    add_others(reference, start, query.length, differs);
    query.piece = piece_without<kPieces>(differs, query, is_whole);
    if (query.piece < 0) return none;
    const int count = differs.count();
    const long long diagonal = (long long)start - 1;
    if (count < kPieces) {
        const int error = count ? differs.first() : 0;
        const Word hit = ungapped_hit(reference, query, diagonal, count, error);
        is_cut = is_whole && hit == kNoHit;
        if (hit != kNoHit) {
            return {{!count && query.piece != 0 ? kNoHit : hit, kNoHit}};
        }
    }
    if (!indels || kPieces == 1 || is_cut) return none;
    const Comparison own = {
        count, count ? differs.first() : query.length, count ? differs.last() : -1
    };
    return gapped_hits<ShortText<kWords>>(reference, query, diagonal, own);
}
