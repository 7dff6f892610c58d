// Hits of reads with many candidates: counted, and only the least ones kept.

#include "shortread/candidates.cuh"

constexpr int kThreads = 256, kMaxKept = 64;

// The least hits so far of a read, ascending, in shared memory; for a thread block.
struct LeastHits {
    Word kept[kMaxKept];
    Word fresh[kMaxHits * kThreads];
    int kept_count, fresh_count;

    // Merges the fresh hits into the kept ones; returns the hit that the next ones must be below.
    __device__ Word merge(int most) {
        constexpr int kOwn = (kMaxKept + kMaxHits * kThreads - 1) / kThreads + 1;
        const int old = kept_count, count = old + fresh_count;
        const auto load = [&](int k) { return k < old ? kept[k] : fresh[k - old]; };
        Word own[kOwn];
        int ranks[kOwn];
#pragma unroll
        for (int n = 0; n < kOwn; ++n) {
            const int k = threadIdx.x + n * kThreads;
            ranks[n] = most;
            if (k >= count) continue;
            own[n] = load(k);
            ranks[n] = 0;
            for (int other = 0; other < count && ranks[n] < most; ++other) {
                const Word hit = load(other);
                ranks[n] += hit < own[n] || (hit == own[n] && other < k);
            }
        }
        __syncthreads();
#pragma unroll
        for (int n = 0; n < kOwn; ++n) {
            if (ranks[n] < most) kept[ranks[n]] = own[n];
        }
        if (threadIdx.x == 0) {
            kept_count = min(count, most);
            fresh_count = 0;
        }
        __syncthreads();
        return kept_count == most ? kept[most - 1] : kNoHit;
    }
};

// A position of a piece of a read, as a diagonal.
struct Candidate {
    long long diagonal;
    int seed;  // number of the piece in both strands
};

// One thread block per chosen read, of many candidates: counts its hits, and writes the `most` least
// ones, ascending, from the offset of the read on; after them `kNoHit` if it has fewer.
template <int kStrands, int kPieces>
__global__ void __launch_bounds__(kThreads, kPieces == 1 ? kSurveyBlocks + 1 : kSurveyBlocks) survey(
    Bwt bwt, SuffixArray suffixes, Reference reference, PackedReads reads, Seeds seeds, int indels,
    const long long* chosen, int most, const long long* offsets, Word* hits, int* exact,
    int* inexact
) {
    constexpr int kSeeds = kStrands * kPieces;
    __shared__ LeastHits least;
    __shared__ int counts[2];
    const int number = (int)chosen[blockIdx.x], length = reads.lengths[number];
    const long long* ends = seeds.ends + (long long)number * kSeeds;
    if (threadIdx.x < 2) counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) least.kept_count = least.fresh_count = 0;
    __syncthreads();
    Word limit = kNoHit;
    int own_exact = 0, own_inexact = 0;
    const auto candidate_at = [&](long long rank) {
        int seed = 0;
        while (rank >= ends[seed + 1]) ++seed;
        const int at = number * kSeeds + seed;
        const unsigned row = seeds.first_rows[at] + (unsigned)(rank - ends[seed]);
        return Candidate{locate(bwt, suffixes, row) - seeds.read_offsets[at], seed};
    };
    Candidate next{0, 0};  // located while the one before is compared
    if (ends[0] + threadIdx.x < ends[kSeeds]) next = candidate_at(ends[0] + threadIdx.x);
    for (long long base = ends[0]; base < ends[kSeeds]; base += kThreads) {
        const long long rank = base + threadIdx.x;
        const Candidate candidate = next;
        bool has_fresh = false;
        if (rank + kThreads < ends[kSeeds]) next = candidate_at(rank + kThreads);
        if (rank < ends[kSeeds]) {
            const int strand = candidate.seed / kPieces;
            // The number is read again: kept in a register, it spills others on sm_70.
            const Word* read = strand_words(reads, (int)chosen[blockIdx.x], strand);
            const Query query{read, length, candidate.seed % kPieces, strand};
            const CandidateHits found =
                hits_of<kPieces>(reference, query, candidate.diagonal, indels);
#pragma unroll
            for (int k = 0; k < kMaxHits; ++k) {
                if (found.hits[k] == kNoHit) continue;
                const bool is_exact = distance_of(found.hits[k]) == 0;
                own_exact += is_exact;
                own_inexact += !is_exact;
                if (found.hits[k] < limit) {
                    least.fresh[atomicAdd(&least.fresh_count, 1)] = found.hits[k];
                    has_fresh = true;
                }
            }
        }
        if (__syncthreads_or(has_fresh)) limit = least.merge(most);
    }
    atomicAdd(&counts[0], own_exact);
    atomicAdd(&counts[1], own_inexact);
    __syncthreads();
    if (threadIdx.x == 0) {
        exact[number] = counts[0];
        inexact[number] = counts[1];
    }
    if (threadIdx.x < most) {
        const bool is_kept = threadIdx.x < least.kept_count;
        hits[offsets[number] + threadIdx.x] = is_kept ? least.kept[threadIdx.x] : kNoHit;
    }
}
