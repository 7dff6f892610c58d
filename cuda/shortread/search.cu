// Search for every hit with at most one error: seeds, candidates, hits. Same as
// hapgpu/shortread/search/cpu.py.

#include "common/warp.cuh"
#include "shortread/candidates.cuh"
#include "shortread/seeds.cuh"

// One thread per piece of a strand of a read: finds the rows of the piece, from the jump table
// base by base until few rows are left or the piece ends, and the offset in the read at which
// their suffixes start. Rows are limited to the last row: the jump table is not checked at loading.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(256) seed(
    Bwt bwt, JumpTable jump, PackedReads reads, int min_read_bases, unsigned* first_rows,
    int* read_offsets, long long* row_counts, int seeds
) {
    const int seed = blockIdx.x * blockDim.x + threadIdx.x;
    if (seed >= seeds) return;
    if (seed == 0) row_counts[0] = 0;
    const int piece = seed % kPieces;
    const int strand = seed / kPieces % kStrands;
    const int number = seed / kPieces / kStrands;
    const int length = reads.lengths[number];
    unsigned first_row = 0, end_row = 0;
    int offset = 0;
    if (length >= min_read_bases) {
        const Word* read = strand_words(reads, number, strand);
        const int start = piece_start<kPieces>(piece, length);
        const int end = piece_start<kPieces>(piece + 1, length);
        if (!has_others(read, start, end)) {
            const int depth = min(jump.length, end - start);
            offset = end - depth;
            const unsigned low = reversed_plane(read, 0, offset, depth);
            const unsigned high = reversed_plane(read, 1, offset, depth);
            const unsigned kmer = spread(low) | spread(high) << 1;
            const int unused = 2 * (jump.length - depth);
            end_row = min(jump.rows[(kmer + 1) << unused], jump.rows[jump.entries - 1]);
            first_row = min(jump.rows[kmer << unused], end_row);
            for (int steps = 0; offset > start; ++steps) {
                const unsigned rows = end_row - first_row;
                if (rows <= kFewRows || (rows <= kSomeRows && steps >= kManySteps)) break;
                --offset;
                const int base = base_at(read, offset);
                first_row = backward_step(bwt, base, first_row);
                end_row = backward_step(bwt, base, end_row);
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
    const long long* seed_ends, int seeds, long long start, long long end, int* owners
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

// One thread per candidate, which is the position of a row of a seed: writes the hits that belong
// to it.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(256, kVerifyBlocks) verify(
    Bwt bwt, SuffixArray suffixes, Reference reference, PackedReads reads, Seeds seeds, int indels,
    long long start, const int* owners, Word* candidate_hits, int* hit_counts, int candidates
) {
    const int candidate = blockIdx.x * blockDim.x + threadIdx.x;
    if (candidate == 0) hit_counts[0] = 0;
    if (candidate >= candidates) return;
    const int seed = owners[candidate];
    const int strand = seed / kPieces % kStrands, number = seed / kPieces / kStrands;
    const Word* read = strand_words(reads, number, strand);
    const Query query{read, reads.lengths[number], seed % kPieces, strand};
    const unsigned row =
        seeds.first_rows[seed] + (unsigned)(start + candidate - seeds.ends[seed]);
    const long long diagonal = locate(bwt, suffixes, row) - seeds.read_offsets[seed];
    const CandidateHits found = hits_of<kPieces>(reference, query, diagonal, indels);
    ((ulonglong2*)candidate_hits)[candidate] = {found.hits[0], found.hits[1]};
    hit_counts[candidate + 1] = (found.hits[0] != kNoHit) + (found.hits[1] != kNoHit);
}

// One thread per candidate: copies its hits to an array without gaps, and writes their reads.
extern "C" __global__ void __launch_bounds__(256) collect(
    const Word* candidate_hits, const int* hit_ends, const int* owners, int candidates,
    int seeds_per_read, Word* hits, int* hit_reads
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
    const long long* seed_ends, int seeds_per_read, const int* hit_ends, int candidates,
    long long start, long long base, long long* offsets, int reads
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read == 0) offsets[0] = 0;
    if (read >= reads) return;
    const long long end = seed_ends[(long long)(read + 1) * seeds_per_read] - start;
    if (end >= 0 && end <= candidates) offsets[read + 1] = base + hit_ends[end];
}

// One thread per hit: writes it to its rank among the hits of its read, from the offset of the read
// in the result on. Hits of reads with more than `max_ranked` hits keep their order, and `has_more`
// is set. Equal hits, which only an incorrect index gives, keep their order too, so that every
// element is written.
extern "C" __global__ void __launch_bounds__(256) order_hits(
    const Word* hits, const int* hit_reads, long long count, const long long* offsets,
    int max_ranked, const long long* ordered_offsets, Word* ordered, int* has_more
) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    const Word hit = hits[at];
    const int read = hit_reads[at];
    const long long start = offsets[read], end = offsets[read + 1];
    long long rank = at - start;
    if (end - start > max_ranked) {
        *has_more = 1;
    } else if (end - start > 1) {
        rank = 0;
        for (long long other = start; other < end; ++other) {
            rank += hits[other] < hit || (hits[other] == hit && other < at);
        }
    }
    ordered[ordered_offsets[read] + rank] = hit;
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

// One thread per read: counts its hits without an error and with one.
extern "C" __global__ void __launch_bounds__(256) count_distances(
    const Word* hits, const long long* offsets, int reads, int* exact, int* inexact
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= reads) return;
    long long low = offsets[read], high = offsets[read + 1];
    const long long start = low, end = high;
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (distance_of(hits[middle]) == 0) low = middle + 1;
        else high = middle;
    }
    exact[read] = (int)(low - start);
    inexact[read] = (int)(end - low);
}
