// Search of short reads with many candidates or hits, those that search_reads.cu leaves: each warp
// searches one read at a time.

#include "shortread/seed_hits.cuh"

constexpr int kThreads = 128, kWarps = kThreads / kWarpLanes;
constexpr int kMaxCandidates = 4096, kMaxRanked = 256;  // candidates, and hits, of a read

// Hits of reads one after the other, in any order of the reads.
struct HitPool {
    Word* hits;
    long long size;
};

// Finds the hits of the only read of a tile, in the first lane. Returns their number, of which
// kMaxRanked are kept, and -1 for too many candidates. `exact` is the number of hits without an error.
template <int kStrands, int kPieces, int kWords>
__device__ inline int hits_of_read(
    Bwt bwt, SuffixArray suffixes, const Reference& reference,
    const Tile<kStrands, kPieces, kWords>& tile, unsigned positions, bool indels, Word* hits,
    int& exact
) {
    constexpr int kSeeds = kStrands * kPieces;
    const int length = tile.lengths[0];
    unsigned rows[kSeeds], ends[kSeeds], total = 0;
#pragma unroll
    for (int k = 0; k < kSeeds; ++k) {
        const unsigned count = tile.end_rows[k] - tile.rows[k];
        rows[k] = tile.rows[k] - total;
        total += min(count, kMaxCandidates + 1u);
        ends[k] = total;
    }
    int found_count = 0;
    exact = 0;
    if (total > kMaxCandidates) return -1;
    for (unsigned base = 0; base < total && found_count <= kMaxRanked; base += kWarpLanes) {
        const unsigned candidate = base + lane_id();
        CandidateHits found = {{kNoHit, kNoHit}};
        if (candidate < total) {
            int piece = 0;
            unsigned first = rows[0];
#pragma unroll
            for (int k = 1; k < kSeeds; ++k) {
                if (candidate >= ends[k - 1]) {
                    piece = k;
                    first = rows[k];
                }
            }
            const int strand = piece / kPieces;
            const Query query{tile.strand(0, strand), length, piece % kPieces, strand};
            const unsigned position = (unsigned)locate(bwt, suffixes, first + candidate);
            const unsigned start = position + 1 - tile.offsets[piece];
            if (start - (query.piece == 0) <= positions + 1 - length) {
                bool is_cut = false;
                found = hits_of_seed<kPieces, kWords>(
                    reference, query, start, false, indels, is_cut
                );
            }
        }
#pragma unroll
        for (int k = 0; k < kMaxHits; ++k) {
            const bool is_hit = found.hits[k] != kNoHit;
            const unsigned lanes = __ballot_sync(kAllLanes, is_hit);
            const int at = found_count + __popc(lanes & lower_lanes());
            if (is_hit && at < kMaxRanked) hits[at] = found.hits[k];
            found_count += __popc(lanes);
            exact += __popc(__ballot_sync(kAllLanes, is_hit && !distance_of(found.hits[k])));
        }
    }
    __syncwarp();
    return found_count;
}

// One warp per read of `others` at a time: writes its numbers of hits, and its hits in ascending
// order to the pool. Reads with too many candidates or hits, and those that the pool has no room for,
// get none, and -1 as start: their numbers are appended to `rest`.
template <int kStrands, int kPieces, int kWords>
__global__ void __launch_bounds__(kThreads) search_repeats(
    Bwt bwt, JumpTable jump_table, SuffixArray suffixes, Reference reference, Text text,
    const int* starts, const int* lengths, int indels, int count, const int* others,
    const Word* other_count, HitPool pool, Word* pool_used, int* pool_starts,
    long long* hit_counts, int* exact, int* inexact, int* rest, Word* rest_count
) {
    __shared__ Tile<kStrands, kPieces, kWords> tiles[kWarps];
    __shared__ Word all_hits[kWarps][kMaxRanked];
    Tile<kStrands, kPieces, kWords>& tile = tiles[threadIdx.x / kWarpLanes];
    Word* hits = all_hits[threadIdx.x / kWarpLanes];
    const int lane = lane_id(), warps = gridDim.x * kWarps;
    const unsigned positions = (unsigned)reference.contig_offsets[reference.contigs];
    const int end = (int)min(*other_count, (Word)count);
    for (int at = (blockIdx.x * kThreads + threadIdx.x) / kWarpLanes; at < end; at += warps) {
        const int number = others[at], length = lengths[number];
        pack_tile(tile, text, starts[number], lane == 0 ? length : 0);
        extend(bwt, tile, jump(jump_table, tile, lane == 0 ? length : 0));
        int own_exact = 0;
        const int found = hits_of_read(
            bwt, suffixes, reference, tile, positions, indels, hits, own_exact
        );
        Word start = 0;
        bool is_rest = found < 0 || found > kMaxRanked;
        if (!is_rest) {
            if (lane == 0) start = atomicAdd(pool_used, (Word)found);
            start = __shfl_sync(kAllLanes, start, 0);
            is_rest = start + found > (Word)pool.size;
        }
        if (lane == 0) {
            pool_starts[at] = is_rest ? -1 : (int)start;
            if (is_rest) {
                rest[atomicAdd(rest_count, (Word)1)] = number;
            } else {
                hit_counts[number + 1] = found;
                exact[number] = own_exact;
                inexact[number] = found - own_exact;
            }
        }
        for (int k = lane; k < found && !is_rest; k += kWarpLanes) {
            const Word hit = hits[k];
            int rank = 0;
            for (int other = 0; other < found; ++other) {
                rank += hits[other] < hit || (hits[other] == hit && other < k);
            }
            pool.hits[start + rank] = hit;
        }
        __syncwarp();
    }
}
