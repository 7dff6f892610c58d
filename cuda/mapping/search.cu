// Every hit with at most one error: seeds, candidates, hits. hapgpu/mapping/search/cpu.py does the same.

#include "common/warp.cuh"
#include "mapping/fm_index.cuh"
#include "mapping/hit.cuh"
#include "mapping/packed_reads.cuh"

// Comparing in the reference is cheaper than searching on with so few rows left; with some rows
// after so many steps they are copies of a repeat, and will hardly become fewer.
constexpr unsigned kFewRows = 1, kSomeRows = 8;
constexpr int kManySteps = 4;
constexpr int kMaxHits = 2;  // of one candidate: an insertion and a deletion
constexpr Word kNoHit = ~0ull;

__device__ inline bool has_others(const Word* read, int begin, int end) {
    for (int word = begin / kWordBits; word * kWordBits < end; ++word) {
        const Word span = span_mask(begin - word * kWordBits, end - word * kWordBits);
        if (read[kPlanes * word + 2] & span) return true;
    }
    return false;
}

// Up to 32 bases of a plane, the first one highest.
__device__ inline unsigned reversed_plane(const Word* read, int plane, int begin, int length) {
    const Word* word = read + kPlanes * (begin / kWordBits) + plane;
    const int shift = begin % kWordBits;
    Word bits = word[0] >> shift;
    if (shift + length > kWordBits) bits |= word[kPlanes] << (kWordBits - shift);
    return __brev((unsigned)bits) >> (32 - length);
}

// Moves bit i of 16 to bit 2 i.
__device__ inline unsigned spread(unsigned bits) {
    bits = (bits | bits << 8) & 0x00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f;
    bits = (bits | bits << 2) & 0x33333333;
    return (bits | bits << 1) & 0x55555555;
}

// A thread per piece of a strand of a read: its rows, from the jump table on base by base until
// few are left or the piece ends, and where in the read their suffixes begin. No piece has rows
// beyond the last one, whatever the jump table says, which is not checked at loading.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(256) seed(
    const Occurrences* occurrences, int occurrence_blocks, unsigned primary, const unsigned* jump,
    int jump_length, int jump_entries, const Word* words, int total_words, const int* word_offsets,
    const int* lengths, int reads, int shortest, unsigned* first_rows, int* places,
    long long* row_counts, int seeds
) {
    const int seed = blockIdx.x * blockDim.x + threadIdx.x;
    if (seed >= seeds) return;
    if (seed == 0) row_counts[0] = 0;
    const int piece = seed % kPieces;
    const int strand = seed / kPieces % kStrands;
    const int number = seed / kPieces / kStrands;
    const int length = lengths[number];
    unsigned first = 0, last = 0;
    int place = 0;
    if (length >= shortest) {
        const Word* read = strand_words(words, word_offsets, number, strand);
        const int begin = piece_begin<kPieces>(piece, length);
        const int end = piece_begin<kPieces>(piece + 1, length);
        if (!has_others(read, begin, end)) {
            const int depth = min(jump_length, end - begin);
            place = end - depth;
            const unsigned low = reversed_plane(read, 0, place, depth);
            const unsigned high = reversed_plane(read, 1, place, depth);
            const unsigned word = spread(low) | spread(high) << 1;
            const int unused = 2 * (jump_length - depth);
            last = min(jump[(word + 1) << unused], jump[jump_entries - 1]);
            first = min(jump[word << unused], last);
            for (int steps = 0; place > begin; ++steps) {
                const unsigned rows = last - first;
                if (rows <= kFewRows || (rows <= kSomeRows && steps >= kManySteps)) break;
                --place;
                const int base = base_at(read, place);
                first = preceded(occurrences, primary, base, first);
                last = preceded(occurrences, primary, base, last);
            }
        }
    }
    first_rows[seed] = first;
    places[seed] = place;
    row_counts[seed + 1] = last - first;
}

// Writes, for each candidate from `begin` to `end`, which seed it is of; a warp together where a
// seed has many.
extern "C" __global__ void __launch_bounds__(256) expand_seeds(
    const long long* seed_ends, int seeds, long long begin, long long end, int* owners,
    int candidates
) {
    const int seed = blockIdx.x * blockDim.x + threadIdx.x;
    long long from = 0, to = 0;
    if (seed < seeds) {
        from = max(seed_ends[seed], begin) - begin;
        to = min(seed_ends[seed + 1], end) - begin;
    }
    const bool is_many = to - from > kWarpLanes;
    if (!is_many) {
        for (long long k = from; k < to; ++k) owners[k] = seed;
    }
    unsigned waiting = __ballot_sync(kAllLanes, is_many);
    while (waiting) {
        const int lane = __ffs(waiting) - 1;
        waiting &= waiting - 1;
        const long long lane_from = __shfl_sync(kAllLanes, from, lane);
        const long long lane_to = __shfl_sync(kAllLanes, to, lane);
        const int lane_seed = __shfl_sync(kAllLanes, seed, lane);
        for (long long k = lane_from + lane_id(); k < lane_to; k += kWarpLanes) {
            owners[k] = lane_seed;
        }
    }
}

struct Comparison {
    int mismatches, first, last;  // -1 mismatches: one within the part that has to be exact
};

// A read against the reference from a position on: the number of mismatches, the place of the
// first and of the last, `length` and -1 if there is none.
__device__ inline Comparison compared(
    const Word* planes, const Word* others, const Word* read, int length, long long position,
    int exact_begin, int exact_end
) {
    const long long bit = position + kWordBits;
    const ulonglong2* reference = (const ulonglong2*)planes + bit / kWordBits;
    const Word* other = others + bit / kWordBits;
    const int shift = (int)(bit % kWordBits), carry = kWordBits - 1 - shift;
    ulonglong2 bases = *reference;
    Word rest = *other;
    Comparison result = {0, length, -1};
    for (int begin = 0; begin < length; begin += kWordBits) {
        const ulonglong2 next = *++reference;
        const Word next_rest = *++other;
        Word differs = ((bases.x >> shift | next.x << 1 << carry) ^ read[0])
            | ((bases.y >> shift | next.y << 1 << carry) ^ read[1])
            | (rest >> shift | next_rest << 1 << carry) | read[2];
        bases = next;
        rest = next_rest;
        read += kPlanes;
        if (length - begin < kWordBits) differs &= (1ull << (length - begin)) - 1;
        if (!differs) continue;
        if (differs & span_mask(exact_begin - begin, exact_end - begin)) return {-1, 0, 0};
        if (result.last < 0) result.first = begin + __ffsll(differs) - 1;
        result.last = begin + kWordBits - 1 - __clzll(differs);
        result.mismatches += __popcll(differs);
    }
    return result;
}

__device__ inline int contig_of(const long long* offsets, int contigs, long long position) {
    int low = 0, high = contigs;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (offsets[middle] <= position) low = middle;
        else high = middle;
    }
    return low;
}

// A thread per candidate: the place in the reference that a row of a seed stands for. Writes the
// hits that belong to it. A hit belongs to the half without its error, an exact one to the left.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(256, 4) verify(
    const Occurrences* occurrences, int occurrence_blocks, unsigned primary,
    const unsigned* suffixes, long long suffix_entries, const Word* marks,
    const unsigned* mark_ranks, int mark_words, const Word* planes, const Word* others, int base_blocks,
    const long long* contig_offsets, int contigs, const Word* words, int total_words,
    const int* word_offsets, const int* lengths, int reads, int indels, const unsigned* first_rows,
    const int* places, const long long* seed_ends, int seeds, long long begin, const int* owners,
    Word* found, int* hit_counts, int candidates
) {
    const int candidate = blockIdx.x * blockDim.x + threadIdx.x;
    if (candidate == 0) hit_counts[0] = 0;
    if (candidate >= candidates) return;
    const int seed = owners[candidate];
    const int piece = seed % kPieces;
    const int strand = seed / kPieces % kStrands;
    const int number = seed / kPieces / kStrands;
    const int length = lengths[number];
    const unsigned row = first_rows[seed] + (unsigned)(begin + candidate - seed_ends[seed]);
    const long long total = contig_offsets[contigs];
    const long long diagonal =
        located(occurrences, primary, suffixes, marks, mark_ranks, mark_words, row) - places[seed];
    const Word* read = strand_words(words, word_offsets, number, strand);
    const int exact_begin = piece_begin<kPieces>(piece, length);
    const int exact_end = piece_begin<kPieces>(piece + 1, length);
    const long long anchor = piece == 0 ? diagonal : diagonal + length - 1;
    Word hits[kMaxHits] = {kNoHit, kNoHit};
    Comparison here = {-1, 0, 0};
    if (anchor >= 0 && anchor < total && diagonal >= -1 && diagonal + length <= total + 1) {
        here = compared(planes, others, read, length, diagonal, exact_begin, exact_end);
    }
    if (here.mismatches >= 0) {
        const int contig = contig_of(contig_offsets, contigs, anchor);
        const long long low = contig_offsets[contig], high = contig_offsets[contig + 1];
        if (here.mismatches < kPieces && diagonal >= low && diagonal + length <= high) {
            if (here.mismatches || piece == 0) {
                const int error = here.mismatches ? here.first : 0;
                hits[0] = packed_hit(here.mismatches, diagonal, strand, kUngapped, error);
            }
        } else if (indels && kPieces > 1) {
            // Windows that start here (left half) or end here (right half) with a gap in the
            // other half; an ungapped hit that shares their other end leaves them in its shadow.
            const int toward = piece == 0 ? 1 : -1;
            const long long skipping = piece == 0 ? diagonal : diagonal - 1;
            if (skipping >= low && skipping + length + 1 <= high) {
                const Comparison there =
                    compared(planes, others, read, length, diagonal + toward, 0, 0);
                const int error = (piece == 0 ? there.last : here.last) + 1;
                const int matching = piece == 0 ? here.first : there.first;
                const bool is_owned = piece == 0 ? error >= exact_end : error < exact_begin;
                if (there.mismatches > 1 && is_owned && error <= matching) {
                    hits[0] = packed_hit(1, skipping, strand, kDeletion, error);
                }
            }
            const long long inserting = piece == 0 ? diagonal : diagonal + 1;
            if (inserting >= low && inserting + length - 1 <= high) {
                const long long shadowing = diagonal - toward;
                const Comparison there = compared(planes, others, read, length, shadowing, 0, 0);
                const int error = max(piece == 0 ? there.last : here.last, 0);
                const int matching = piece == 0 ? here.first : there.first;
                const bool is_owned = piece == 0 ? error >= exact_end : error < exact_begin;
                const bool is_shadow = there.mismatches <= 1 && shadowing >= low
                    && shadowing + length <= high;
                if (!is_shadow && is_owned && error <= matching) {
                    hits[1] = packed_hit(1, inserting, strand, kInsertion, error);
                }
            }
        }
    }
    ((ulonglong2*)found)[candidate] = {hits[0], hits[1]};
    hit_counts[candidate + 1] = (hits[0] != kNoHit) + (hits[1] != kNoHit);
}

// Closes the gaps between the hits of candidates, and says which read each of them is of.
extern "C" __global__ void __launch_bounds__(256) collect(
    const Word* found, const int* hit_ends, const int* owners, int candidates, int seeds_per_read,
    Word* hits, int* hit_reads, long long count
) {
    const int candidate = blockIdx.x * blockDim.x + threadIdx.x;
    if (candidate >= candidates) return;
    long long at = hit_ends[candidate];
    const int read = owners[candidate] / seeds_per_read;
    for (int k = 0; k < kMaxHits; ++k) {
        const Word hit = found[(long long)kMaxHits * candidate + k];
        if (hit == kNoHit) continue;
        hits[at] = hit;
        hit_reads[at] = read;
        ++at;
    }
}

// Where the hits of each read end, of those reads whose last candidate is in this part.
extern "C" __global__ void __launch_bounds__(256) end_reads(
    const long long* seed_ends, int seeds, int seeds_per_read, const int* hit_ends,
    int candidates, long long begin, long long base, long long* offsets, int reads
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read == 0) offsets[0] = 0;
    if (read >= reads) return;
    const long long end = seed_ends[(long long)(read + 1) * seeds_per_read] - begin;
    if (end >= 0 && end <= candidates) offsets[read + 1] = base + hit_ends[end];
}

// A thread per hit: writes it to its place among the hits of its read. Those of reads with more
// than `most` are left as they are, and noted. Equal ones, which only an index that was not made as
// it should be leads to, stay in their order: each place is written.
extern "C" __global__ void __launch_bounds__(256) order_hits(
    const Word* hits, const int* hit_reads, long long count, const long long* offsets, int reads,
    int most, Word* ordered, int* has_more, int flags
) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const Word hit = hits[at];
    const long long begin = offsets[hit_reads[at]], end = offsets[hit_reads[at] + 1];
    long long rank = at - begin;
    if (end - begin > most) {
        *has_more = 1;
    } else if (end - begin > 1) {
        rank = 0;
        for (long long other = begin; other < end; ++other) {
            rank += hits[other] < hit || (hits[other] == hit && other < at);
        }
    }
    ordered[begin + rank] = hit;
}
