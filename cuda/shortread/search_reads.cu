// Search of short reads with few candidates, in one kernel: each warp searches 32 reads. The hits
// are those of search.cu, which searches the other reads.

#include "common/warp.cuh"
#include "shortread/candidates.cuh"
#include "shortread/seeds.cuh"

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;
constexpr int kMaxRows = 64;  // candidates of a read
constexpr int kSlots = 128;   // hits of 32 reads
constexpr int kReadWords = 2 * kPlanes * ShortText::kMaxWords;
constexpr int kStride = kReadWords + 1;  // odd, so that the lanes' reads are in different banks

#if __CUDA_ARCH__ >= 800
constexpr int kSearchBlocks = 7;
#else
constexpr int kSearchBlocks = 6;
#endif

// The reads, seeds and hits of a warp, in shared memory. `rows` are the first rows of all pieces;
// then those of the seeds, the pieces with candidates, less the number of the first candidate.
template <int kSeeds>
struct Tile {
    static constexpr int kPiecesOfAll = kSeeds * kWarpLanes;
    Word words[kWarpLanes * kStride];
    union {
        Word hits[kSlots];
        unsigned end_rows[kPiecesOfAll];  // until candidates are compared
    };
    unsigned rows[kPiecesOfAll];
    unsigned heads[kMaxRows];       // a bit per candidate: the first one of a seed
    int counts[kWarpLanes];         // hits without an error, and with one from bit 16 on
    short hit_starts[kWarpLanes];
    unsigned char lengths[kWarpLanes], word_counts[kWarpLanes];
    unsigned char offsets[kPiecesOfAll];  // where the suffixes of a piece start in the read
    unsigned char pieces[kPiecesOfAll];   // of each seed
    unsigned char owners[kSlots];         // of each hit
};

// Copies the words of one read per lane; of 32 reads of the largest number of words at once.
__device__ inline void stage_words(Word* words, const Word* source, int count) {
    const int lane = lane_id();
    if (__all_sync(kAllLanes, count == ShortText::kMaxWords)) {
        const Word* first = (const Word*)__shfl_sync(kAllLanes, (unsigned long long)source, 0);
        constexpr int kPairs = kReadWords / 2;
#pragma unroll
        for (int k = 0; k < kPairs; ++k) {
            const int pair = k * kWarpLanes + lane;
            const ulonglong2 value = ((const ulonglong2*)first)[pair];
            Word* target = words + pair / kPairs * kStride + pair % kPairs * 2;
            target[0] = value.x;
            target[1] = value.y;
        }
    } else {
        for (int k = 0; k < 2 * kPlanes * count; ++k) words[lane * kStride + k] = source[k];
    }
}

// Rows of a piece of a read, from the jump table.
struct PieceRows {
    unsigned first, end;
    int offset;
};

// A backward step of both ends of a range of rows, which are mostly in one block.
__device__ inline void step_back(Bwt bwt, int base, unsigned& first, unsigned& end) {
    const unsigned symbols[2] = {first - (first > bwt.primary), end - (end > bwt.primary)};
    const Occurrences* block = bwt.occurrences + symbols[0] / kWordBits;
    const Occurrences* end_block = bwt.occurrences + symbols[1] / kWordBits;
    const ulonglong2 bits = *(const ulonglong2*)&block->low;
    ulonglong2 end_bits = bits;
    unsigned before = block->counts[base], before_end = before;
    if (block != end_block) {
        end_bits = *(const ulonglong2*)&end_block->low;
        before_end = end_block->counts[base];
    }
    first = before + base_count(bits.x, bits.y, base, symbols[0] % kWordBits);
    end = before_end + base_count(end_bits.x, end_bits.y, base, symbols[1] % kWordBits);
}

__device__ inline PieceRows jump_rows(
    JumpTable jump, const Word* read, int start, int end, bool is_mixed
) {
    if (is_mixed && has_others(read, start, end)) return {0, 0, 0};
    const int depth = min(jump.length, end - start), offset = end - depth;
    const unsigned low = reversed_plane(read, 0, offset, depth);
    const unsigned high = reversed_plane(read, 1, offset, depth);
    const unsigned kmer = spread(low) | spread(high) << 1;
    const int unused = 2 * (jump.length - depth);
    return {jump.rows[kmer << unused], jump.rows[(kmer + 1) << unused], offset};
}

// Finds the rows of all pieces of the read of a lane, as `seed` of search.cu.
template <int kStrands, int kPieces>
__device__ inline void find_rows(
    Bwt bwt, JumpTable jump, Tile<kStrands * kPieces>& tile, int length, int word_count
) {
    constexpr int kSeeds = kStrands * kPieces;
    const Word* words = tile.words + lane_id() * kStride;
    const int first_piece = lane_id() * kSeeds;
    const unsigned last_row = jump.rows[jump.entries - 1];
    const bool is_mixed = words[2] | (word_count > 1 ? words[kPlanes + 2] : 0);
    PieceRows found[kSeeds];
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        const int start = piece_start<kPieces>(k % kPieces, length);
        const int end = piece_start<kPieces>(k % kPieces + 1, length);
        const Word* read = words + k / kPieces * kPlanes * word_count;
        found[k] = jump_rows(jump, read, start, end, is_mixed);
    }
    unsigned pending = 0;
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        const unsigned end = min(found[k].end, last_row), first = min(found[k].first, end);
        tile.rows[first_piece + k] = first;
        tile.end_rows[first_piece + k] = end;
        tile.offsets[first_piece + k] = (unsigned char)found[k].offset;
        const int start = piece_start<kPieces>(k % kPieces, length);
        if (end - first > kFewRows && found[k].offset > start) pending |= 1u << k;
    }
    // The lane goes on with its next piece while other lanes are busy with theirs.
    bool is_busy = false;
    int at = 0, offset = 0, start = 0, steps = 0;
    unsigned first = 0, end = 0;
    const Word* read = words;
    while (pending) {
        if (!is_busy) {
            is_busy = true;
            const int k = __ffs(pending) - 1;
            at = first_piece + k;
            first = tile.rows[at];
            end = tile.end_rows[at];
            offset = tile.offsets[at];
            start = piece_start<kPieces>(k % kPieces, length);
            read = words + k / kPieces * kPlanes * word_count;
            steps = 0;
        }
        --offset;
        ++steps;
        const int base = base_at(read, offset);
        step_back(bwt, base, first, end);
        const unsigned rows = end - first;
        const bool is_few = rows <= kFewRows || (rows <= kSomeRows && steps >= kManySteps);
        if (is_few || offset == start) {
            tile.rows[at] = first;
            tile.end_rows[at] = end;
            tile.offsets[at] = (unsigned char)offset;
            pending &= pending - 1;
            is_busy = false;
        }
    }
}

// Makes seeds of the pieces with candidates of all lanes' reads, but of those with more than
// kMaxRows, for which `has_many` is set. Returns the number of candidates of the warp.
template <int kSeeds>
__device__ inline int number_candidates(Tile<kSeeds>& tile, bool is_searched, bool& has_many) {
    const int first_piece = lane_id() * kSeeds;
    unsigned first_rows[kSeeds], counts[kSeeds];
    unsigned candidates = 0, seeds = 0;
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        first_rows[k] = is_searched ? tile.rows[first_piece + k] : 0;
        counts[k] = is_searched ? tile.end_rows[first_piece + k] - first_rows[k] : 0;
        candidates += min(counts[k], kMaxRows + 1u);
        seeds += counts[k] > 0;
    }
    has_many = candidates > kMaxRows;
    if (has_many) candidates = seeds = 0;
    const unsigned ends = sum_to_lane(candidates << 16 | seeds);
    unsigned start = (ends >> 16) - candidates, seed = (ends & 0xffff) - seeds;
    const int total = __shfl_sync(kAllLanes, ends, kWarpLanes - 1) >> 16;
    for (int k = lane_id(); k * kWarpLanes < total; k += kWarpLanes) tile.heads[k] = 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        if (has_many || !counts[k]) continue;
        tile.rows[seed] = first_rows[k] - start;
        tile.pieces[seed] = (unsigned char)(first_piece + k);
        atomicOr(&tile.heads[start / kWarpLanes], 1u << start % kWarpLanes);
        start += counts[k];
        ++seed;
    }
    __syncwarp();
    return total;
}

// Compares the candidates, one per lane at a time. Returns the number of hits; those after
// kSlots are counted only.
template <int kPieces, int kSeeds>
__device__ inline int compare_candidates(
    Bwt bwt, SuffixArray suffixes, const Reference& reference, Tile<kSeeds>& tile, int total,
    bool indels
) {
    const long long bases = reference.contig_offsets[reference.contigs];
    const unsigned lower = lower_lanes();
    int hit_count = 0, seed_count = 0;
    for (int base = 0; base < total; base += kWarpLanes) {
        const unsigned heads = tile.heads[base / kWarpLanes];
        const int seed = seed_count + __popc(heads & (lower << 1 | 1)) - 1;
        seed_count += __popc(heads);
        const int candidate = base + lane_id();
        CandidateHits found = {{kNoHit, kNoHit}};
        int owner = 0;
        if (candidate < total) {
            const int piece = tile.pieces[seed];
            owner = piece / kSeeds;
            const int strand = piece % kSeeds / kPieces, length = tile.lengths[owner];
            const Word* read =
                tile.words + owner * kStride + strand * kPlanes * tile.word_counts[owner];
            const Query query{read, length, piece % kPieces, strand};
            const long long diagonal =
                locate(bwt, suffixes, tile.rows[seed] + candidate) - tile.offsets[piece];
            if (is_inside(bases, query, diagonal)) {
                found = hits_of_short<kPieces>(reference, query, diagonal, indels);
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
            atomicAdd(&tile.counts[owner], distance_of(found.hits[k]) ? 1 << 16 : 1);
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

__device__ inline int hits_of_counts(int counts) { return (counts & 0xffff) + (counts >> 16); }

// Writes the hits of each read in ascending order, those of reads with all hits in slots. Equal
// hits, which only an incorrect index gives, keep their order, so that every slot is written.
template <int kSeeds>
__device__ inline void write_hits(const Tile<kSeeds>& tile, int hit_count, Word* slots) {
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
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(kThreads, kSearchBlocks) search_reads(
    Bwt bwt, JumpTable jump, SuffixArray suffixes, Reference reference, PackedReads reads,
    int min_read_bases, int indels, int count, Word* slots, int* hit_counts, int* exact,
    int* inexact, int* others, int* other_count
) {
    constexpr int kSeeds = kStrands * kPieces;
    __shared__ Tile<kSeeds> tiles[kWarps];
    Tile<kSeeds>& tile = tiles[threadIdx.x / kWarpLanes];
    const int warp = (blockIdx.x * kThreads + threadIdx.x) / kWarpLanes;
    const int number = warp * kWarpLanes + lane_id();
    if (warp * kWarpLanes >= count) return;
    int length = 0, word_count = 0;
    const Word* source = reads.words;
    if (number < count) {
        length = reads.lengths[number];
        word_count = reads.word_offsets[number + 1] - reads.word_offsets[number];
        source = strand_words(reads, number, 0);
    }
    const bool is_long = length > ShortText::kMaxBases || word_count > ShortText::kMaxWords;
    const bool is_searched = length >= min_read_bases && !is_long;
    if (!is_searched) length = word_count = 0;
    stage_words(tile.words, source, word_count);
    tile.lengths[lane_id()] = (unsigned char)length;
    tile.word_counts[lane_id()] = (unsigned char)word_count;
    tile.counts[lane_id()] = 0;
    __syncwarp();
    if (is_searched) find_rows<kStrands, kPieces>(bwt, jump, tile, length, word_count);
    __syncwarp();
    bool has_many = false;
    const int candidates = number_candidates(tile, is_searched, has_many);
    const int hit_count =
        compare_candidates<kPieces>(bwt, suffixes, reference, tile, candidates, indels);
    const int counts = tile.counts[lane_id()], own_hits = hits_of_counts(counts);
    const int start = sum_to_lane(own_hits) - own_hits;
    tile.hit_starts[lane_id()] = (short)start;
    __syncwarp();
    write_hits(tile, hit_count, slots + (long long)warp * kSlots);
    const bool has_room = !own_hits || start + own_hits <= kSlots;
    const bool is_other = is_long || has_many || !has_room;
    if (number < count) {
        if (number == 0) hit_counts[0] = 0;
        hit_counts[number + 1] = is_other ? 0 : own_hits;
        exact[number] = is_other ? 0 : counts & 0xffff;
        inexact[number] = is_other ? 0 : counts >> 16;
    }
    const unsigned lanes = __ballot_sync(kAllLanes, is_other);
    if (!lanes) return;
    int first = 0;
    if (lane_id() == 0) first = atomicAdd(other_count, __popc(lanes));
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
