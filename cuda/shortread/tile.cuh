// Seeds of 32 reads, found by one warp in shared memory.

#include "common/warp.cuh"
#include "shortread/candidates.cuh"
#include "shortread/packing.cuh"
#include "shortread/seeds.cuh"

constexpr int kMaxRows = 64;  // candidates of a read
constexpr int kSlots = 128;   // hits of 32 reads
constexpr int kOther = 255;   // instead of the slot where the hits of a read start

// What is known of a seed, beside the number of its piece.
constexpr unsigned kPieceMask = 127, kIsLocated = 128, kIsWhole = 256;

// The reads, seeds and hits of a warp. `rows` are the first rows of all pieces; then those of the
// seeds, the pieces with candidates, less the number of the first candidate.
// A read has at most `kWords` words per plane.
template <int kStrands, int kPieces, int kWords>
struct Tile {
    static constexpr int kSeeds = kStrands * kPieces, kPiecesOfAll = kSeeds * kWarpLanes;
    static constexpr int kReadWords = 2 * kPlanes * kWords;
    static constexpr int kStride = kReadWords + 1;  // odd: the lanes' reads are in different banks
    Word words[kWarpLanes * kStride + kPlanes];  // words after those of a read may be loaded
    union {
        Word hits[kSlots];
        unsigned end_rows[kPiecesOfAll];  // until candidates are compared
    };
    unsigned rows[kPiecesOfAll];
    unsigned heads[kMaxRows];             // a bit per candidate: the first one of a seed
    int counts[kWarpLanes];               // hits without an error, and with one from bit 16 on
    unsigned short pieces[kPiecesOfAll];  // pieces to search further; then of each seed
    short hit_starts[kWarpLanes];
    unsigned char lengths[kWarpLanes], word_counts[kWarpLanes];
    unsigned char offsets[kPiecesOfAll];  // where the suffixes of a piece start in the read
    unsigned char owners[kSlots];         // of each hit

    // The first word of a strand of the read of a lane.
    __device__ const Word* strand(int lane, int strand) const {
        return words + lane * kStride + strand * kPlanes * word_counts[lane];
    }
};

// Makes the bits of the letters of all reads, 16 letters per lane at a time, eight lanes per read.
// Those of a plane follow each other in the words of the read, from a multiple of 16 bytes of the text
// on. First come the first 128 bytes of reads that are not near an end of the text, so that several
// loads are in flight; then all others.
template <int kStrands, int kPieces, int kWords>
__device__ inline void code_letters(
    Tile<kStrands, kPieces, kWords>& tile, Text text, int start, int length
) {
    constexpr int kGroups = kWarpLanes / kGroup, kChunks = kWordBits / kChunk * (kWords + 1);
    const int shift = shift_of(text, start), first = start - shift;
    const int end = length ? shift + length : 0;
    const bool is_within = first >= 0 && first + (end + kChunk - 1) / kChunk * kChunk <= text.size;
    const int coded = is_within ? min(end, kPassBytes) : 0;
    const int group = lane_id() / kGroup, first_chunk = lane_id() % kGroup;
    const auto code = [&](int slot, int chunk, int4 letters) {
        unsigned short* bits = (unsigned short*)(tile.words + slot * tile.kStride) + chunk;
        const Bits found = codes_of(letters);
        bits[0] = (unsigned short)found.low;
        bits[kChunks] = (unsigned short)found.high;
        bits[2 * kChunks] = (unsigned short)found.others;
    };
    constexpr int kLoads = 4;
    for (int base = 0; base < kWarpLanes; base += kLoads * kGroups) {
        int4 letters[kLoads];
        bool is_coded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
            const int slot = base + k * kGroups + group;
            const int slot_first = __shfl_sync(kAllLanes, first, slot);
            is_coded[k] = first_chunk * kChunk < __shfl_sync(kAllLanes, coded, slot);
            letters[k] = {0, 0, 0, 0};
            const int4* chunks = (const int4*)(text.bytes + slot_first);
            if (is_coded[k]) letters[k] = chunks[first_chunk];
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
            if (is_coded[k]) code(base + k * kGroups + group, first_chunk, letters[k]);
        }
    }
    for (int base = 0; __any_sync(kAllLanes, coded < end) && base < kWarpLanes; base += kGroups) {
        const int slot_first = __shfl_sync(kAllLanes, first, base + group);
        const int slot_coded = __shfl_sync(kAllLanes, coded, base + group);
        const int slot_end = __shfl_sync(kAllLanes, end, base + group);
        for (int chunk = first_chunk; chunk * kChunk < slot_end; chunk += kGroup) {
            if (chunk * kChunk < slot_coded) continue;
            code(base + group, chunk, load_chunk(text, slot_first + chunk * kChunk));
        }
    }
    __syncwarp();
}

// Packs the read of each lane, whose letters are coded, into the words of both strands.
template <int kStrands, int kPieces, int kWords>
__device__ inline void pack(Tile<kStrands, kPieces, kWords>& tile, int shift, int length) {
    Word* words = tile.words + lane_id() * tile.kStride;
    Word bits[kPlanes][kWords + 1];
#pragma unroll
    for (int k = 0; k < kPlanes * (kWords + 1); ++k) {
        bits[k / (kWords + 1)][k % (kWords + 1)] = words[k];
    }
    Word used[kWords];  // the bits of bases
#pragma unroll
    for (int k = 0; k < kWords; ++k) used[k] = span_mask(0, length - k * kWordBits);
    // The reverse strand is the last `length` bits of all words, in reverse order.
    const int unused = kWords * kWordBits - length, word_count = (length + kWordBits - 1) / kWordBits;
    Word* reverse = words + kPlanes * word_count;
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane) {
        const Shifted<kWords> forward(bits[plane], shift);
        Word backward[kWords + 1] = {};
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            words[kPlanes * k + plane] = forward.words[k] & used[k];
            const Word turned = reversed(forward.words[k] & used[k]);
#pragma unroll
            for (int at = 0; at < kWords; ++at) {
                if (kWords - 1 - k - at == unused / kWordBits) backward[at] = turned;
            }
        }
        const Shifted<kWords> shifted(backward, unused % kWordBits);
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            bits[plane][k] = (plane < 2 ? ~shifted.words[k] : shifted.words[k]) & used[k];
        }
    }
#pragma unroll
    for (int k = 0; k < kPlanes * kWords; ++k) reverse[k] = bits[k % kPlanes][k / kPlanes];
}

// Packs the reads of all lanes.
template <typename Tile>
__device__ inline void pack_tile(Tile& tile, Text text, int start, int length) {
    code_letters(tile, text, start, length);
    pack(tile, shift_of(text, start), length);
    tile.lengths[lane_id()] = (unsigned char)length;
    tile.word_counts[lane_id()] = (unsigned char)((length + kWordBits - 1) / kWordBits);
    tile.counts[lane_id()] = 0;
    __syncwarp();
}

// Returns 32 bits of a plane from a bit on; those after the read are any.
__device__ inline unsigned bits_from(const Word* read, int plane, unsigned bit) {
    const Word* word = read + kPlanes * (bit / kWordBits) + plane;
    const unsigned shift = bit % kWordBits;
    const bool is_upper = shift >= 32;
    const unsigned low = is_upper ? word[0] >> 32 : word[0];
    const unsigned high = is_upper ? word[kPlanes] : word[0] >> 32;
    return __funnelshift_r(low, high, shift);
}

// Rows of a piece of a read, from the jump table.
struct PieceRows {
    unsigned first, end;
    int offset;
};

// `mirror` is the other strand: its bases from `mirror_start` on are the complements of those of the
// piece, from the last one on, as the jump table has them.
__device__ inline PieceRows jump_rows(
    JumpTable jump, const Word* mirror, unsigned mirror_start, int piece_end, int piece_length
) {
    const int depth = min(jump.length, piece_length);
    const unsigned used = (1u << depth) - 1;
    const unsigned low = ~bits_from(mirror, 0, mirror_start) & used;
    const unsigned high = ~bits_from(mirror, 1, mirror_start) & used;
    const unsigned kmer = spread(low) | spread(high) << 1;
    const int unused = 2 * (jump.length - depth);
    return {jump.rows[kmer << unused], jump.rows[(kmer + 1) << unused], piece_end - depth};
}

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

// Finds the rows of all pieces of the read of a lane by the jump table, and puts the pieces to
// search further into a list. Returns their number. Pieces of no bases have no rows.
template <int kStrands, int kPieces, int kWords>
__device__ inline int jump(
    JumpTable jump, Tile<kStrands, kPieces, kWords>& tile, int length
) {
    constexpr int kSeeds = kStrands * kPieces;
    const int first_piece = lane_id() * kSeeds;
    const Word* forward = tile.strand(lane_id(), 0);
    const int word_count = tile.word_counts[lane_id()];
    bool is_mixed = false;
#pragma unroll
    for (int k = 0; k < kWords; ++k) is_mixed |= k < word_count && forward[kPlanes * k + 2];
    const unsigned last_row = jump.rows[jump.entries - 1];
    PieceRows found[kSeeds];
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        const int start = piece_start<kPieces>(k % kPieces, length);
        const int end = piece_start<kPieces>(k % kPieces + 1, length);
        const Word* mirror = forward + (k / kPieces ? 0 : kPlanes * word_count);
        found[k] = {0, 0, 0};
        const bool is_searched = length
            && !(is_mixed && has_others(tile.strand(lane_id(), k / kPieces), start, end));
        const int mirror_start = k % kPieces == kPieces - 1 ? 0 : length - end;
        if (is_searched) found[k] = jump_rows(jump, mirror, mirror_start, end, end - start);
    }
    int pending = 0;
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        const unsigned end = min(found[k].end, last_row), first = min(found[k].first, end);
        const int piece = first_piece + k;
        tile.rows[piece] = first;
        tile.end_rows[piece] = end;
        tile.offsets[piece] = (unsigned char)found[k].offset;
        const bool is_pending = end - first > kFewRows
            && found[k].offset > piece_start<kPieces>(k % kPieces, length);
        const unsigned lanes = __ballot_sync(kAllLanes, is_pending);
        if (is_pending) tile.pieces[pending + __popc(lanes & lower_lanes())] = piece;
        pending += __popc(lanes);
    }
    __syncwarp();
    return pending;
}

// Same as `base_at`, with loads of bytes, which meet in fewer banks.
__device__ inline int base_of(const Word* read, unsigned offset) {
    const unsigned at = offset % kWordBits;
    const unsigned char* bytes =
        (const unsigned char*)(read + kPlanes * (offset / kWordBits)) + at / 8;
    return (bytes[0] >> at % 8 & 1) | (bytes[sizeof(Word)] >> at % 8 & 1) << 1;
}

// Searches listed pieces base by base, as `seed` of search.cu: a lane that ends one takes the next.
template <int kStrands, int kPieces, int kWords>
__device__ inline void extend(Bwt bwt, Tile<kStrands, kPieces, kWords>& tile, int pending) {
    constexpr int kSeeds = kStrands * kPieces;
    int taken = 0, piece = -1, offset = 0, start = 0, steps = 0;
    unsigned first = 0, end = 0;
    const Word* read = tile.words;
    while (true) {
        const unsigned idle = __ballot_sync(kAllLanes, piece < 0);
        if (taken >= pending && idle == kAllLanes) break;
        const int next = taken + __popc(idle & lower_lanes());
        taken += __popc(idle);
        if (piece < 0 && next < pending) {
            piece = tile.pieces[next];
            const unsigned owner = piece / kSeeds, k = piece % kSeeds;
            first = tile.rows[piece];
            end = tile.end_rows[piece];
            offset = tile.offsets[piece];
            start = piece_start<kPieces>(k % kPieces, tile.lengths[owner]);
            read = tile.strand(owner, k / kPieces);
            steps = 0;
        }
        if (piece < 0) continue;
        --offset;
        ++steps;
        step_back(bwt, base_of(read, offset), first, end);
        const unsigned rows = end - first;
        const bool is_few = rows <= kFewRows || (rows <= kSomeRows && steps >= kManySteps);
        if (is_few || offset == start) {
            tile.rows[piece] = first;
            tile.end_rows[piece] = end;
            tile.offsets[piece] = (unsigned char)offset;
            piece = -1;
        }
    }
    __syncwarp();
}

// Makes seeds of the pieces with candidates, but of reads with more than kMaxRows, for which
// `has_many` is set. Returns the number of candidates of the warp. If each half of a strand has one
// candidate, on the same diagonal, there is one seed for both.
template <int kStrands, int kPieces, int kWords>
__device__ inline int number_candidates(
    SuffixArray suffixes, Tile<kStrands, kPieces, kWords>& tile, unsigned positions, bool& has_many
) {
    constexpr int kSeeds = kStrands * kPieces;
    const int first_piece = lane_id() * kSeeds, length = tile.lengths[lane_id()];
    unsigned rows[kSeeds], counts[kSeeds], flags[kSeeds];
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        rows[k] = tile.rows[first_piece + k];
        counts[k] = tile.end_rows[first_piece + k] - rows[k];
        flags[k] = counts[k] == 1 && !suffixes.mark_words ? kIsLocated : 0;
        if (flags[k]) rows[k] = suffixes.positions[rows[k]];
    }
    if (kPieces == 2) {
#pragma unroll
        for (int k = 0; k < kSeeds; k += 2) {
            const unsigned diagonal = rows[k] - tile.offsets[first_piece + k];
            const bool is_same = flags[k] && flags[k + 1]
                && diagonal == rows[k + 1] - tile.offsets[first_piece + k + 1];
            if (is_same && (unsigned long long)diagonal + length <= positions) {
                flags[k] |= kIsWhole;
                counts[k + 1] = 0;
            }
        }
    }
    unsigned candidates = 0, seeds = 0;
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
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
        tile.rows[seed] = rows[k] - start;
        tile.pieces[seed] = (unsigned short)((first_piece + k) | flags[k]);
        atomicOr(&tile.heads[start / kWarpLanes], 1u << start % kWarpLanes);
        start += counts[k];
        ++seed;
    }
    __syncwarp();
    return total;
}
