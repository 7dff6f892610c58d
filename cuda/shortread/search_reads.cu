// Search of short reads with few candidates: each warp searches 32 reads. The hits are those of
// search.cu; repeats.cu searches the other reads.

#include "shortread/seed_hits.cuh"

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;
// Thread blocks of 25,216 bytes took 1.47 instead of 0.98 ms for 4 million reads on an H200.
static_assert(kWarps * sizeof(Tile<2, 2, 2>) <= 24064, "8 blocks and 196 kB of shared memory");
// Thread blocks of a multiprocessor: as many as shared memory allows, without spilled registers.
#if __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
constexpr int kSearchBlocks = 8;
#else
constexpr int kSearchBlocks = 6;
#endif

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
    const int hit_count = compare_candidates(
        bwt, suffixes, reference, tile, positions, candidates, indels
    );
    const int counts = tile.counts[lane], own_hits = hits_of_counts(counts);
    const int start = sum_to_lane(own_hits) - own_hits;
    tile.hit_starts[lane] = (short)start;
    __syncwarp();
    write_hits(tile, hit_count, slots + (long long)warp * kSlots);
    const bool is_other =
        is_long || has_many || counts < 0 || (own_hits && start + own_hits > kSlots);
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
