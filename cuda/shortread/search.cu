// Search for every hit with at most one error: seeds, candidates, hits. Same as
// hapgpu/shortread/search/cpu.py.

#include "common/warp.cuh"
#include "shortread/fm_index.cuh"
#include "shortread/hit.cuh"
#include "shortread/packed_reads.cuh"

// With kFewRows left, a comparison with the reference is cheaper than further search. kSomeRows
// after kManySteps are copies of a repeat, and will hardly become fewer.
constexpr unsigned kFewRows = 1, kSomeRows = 8;
constexpr int kManySteps = 4;
constexpr int kMaxHits = 2;  // per candidate: a deletion and an insertion
constexpr Word kNoHit = ~0ull;

__device__ inline bool has_others(const Word* read, int start, int end) {
    for (int word = start / kWordBits; word * kWordBits < end; ++word) {
        const Word span = span_mask(start - word * kWordBits, end - word * kWordBits);
        if (read[kPlanes * word + 2] & span) return true;
    }
    return false;
}

// Returns up to 32 bases of a plane, the first one in the highest bit.
__device__ inline unsigned reversed_plane(const Word* read, int plane, int start, int length) {
    const Word* word = read + kPlanes * (start / kWordBits) + plane;
    const int shift = start % kWordBits;
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

// One thread per piece of a strand of a read: finds the rows of the piece, from the jump table
// base by base until few rows are left or the piece ends, and the offset in the read at which
// their suffixes start. Rows are limited to the last row: the jump table is not checked at loading.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(256) seed(
    const Occurrences* occurrences, int occurrence_blocks, unsigned primary, const unsigned* jump,
    int jump_length, int jump_entries, const Word* words, int total_words, const int* word_offsets,
    const int* lengths, int reads, int min_read_bases, unsigned* first_rows, int* read_offsets,
    long long* row_counts, int seeds
) {
    const int seed = blockIdx.x * blockDim.x + threadIdx.x;
    if (seed >= seeds) return;
    if (seed == 0) row_counts[0] = 0;
    const int piece = seed % kPieces;
    const int strand = seed / kPieces % kStrands;
    const int number = seed / kPieces / kStrands;
    const int length = lengths[number];
    unsigned first_row = 0, end_row = 0;
    int offset = 0;
    if (length >= min_read_bases) {
        const Word* read = strand_words(words, word_offsets, number, strand);
        const int start = piece_start<kPieces>(piece, length);
        const int end = piece_start<kPieces>(piece + 1, length);
        if (!has_others(read, start, end)) {
            const int depth = min(jump_length, end - start);
            offset = end - depth;
            const unsigned low = reversed_plane(read, 0, offset, depth);
            const unsigned high = reversed_plane(read, 1, offset, depth);
            const unsigned kmer = spread(low) | spread(high) << 1;
            const int unused = 2 * (jump_length - depth);
            end_row = min(jump[(kmer + 1) << unused], jump[jump_entries - 1]);
            first_row = min(jump[kmer << unused], end_row);
            for (int steps = 0; offset > start; ++steps) {
                const unsigned rows = end_row - first_row;
                if (rows <= kFewRows || (rows <= kSomeRows && steps >= kManySteps)) break;
                --offset;
                const int base = base_at(read, offset);
                first_row = backward_step(occurrences, primary, base, first_row);
                end_row = backward_step(occurrences, primary, base, end_row);
            }
        }
    }
    first_rows[seed] = first_row;
    read_offsets[seed] = offset;
    row_counts[seed + 1] = end_row - first_row;
}

// Writes the seed of each candidate from `start` to `end`: one thread per seed; one warp per seed
// with many candidates.
extern "C" __global__ void __launch_bounds__(256) expand_seeds(
    const long long* seed_ends, int seeds, long long start, long long end, int* owners,
    int candidates
) {
    const int seed = blockIdx.x * blockDim.x + threadIdx.x;
    long long own_start = 0, own_end = 0;
    if (seed < seeds) {
        own_start = max(seed_ends[seed], start) - start;
        own_end = min(seed_ends[seed + 1], end) - start;
    }
    const bool has_many = own_end - own_start > kWarpLanes;
    if (!has_many) {
        for (long long k = own_start; k < own_end; ++k) owners[k] = seed;
    }
    unsigned waiting = __ballot_sync(kAllLanes, has_many);
    while (waiting) {
        const int lane = __ffs(waiting) - 1;
        waiting &= waiting - 1;
        const long long lane_start = __shfl_sync(kAllLanes, own_start, lane);
        const long long lane_end = __shfl_sync(kAllLanes, own_end, lane);
        const int lane_seed = __shfl_sync(kAllLanes, seed, lane);
        for (long long k = lane_start + lane_id(); k < lane_end; k += kWarpLanes) {
            owners[k] = lane_seed;
        }
    }
}

struct Comparison {
    int mismatches, first, last;  // -1 mismatches: a mismatch within the exact part
};

// Compares a read with the reference from a position on. Returns the number of mismatches and the
// offsets of the first and the last mismatch, `length` and -1 without mismatches.
__device__ inline Comparison compare(
    const Word* planes, const Word* others, const Word* read, int length, long long position,
    int exact_start, int exact_end
) {
    const long long bit = position + kWordBits;
    const ulonglong2* reference = (const ulonglong2*)planes + bit / kWordBits;
    const Word* other = others + bit / kWordBits;
    const int shift = (int)(bit % kWordBits), carry = kWordBits - 1 - shift;
    ulonglong2 bases = *reference;
    Word other_bits = *other;
    Comparison result = {0, length, -1};
    for (int start = 0; start < length; start += kWordBits) {
        const ulonglong2 next = *++reference;
        const Word next_other_bits = *++other;
        Word differs = ((bases.x >> shift | next.x << 1 << carry) ^ read[0])
            | ((bases.y >> shift | next.y << 1 << carry) ^ read[1])
            | (other_bits >> shift | next_other_bits << 1 << carry) | read[2];
        bases = next;
        other_bits = next_other_bits;
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

__device__ inline int contig_of(const long long* offsets, int contigs, long long position) {
    int low = 0, high = contigs;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (offsets[middle] <= position) low = middle;
        else high = middle;
    }
    return low;
}

// One thread per candidate, which is the position of a row of a seed: writes the hits that belong
// to it. A hit belongs to the half without its error, an exact hit to the left half.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(256, 4) verify(
    const Occurrences* occurrences, int occurrence_blocks, unsigned primary,
    const unsigned* suffixes, long long suffix_entries, const Word* marks,
    const unsigned* mark_ranks, int mark_words, const Word* planes, const Word* others,
    int base_blocks, const long long* contig_offsets, int contigs, const Word* words,
    int total_words, const int* word_offsets, const int* lengths, int reads, int indels,
    const unsigned* first_rows, const int* read_offsets, const long long* seed_ends, int seeds,
    long long start, const int* owners, Word* candidate_hits, int* hit_counts, int candidates
) {
    const int candidate = blockIdx.x * blockDim.x + threadIdx.x;
    if (candidate == 0) hit_counts[0] = 0;
    if (candidate >= candidates) return;
    const int seed = owners[candidate];
    const int piece = seed % kPieces;
    const int strand = seed / kPieces % kStrands;
    const int number = seed / kPieces / kStrands;
    const int length = lengths[number];
    const unsigned row = first_rows[seed] + (unsigned)(start + candidate - seed_ends[seed]);
    const long long total = contig_offsets[contigs];
    const long long diagonal =
        locate(occurrences, primary, suffixes, marks, mark_ranks, mark_words, row)
        - read_offsets[seed];
    const Word* read = strand_words(words, word_offsets, number, strand);
    const int exact_start = piece_start<kPieces>(piece, length);
    const int exact_end = piece_start<kPieces>(piece + 1, length);
    const long long anchor = piece == 0 ? diagonal : diagonal + length - 1;
    Word hits[kMaxHits] = {kNoHit, kNoHit};
    Comparison own = {-1, 0, 0};
    if (anchor >= 0 && anchor < total && diagonal >= -1 && diagonal + length <= total + 1) {
        own = compare(planes, others, read, length, diagonal, exact_start, exact_end);
    }
    if (own.mismatches >= 0) {
        const int contig = contig_of(contig_offsets, contigs, anchor);
        const long long low = contig_offsets[contig], high = contig_offsets[contig + 1];
        if (own.mismatches < kPieces && diagonal >= low && diagonal + length <= high) {
            if (own.mismatches || piece == 0) {
                const int error = own.mismatches ? own.first : 0;
                hits[0] = packed_hit(own.mismatches, diagonal, strand, kUngapped, error);
            }
        } else if (indels && kPieces > 1) {
            // Hits that start (left half) or end (right half) at the candidate, with a gap in the
            // other half; an ungapped hit with the same end (start) excludes them. After (before) the
            // error, the read must match beside the candidate: most comparisons end there.
            const int step = piece == 0 ? 1 : -1;
            const long long deletion_start = piece == 0 ? diagonal : diagonal - 1;
            if (deletion_start >= low && deletion_start + length + 1 <= high) {
                const int matching_start = piece == 0 ? own.first : 0;
                const int matching_end = piece == 0 ? length : own.last + 1;
                const Comparison neighbor = compare(
                    planes, others, read, length, diagonal + step, matching_start, matching_end
                );
                const int error = (piece == 0 ? neighbor.last : own.last) + 1;
                const bool is_owned = piece == 0 ? error >= exact_end : error < exact_start;
                if (neighbor.mismatches > 1 && is_owned) {
                    hits[0] = packed_hit(1, deletion_start, strand, kDeletion, error);
                }
            }
            const long long insertion_start = piece == 0 ? diagonal : diagonal + 1;
            if (insertion_start >= low && insertion_start + length - 1 <= high) {
                const long long beside = diagonal - step;
                const int matching_start = piece == 0 ? own.first + 1 : 0;
                const int matching_end = piece == 0 ? length : max(own.last, 0);
                const Comparison neighbor = compare(
                    planes, others, read, length, beside, matching_start, matching_end
                );
                const int error = max(piece == 0 ? neighbor.last : own.last, 0);
                const bool is_owned = piece == 0 ? error >= exact_end : error < exact_start;
                const bool is_excluded = neighbor.mismatches <= 1 && beside >= low
                    && beside + length <= high;
                if (neighbor.mismatches >= 0 && !is_excluded && is_owned) {
                    hits[1] = packed_hit(1, insertion_start, strand, kInsertion, error);
                }
            }
        }
    }
    ((ulonglong2*)candidate_hits)[candidate] = {hits[0], hits[1]};
    hit_counts[candidate + 1] = (hits[0] != kNoHit) + (hits[1] != kNoHit);
}

// One thread per candidate: copies its hits to an array without gaps, and writes their reads.
extern "C" __global__ void __launch_bounds__(256) collect(
    const Word* candidate_hits, const int* hit_ends, const int* owners, int candidates,
    int seeds_per_read, Word* hits, int* hit_reads, long long count
) {
    const int candidate = blockIdx.x * blockDim.x + threadIdx.x;
    if (candidate >= candidates) return;
    long long at = hit_ends[candidate];
    const int read = owners[candidate] / seeds_per_read;
    for (int k = 0; k < kMaxHits; ++k) {
        const Word hit = candidate_hits[(long long)kMaxHits * candidate + k];
        if (hit == kNoHit) continue;
        hits[at] = hit;
        hit_reads[at] = read;
        ++at;
    }
}

// One thread per read: writes the end of its hits if its last candidate is in this batch.
// `base` is the number of hits of earlier batches.
extern "C" __global__ void __launch_bounds__(256) end_reads(
    const long long* seed_ends, int seeds, int seeds_per_read, const int* hit_ends,
    int candidates, long long start, long long base, long long* offsets, int reads
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read == 0) offsets[0] = 0;
    if (read >= reads) return;
    const long long end = seed_ends[(long long)(read + 1) * seeds_per_read] - start;
    if (end >= 0 && end <= candidates) offsets[read + 1] = base + hit_ends[end];
}

// One thread per hit: writes it to its rank among the hits of its read. Hits of reads with more
// than `max_ranked` hits keep their order, and `has_more` is set. Equal hits, which only an
// incorrect index gives, keep their order too, so that every element is written.
extern "C" __global__ void __launch_bounds__(256) order_hits(
    const Word* hits, const int* hit_reads, long long count, const long long* offsets, int reads,
    int max_ranked, Word* ordered, int* has_more, int flags
) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const Word hit = hits[at];
    const long long start = offsets[hit_reads[at]], end = offsets[hit_reads[at] + 1];
    long long rank = at - start;
    if (end - start > max_ranked) {
        *has_more = 1;
    } else if (end - start > 1) {
        rank = 0;
        for (long long other = start; other < end; ++other) {
            rank += hits[other] < hit || (hits[other] == hit && other < at);
        }
    }
    ordered[start + rank] = hit;
}

// One thread per hit: makes a key that orders hits by read, then as their numbers do. The offset of
// the error is left out: no two hits of a read differ in it alone.
extern "C" __global__ void __launch_bounds__(256) key_hits(
    const Word* hits, const int* hit_reads, long long count, Word* keys
) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const Hit hit(hits[at]);
    keys[at] = (Word)hit_reads[at] << 36 | (Word)hit.distance << 35 | (Word)hit.start << 3
        | (Word)hit.strand << 2 | (Word)hit.kind;
}

// One thread block per read with many hits: writes its `most` least hits in order, and after them
// as many numbers as it has other hits, which hold a distance only.
extern "C" __global__ void __launch_bounds__(256) select_hits(
    const Word* hits, long long count, const long long* offsets, int reads, const long long* chosen,
    int chosen_reads, int most, Word* ordered
) {
    constexpr int kWarps = 256 / kWarpLanes;
    __shared__ Word least[kWarps];
    __shared__ int exact;
    const long long start = offsets[chosen[blockIdx.x]], end = offsets[chosen[blockIdx.x] + 1];
    if (threadIdx.x == 0) exact = 0;
    __syncthreads();
    int own_exact = 0;
    for (long long at = start + threadIdx.x; at < end; at += blockDim.x) {
        own_exact += distance_of(hits[at]) == 0;
    }
    atomicAdd(&exact, own_exact);
    Word last = 0;
    for (int rank = 0; rank < most; ++rank) {
        Word own = kNoHit;
        for (long long at = start + threadIdx.x; at < end; at += blockDim.x) {
            const Word hit = hits[at];
            if (hit < own && (rank == 0 || hit > last)) own = hit;
        }
        for (int distance = kWarpLanes / 2; distance; distance /= 2) {
            const Word other = __shfl_xor_sync(kAllLanes, own, distance);
            if (other < own) own = other;
        }
        if (lane_id() == 0) least[threadIdx.x / kWarpLanes] = own;
        __syncthreads();
        own = kNoHit;
        for (int warp = 0; warp < kWarps; ++warp) {
            if (least[warp] < own) own = least[warp];
        }
        __syncthreads();
        if (own != kNoHit) last = own;  // always, but for equal hits of an incorrect index
        if (threadIdx.x == 0) ordered[start + rank] = last;
    }
    for (long long at = start + most + threadIdx.x; at < end; at += blockDim.x) {
        ordered[at] = (Word)(at - start >= exact) << kDistanceShift;
    }
}
