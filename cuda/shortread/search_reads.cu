// Search of short reads with few candidates: each warp searches 32 reads. The hits are those of
// search.cu; repeats.cu searches the other reads.

#include "shortread/seed_hits.cuh"

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;
// Thread blocks of a multiprocessor: as many as shared memory allows, without spilled registers.
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
constexpr int kSearchBlocks = 8;
#else
constexpr int kSearchBlocks = 6;
#endif

__device__ inline int hits_of_counts(int counts) {
    return (counts & kExactMask) + ((counts & ~kIsCut) >> kInexactShift);
}

// Adds a hit of a read to those of the warp at a place, if it has that.
template <typename Tile>
__device__ inline void add_hit(Tile& tile, Word hit, unsigned owner, int at) {
    atomicAdd(&tile.counts[owner], distance_of(hit) == 0 ? 1 : 1 << kInexactShift);
    if (at >= kSlots) return;
    tile.hits[at] = hit;
    tile.owners[at] = (unsigned char)owner;
}

// Hits of a warp, those without a gap first; `gaps` are the diagonals that may have others.
struct HitCounts {
    int hits, gaps;
};

// Compares the candidates, one per lane at a time: finds hits without a gap, and diagonals that may
// have hits with one. Hits after kSlots, and diagonals after kMaxGaps, are counted only; reads of the
// latter are cut.
template <int kStrands, int kPieces, int kWords>
__device__ inline HitCounts compare_candidates(
    Bwt bwt, SuffixArray suffixes, const Reference& reference,
    Tile<kStrands, kPieces, kWords>& tile, unsigned positions, int total, bool indels
) {
    constexpr int kSeeds = kStrands * kPieces;
    const unsigned lower = lower_lanes();
    HitCounts counts = {0, 0};
    int seed_count = 0;
    for (int base = 0; base < total; base += kWarpLanes) {
        const unsigned heads = tile.heads[base / kWarpLanes];
        const int seed = seed_count + __popc(heads & (lower << 1 | 1)) - 1;
        seed_count += __popc(heads);
        const int candidate = base + lane_id();
        DiagonalHit found = {kNoHit, -1, false};
        unsigned piece = 0, start = 0;
        if (candidate < total) {
            const unsigned flags = tile.pieces[seed];
            piece = flags & kPieceMask;
            const unsigned owner = piece / kSeeds;
            const int strand = piece % kSeeds / kPieces, length = tile.lengths[owner];
            const Query query{tile.strand(owner, strand), length, (int)(piece % kPieces), strand};
            const unsigned row = tile.rows[seed] + candidate;
            const unsigned position =
                flags & kIsLocated ? row : (unsigned)locate(bwt, suffixes, row);
            // The anchor is in the reference, and no comparison leaves its padding.
            start = position + 1 - tile.offsets[piece];
            if (start - (query.piece == 0) <= positions + 1 - length) {
                found = hit_of_seed<kPieces, kWords>(
                    reference, query, start, flags & kIsWhole, indels
                );
            }
        }
        const unsigned owner = piece / kSeeds;
        const unsigned hits = __ballot_sync(kAllLanes, found.hit != kNoHit);
        const unsigned gaps = __ballot_sync(kAllLanes, found.gap_piece >= 0);
        if (found.hit != kNoHit) {
            add_hit(tile, found.hit, owner, counts.hits + __popc(hits & lower));
        }
        const int gap = counts.gaps + __popc(gaps & lower);
        if (found.gap_piece >= 0 && gap < kMaxGaps) {
            tile.gap_starts[gap] = start;
            tile.gap_pieces[gap] =
                (unsigned char)(piece / kPieces * kPieces + found.gap_piece);
        }
        if (found.is_cut || (found.gap_piece >= 0 && gap >= kMaxGaps)) {
            atomicOr((unsigned*)&tile.counts[owner], (unsigned)kIsCut);
        }
        counts.hits += __popc(hits);
        counts.gaps += __popc(gaps);
    }
    __syncwarp();
    return counts;
}

// Finds hits with a gap, one diagonal per lane at a time. Returns the number of all hits.
template <int kStrands, int kPieces, int kWords>
__device__ inline int compare_gaps(
    const Reference& reference, Tile<kStrands, kPieces, kWords>& tile, HitCounts counts
) {
    constexpr int kSeeds = kStrands * kPieces;
    int hit_count = counts.hits;
    for (int base = 0; base < min(counts.gaps, kMaxGaps); base += kWarpLanes) {
        const int gap = base + lane_id();
        CandidateHits found = {{kNoHit, kNoHit}};
        unsigned owner = 0;
        if (gap < min(counts.gaps, kMaxGaps)) {
            const unsigned piece = tile.gap_pieces[gap];
            owner = piece / kSeeds;
            const int strand = piece % kSeeds / kPieces;
            const Query query{
                tile.strand(owner, strand), tile.lengths[owner], (int)(piece % kPieces), strand
            };
            found = gaps_of_seed<kWords>(reference, query, tile.gap_starts[gap]);
        }
#pragma unroll
        for (int k = 0; k < kMaxHits; ++k) {
            const bool is_hit = found.hits[k] != kNoHit;
            const unsigned lanes = __ballot_sync(kAllLanes, is_hit);
            const int at = hit_count + __popc(lanes & lower_lanes());
            if (is_hit) add_hit(tile, found.hits[k], owner, at);
            hit_count += __popc(lanes);
        }
    }
    __syncwarp();
    return hit_count;
}

// Writes the hits of each read in ascending order, those of reads with all hits in slots. Equal
// hits, which only an incorrect index gives, keep their order, so that every slot is written.
template <typename Tile>
__device__ inline void write_hits(const Tile& tile, int ungapped, int hit_count, Word* slots) {
    const int end = min(hit_count, kSlots);
    for (int at = lane_id(); at < end; at += kWarpLanes) {
        const int owner = tile.owners[at], start = tile.hit_starts[owner];
        if (start + hits_of_counts(tile.counts[owner]) > kSlots) continue;
        const Word hit = tile.hits[at];
        int rank = 0;
        const auto compare = [&](int other) {
            rank += tile.hits[other] < hit || (tile.hits[other] == hit && other < at);
        };
        const int own_end = min((int)tile.ungapped_starts[owner + 1], end);
        for (int other = tile.ungapped_starts[owner]; other < own_end; ++other) compare(other);
        for (int other = ungapped; other < end; ++other) {
            if (tile.owners[other] == owner) compare(other);
        }
        slots[start + rank] = hit;
    }
}

// Appends the numbers of the reads of some lanes to a list.
__device__ inline void append(bool is_listed, int number, int* list, Word* size) {
    const unsigned lanes = __ballot_sync(kAllLanes, is_listed);
    if (!lanes) return;
    int first = 0;
    if (lane_id() == 0) first = (int)atomicAdd(size, (Word)__popc(lanes));
    first = __shfl_sync(kAllLanes, first, 0);
    if (is_listed) list[first + __popc(lanes & lower_lanes())] = number;
}

// One lane per read: writes its numbers of hits, and its hits to the slots of the warp from a start
// on. Reads that have too many candidates or hits get none, and `kOther` as start: their numbers are
// appended to `others`, in any order; those of reads that are too long, to `rest`. Warps of a thread
// block work alone.
template <int kStrands, int kPieces, int kWords>
__global__ void __launch_bounds__(kThreads, kSearchBlocks) search_reads(
    Bwt bwt, JumpTable jump_table, SuffixArray suffixes, Reference reference, Text text,
    const int* starts, const int* lengths, int min_read_bases, int indels, int count, Word* slots,
    unsigned char* slot_starts, long long* hit_counts, int* exact, int* inexact, int* others,
    Word* other_count, int* rest, Word* rest_count
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
    pack_tile(tile, text, text_start, length);
    const int pending = jump(jump_table, tile, length);
    extend(bwt, tile, pending);
    bool has_many = false;
    const int candidates = number_candidates(suffixes, tile, positions, has_many);
    const HitCounts found = compare_candidates(
        bwt, suffixes, reference, tile, positions, candidates, indels
    );
    const int ungapped = hits_of_counts(tile.counts[lane]), ungapped_end = sum_to_lane(ungapped);
    tile.ungapped_starts[lane + 1] = (short)ungapped_end;
    if (lane == 0) tile.ungapped_starts[0] = 0;
    const int hit_count = compare_gaps(reference, tile, found);
    const int counts = tile.counts[lane], own_hits = hits_of_counts(counts);
    const int start = sum_to_lane(own_hits) - own_hits;
    tile.hit_starts[lane] = (short)start;
    __syncwarp();
    write_hits(tile, found.hits, hit_count, slots + (long long)warp * kSlots);
    const bool has_room = !own_hits || start + own_hits <= kSlots;
    // Hits with a gap come last among all hits of the warp.
    const bool has_lost = own_hits > ungapped && hit_count > kSlots;
    const bool is_other = is_long || has_many || counts < 0 || has_lost || !has_room;
    if (number < count) {
        if (number == 0) hit_counts[0] = 0;
        slot_starts[number] = (unsigned char)(is_other ? kOther : min(start, kSlots));
        hit_counts[number + 1] = is_other ? 0 : own_hits;
        exact[number] = is_other ? 0 : counts & kExactMask;
        inexact[number] = is_other ? 0 : counts >> kInexactShift;
    }
    append(is_other && !is_long && number < count, number, others, other_count);
    append(is_long, number, rest, rest_count);
}
