// Search of short reads with few candidates, in one kernel: each warp searches 32 reads. The hits
// are those of search.cu, which searches the other reads.

#include "shortread/tile.cuh"

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;
#if __CUDA_ARCH__ >= 800
constexpr int kSearchBlocks = 7;
#else
constexpr int kSearchBlocks = 6;
#endif
constexpr int kInexactShift = 16, kExactMask = (1 << kInexactShift) - 1;
constexpr int kIsCut = 1 << 31;  // in the counts of a read that leaves its contig

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

// Compares the candidates, one per lane at a time. Returns the number of hits; those after
// kSlots are counted only.
template <int kStrands, int kPieces, int kWords>
__device__ inline int compare_candidates(
    Bwt bwt, SuffixArray suffixes, const Reference& reference,
    Tile<kStrands, kPieces, kWords>& tile, unsigned positions, int total, bool indels
) {
    constexpr int kSeeds = kStrands * kPieces;
    const unsigned lower = lower_lanes();
    int hit_count = 0, seed_count = 0;
    for (int base = 0; base < total; base += kWarpLanes) {
        const unsigned heads = tile.heads[base / kWarpLanes];
        const int seed = seed_count + __popc(heads & (lower << 1 | 1)) - 1;
        seed_count += __popc(heads);
        const int candidate = base + lane_id();
        CandidateHits found = {{kNoHit, kNoHit}};
        unsigned owner = 0;
        if (candidate < total) {
            const unsigned flags = tile.pieces[seed], piece = flags & kPieceMask;
            owner = piece / kSeeds;
            const int strand = piece % kSeeds / kPieces, length = tile.lengths[owner];
            const Query query{tile.strand(owner, strand), length, (int)(piece % kPieces), strand};
            const unsigned row = tile.rows[seed] + candidate;
            const unsigned position =
                flags & kIsLocated ? row : (unsigned)locate(bwt, suffixes, row);
            // The anchor is in the reference, and no comparison leaves its padding.
            const unsigned start = position + 1 - tile.offsets[piece];
            if (start - (query.piece == 0) <= positions + 1 - length) {
                bool is_cut = false;
                const bool is_whole = flags & kIsWhole;
                found = hits_of_seed<kPieces, kWords>(
                    reference, query, start, is_whole, indels, is_cut
                );
                if (is_cut) atomicOr((unsigned*)&tile.counts[owner], (unsigned)kIsCut);
            }
        }
        const unsigned lanes[kMaxHits] = {
            __ballot_sync(kAllLanes, found.hits[0] != kNoHit),
            __ballot_sync(kAllLanes, found.hits[1] != kNoHit)
        };
        int at = hit_count + __popc(lanes[0] & lower) + __popc(lanes[1] & lower);
        hit_count += __popc(lanes[0]) + __popc(lanes[1]);
#pragma unroll
        for (int k = 0; k < kMaxHits; ++k) {
            if (found.hits[k] == kNoHit) continue;
            const bool is_exact = distance_of(found.hits[k]) == 0;
            atomicAdd(&tile.counts[owner], is_exact ? 1 : 1 << kInexactShift);
            if (at < kSlots) {
                tile.hits[at] = found.hits[k];
                tile.owners[at] = (unsigned char)owner;
            }
            ++at;
        }
    }
    __syncwarp();
    return hit_count;
}

__device__ inline int hits_of_counts(int counts) {
    return (counts & kExactMask) + ((counts & ~kIsCut) >> kInexactShift);
}

// Writes the hits of each read in ascending order, those of reads with all hits in slots. Equal
// hits, which only an incorrect index gives, keep their order, so that every slot is written.
template <typename Tile>
__device__ inline void write_hits(const Tile& tile, int hit_count, Word* slots) {
    for (int at = lane_id(); at < min(hit_count, kSlots); at += kWarpLanes) {
        const int owner = tile.owners[at], start = tile.hit_starts[owner];
        const int end = start + hits_of_counts(tile.counts[owner]);
        if (end > kSlots) continue;
        const Word hit = tile.hits[at];
        int rank = 0;
        for (int other = start; other < end; ++other) {
            rank += tile.hits[other] < hit || (tile.hits[other] == hit && other < at);
        }
        slots[start + rank] = hit;
    }
}

// One lane per read: writes its numbers of hits, and to the slots of the warp its hits, one read
// after the other. Reads that are too long, or have too many candidates or hits, get none: their
// numbers are appended to `others`, in any order. A warp needs no other warp of its thread block.
template <int kStrands, int kPieces, int kWords>
__global__ void __launch_bounds__(kThreads, kSearchBlocks) search_reads(
    Bwt bwt, JumpTable jump_table, SuffixArray suffixes, Reference reference, Text text,
    const int* starts, const int* lengths, int min_read_bases, int indels, int count, Word* slots, int* hit_counts, int* exact,
    int* inexact, int* others, int* other_count
) {
    __shared__ Tile<kStrands, kPieces, kWords> tiles[kWarps];
    Tile<kStrands, kPieces, kWords>& tile = tiles[threadIdx.x / kWarpLanes];
    const int warp = (blockIdx.x * kThreads + threadIdx.x) / kWarpLanes, lane = lane_id();
    const int number = warp * kWarpLanes + lane;
    if (warp * kWarpLanes >= count) return;
    int length = 0, text_start = 0;
    if (number < count) {
        length = lengths[number];
        text_start = starts[number];
    }
    const unsigned positions = (unsigned)reference.contig_offsets[reference.contigs];
    const bool is_long = length > max_bases(kWords);
    if (length < min_read_bases || is_long || length > positions + 1) length = 0;
    code_letters(tile, text, text_start, length);
    pack(tile, shift_of(text, text_start), length);
    tile.lengths[lane] = (unsigned char)length;
    tile.word_counts[lane] = (unsigned char)((length + kWordBits - 1) / kWordBits);
    tile.counts[lane] = 0;
    __syncwarp();
    const int pending = jump(jump_table, tile, length);
    extend(bwt, tile, pending);
    bool has_many = false;
    const int candidates = number_candidates(suffixes, tile, positions, has_many);
    const int hit_count = compare_candidates(
        bwt, suffixes, reference, tile, positions, candidates, indels
    );
    const int counts = tile.counts[lane], own_hits = hits_of_counts(counts);
    const int start = sum_to_lane(own_hits) - own_hits;
    tile.hit_starts[lane] = (short)start;
    __syncwarp();
    write_hits(tile, hit_count, slots + (long long)warp * kSlots);
    const bool has_room = !own_hits || start + own_hits <= kSlots;
    // The reads after one that is cut are other reads, too, so that slots have no gaps.
    const bool is_cut = __ballot_sync(kAllLanes, counts < 0) & (lower_lanes() << 1 | 1);
    const bool is_other = number < count && (is_long || has_many || is_cut || !has_room);
    if (number < count) {
        if (number == 0) hit_counts[0] = 0;
        hit_counts[number + 1] = is_other ? 0 : own_hits;
        exact[number] = is_other ? 0 : counts & kExactMask;
        inexact[number] = is_other ? 0 : counts >> kInexactShift;
    }
    const unsigned lanes = __ballot_sync(kAllLanes, is_other);
    if (!lanes) return;
    int first = 0;
    if (lane == 0) first = atomicAdd(other_count, __popc(lanes));
    first = __shfl_sync(kAllLanes, first, 0);
    if (is_other) others[first + __popc(lanes & lower_lanes())] = number;
}

// One thread per read: copies its hits from the slots of its warp to their offset in the result.
// `found_offsets` are the offsets without the hits of other reads.
extern "C" __global__ void __launch_bounds__(256) place_hits(
    const Word* slots, const long long* found_offsets, const long long* offsets, int reads,
    Word* hits
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= reads) return;
    const long long start = found_offsets[read];
    const int found = (int)(found_offsets[read + 1] - start);
    const int warp = read / kWarpLanes;
    const Word* source =
        slots + (long long)warp * kSlots + (start - found_offsets[warp * kWarpLanes]);
    for (int k = 0; k < found; ++k) hits[offsets[read] + k] = source[k];
}

// One warp per other read: copies its hits to their offset in the result.
extern "C" __global__ void __launch_bounds__(256) place_other_hits(
    const Word* other_hits, const long long* other_offsets, const int* others, int count,
    const long long* offsets, Word* hits
) {
    const int other = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    if (other >= count) return;
    const long long start = other_offsets[other], found = other_offsets[other + 1] - start;
    const long long target = offsets[others[other]];
    for (long long k = lane_id(); k < found; k += kWarpLanes) {
        hits[target + k] = other_hits[start + k];
    }
}
