// Search of short reads with many candidates or hits, those that search_reads.cu leaves: each thread
// block searches one read at a time.

#include "shortread/seed_hits.cuh"

constexpr int kThreads = 128, kBlocks = 4;  // blocks of a multiprocessor: no registers are spilled
constexpr unsigned kMaxCandidates = 8192;   // of a read
constexpr int kMaxRanked = 1024;            // hits of a read

// Hits of reads one after the other, in any order of the reads.
struct HitPool {
    Word* hits;
    long long size;
};

// Hits of a read, in any order; more than kMaxRanked are counted only.
struct ReadHits {
    Word hits[kMaxRanked];
    int count, exact;

    __device__ void add(Word hit) {
        const int at = atomicAdd(&count, 1);
        if (at < kMaxRanked) hits[at] = hit;
        if (distance_of(hit) == 0) atomicAdd(&exact, 1);
    }
};

// Finds the hits of the only read of a tile, in the first lane, by all threads. Returns whether it has
// too many candidates.
template <int kStrands, int kPieces, int kWords>
__device__ inline bool find_hits(
    Bwt bwt, SuffixArray suffixes, const Reference& reference,
    const Tile<kStrands, kPieces, kWords>& tile, unsigned positions, bool indels, ReadHits& found
) {
    constexpr int kSeeds = kStrands * kPieces;
    const int length = tile.lengths[0];
    unsigned total = 0;
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        total += min(tile.end_rows[k] - tile.rows[k], kMaxCandidates + 1);
    }
    if (total > kMaxCandidates) return true;
    for (unsigned candidate = threadIdx.x; candidate < total; candidate += kThreads) {
        int piece = 0;
        unsigned row = tile.rows[0] + candidate;
        while (row >= tile.end_rows[piece]) {
            row -= tile.end_rows[piece];
            row += tile.rows[++piece];
        }
        const int strand = piece / kPieces;
        const Query query{tile.strand(0, strand), length, piece % kPieces, strand};
        const unsigned start =
            (unsigned)locate(bwt, suffixes, row) + 1 - tile.offsets[piece];
        if (start - (query.piece == 0) > positions + 1 - length) continue;
        bool is_cut = false;
        const CandidateHits hits =
            hits_of_seed<kPieces, kWords>(reference, query, start, false, indels, is_cut);
#pragma unroll
        for (int k = 0; k < kMaxHits; ++k) {
            if (hits.hits[k] != kNoHit) found.add(hits.hits[k]);
        }
    }
    return false;
}

// Writes the hits in ascending order; equal ones, which only an incorrect index gives, too.
__device__ inline void write_ranked(const ReadHits& found, Word* target) {
    for (int k = threadIdx.x; k < found.count; k += kThreads) {
        const Word hit = found.hits[k];
        int rank = 0;
        for (int other = 0; other < found.count; ++other) {
            rank += found.hits[other] < hit || (found.hits[other] == hit && other < k);
        }
        target[rank] = hit;
    }
}

// One thread block per read of `others` at a time: writes its numbers of hits, and its hits in
// ascending order to the pool. Reads with too many candidates or hits, and those that the pool has no
// room for, get none, and -1 as start: their numbers are appended to `rest`.
template <int kStrands, int kPieces, int kWords>
__global__ void __launch_bounds__(kThreads, kBlocks) search_repeats(
    Bwt bwt, JumpTable jump_table, SuffixArray suffixes, Reference reference, Text text,
    const int* starts, const int* lengths, int indels, int count, const int* others,
    const Word* other_count, HitPool pool, Word* pool_used, int* pool_starts,
    long long* hit_counts, int* exact, int* inexact, int* rest, Word* rest_count
) {
    __shared__ Tile<kStrands, kPieces, kWords> tile;
    __shared__ ReadHits found;
    __shared__ long long start;
    const unsigned positions = (unsigned)reference.contig_offsets[reference.contigs];
    const int end = (int)min(*other_count, (Word)count);
    for (int at = blockIdx.x; at < end; at += gridDim.x) {
        const int number = others[at];
        if (threadIdx.x < kWarpLanes) {
            const int length = threadIdx.x == 0 ? lengths[number] : 0;
            pack_tile(tile, text, starts[number], length);
            extend(bwt, tile, jump(jump_table, tile, length));
        }
        if (threadIdx.x == 0) found.count = found.exact = 0;
        __syncthreads();
        const bool has_many = find_hits(
            bwt, suffixes, reference, tile, positions, indels, found
        );
        __syncthreads();
        if (threadIdx.x == 0) {
            start = -1;
            if (!has_many && found.count <= kMaxRanked) {
                const long long used = (long long)atomicAdd(pool_used, (Word)found.count);
                if (used + found.count <= pool.size) start = used;
            }
            pool_starts[at] = (int)start;
            if (start < 0) {
                rest[atomicAdd(rest_count, (Word)1)] = number;
            } else {
                hit_counts[number + 1] = found.count;
                exact[number] = found.exact;
                inexact[number] = found.count - found.exact;
            }
        }
        __syncthreads();
        if (start >= 0) write_ranked(found, pool.hits + start);
        __syncthreads();
    }
}
