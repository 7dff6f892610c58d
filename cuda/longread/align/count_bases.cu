// Counts of the bases of mappings, and scores of their best parts; same as `count_bases` of
// hapgpu/longread/align/cigars.py.

#include "longread/align/logarithm.cuh"
#include "longread/align/mapped_codes.cuh"
#include "longread/align/merged_runs.cuh"

namespace {

constexpr int kMaxColumns = 1 << 16;  // of a stretch: its scores fit 32 bits

// Scores are multiples of 2^-23, as integers: pairs of bases score whole numbers, and costs of gaps
// are products of a whole number and a float32 logarithm of 1 to 32, or above 2^-8 for an empty
// gap. So sums in any order are those of the CPU's float64 as long as these are below 2^30.
constexpr int kFractionBits = 23;
constexpr double kFraction = 1.0 / (1 << kFractionBits);
constexpr long long kExactScore = 1 << 30;

// What a stretch of an alignment makes of a score from 0 on, which never falls below 0: `score` to
// max(score + sum, end). Its highest score is max(score + top, peak).
template <typename Number>
struct Stretch {
    Number sum, end, top, peak;

    __device__ void add(Number score) {
        sum += score;
        end = max(end + score, (Number)0);
        top = max(top, sum);
        peak = max(peak, end);
    }

    template <typename Other>
    __device__ void append(const Stretch<Other>& next, int bits) {
        const Number next_sum = (Number)next.sum << bits, next_top = (Number)next.top << bits;
        top = max(top, sum + next_top);
        peak = max(max(peak, end + next_top), (Number)next.peak << bits);
        end = max(end + next_sum, (Number)next.end << bits);
        sum += next_sum;
    }
};

using Score = Stretch<long long>;

struct Counts {
    int matches, aligned, ambiguous, gaps, gap_bases;

    __device__ void add(const Counts& other) {
        matches += other.matches;
        aligned += other.aligned;
        ambiguous += other.ambiguous;
        gaps += other.gaps;
        gap_bases += other.gap_bases;
    }
};

struct CountScratch {
    Score scores[kBlockWarps];
    Counts counts[kBlockWarps];
};

// Part of the bases of an alignment: from `start` to `end`, those of query and target added.
struct Share {
    long long start, end;
};

struct Alignment {
    const unsigned* operations;
    const int* query_starts;
    const int* target_starts;
    int size;
    const unsigned char* query;
    const unsigned char* target;

    __device__ long long start(int k) const {
        return (long long)query_starts[k] + target_starts[k];
    }

    __device__ long long end() const {
        const unsigned last = operations[size - 1];
        return start(size - 1) + (long long)length_of(last) * (kind_of(last) == kM ? 2 : 1);
    }

    // Returns the last operation that starts at `at` or before.
    __device__ int find(long long at) const {
        int low = 0, high = size;
        while (high - low > 1) {
            const int middle = low + (high - low) / 2;
            if (start(middle) <= at) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

__device__ inline double cost_of_gap(const Scoring& scoring, int length) {
    return scoring.gap_open + scoring.gap_extend * (double)approximate_log2(length + 1);
}

// Reads 1 to 4 codes, by words of which at least one byte is asked for.
__device__ inline unsigned load_codes(const unsigned char* codes, int count) {
    const unsigned long long address = (unsigned long long)codes;
    const unsigned* words = (const unsigned*)(address & ~3ull);
    const int skipped = address & 3;
    const unsigned high = skipped + count > 4 ? words[1] : 0;
    return __funnelshift_r(words[0], high, 8 * skipped);
}

__device__ void count_pairs(
    const unsigned char* query, const unsigned char* target, int count, const Scoring& scoring,
    Counts& counts, Score& score
) {
    Stretch<int> stretch = {0, 0, 0, 0};
    for (int first = 0; first < count; first += 4) {
        const int size = min(count - first, 4);
        unsigned one = load_codes(query + first, size), other = load_codes(target + first, size);
        for (int k = 0; k < size; ++k, one >>= 8, other >>= 8) {
            const int a = one & 0xff, b = other & 0xff;
            const bool is_ambiguous = max(a, b) >= kAmbiguous;
            counts.ambiguous += is_ambiguous;
            counts.matches += a == b && !is_ambiguous;
            stretch.add(pair_score(scoring, a, b, scoring.ambiguous));
        }
    }
    score.append(stretch, kFractionBits);
    counts.aligned += count;
}

__device__ int ambiguous_codes(const unsigned char* codes, int count) {
    int ambiguous = 0;
    for (int first = 0; first < count; first += 4) {
        const unsigned word = load_codes(codes + first, min(count - first, 4));
        const unsigned valid = count - first < 4 ? (1u << 8 * (count - first)) - 1 : ~0u;
        ambiguous += __popc(word & valid & 0x04040404u);
    }
    return ambiguous;
}

// Counts a share of an alignment.
__device__ void count_share(
    const Alignment& alignment, const Share& share, const Scoring& scoring, Counts& counts,
    Score& score
) {
    if (share.start >= share.end) return;
    for (int k = alignment.find(share.start); k < alignment.size; ++k) {
        const long long start = alignment.start(k);
        if (start >= share.end) break;
        const unsigned operation = alignment.operations[k];
        const int kind = kind_of(operation), length = length_of(operation);
        const unsigned char* query = alignment.query + alignment.query_starts[k];
        const unsigned char* target = alignment.target + alignment.target_starts[k];
        const long long skipped = max(share.start - start, 0ll), wanted = share.end - start;
        if (kind == kM) {
            const int end = (int)min((wanted + 1) / 2, (long long)length);
            for (int at = (int)((skipped + 1) / 2); at < end; at += kMaxColumns) {
                const int columns = min(end - at, kMaxColumns);
                count_pairs(query + at, target + at, columns, scoring, counts, score);
            }
            continue;
        }
        if (skipped == 0) {
            const double cost = cost_of_gap(scoring, length) * (1 << kFractionBits);
            score.append(Score{-(long long)cost, 0, 0, 0}, 0);
            ++counts.gaps;
            counts.gap_bases += length;
        }
        const unsigned char* bases = kind == kI ? query : target;
        const int end = (int)min(wanted, (long long)length);
        counts.ambiguous += ambiguous_codes(bases + skipped, end - (int)skipped);
    }
}

// Returns the highest score as float64, rounded at each step as on the CPU; one thread.
__device__ double peak_in_order(const Alignment& alignment, const Scoring& scoring) {
    double score = 0, peak = 0;
    for (int k = 0; k < alignment.size; ++k) {
        const unsigned operation = alignment.operations[k];
        if (kind_of(operation) != kM) {
            score = max(score - cost_of_gap(scoring, length_of(operation)), 0.0);
            continue;
        }
        const unsigned char* query = alignment.query + alignment.query_starts[k];
        const unsigned char* target = alignment.target + alignment.target_starts[k];
        for (int at = 0; at < length_of(operation); ++at) {
            const int added = pair_score(scoring, target[at], query[at], scoring.ambiguous);
            score = max(score + added, 0.0);
            peak = max(peak, score);
        }
    }
    return peak;
}

// Joins the scores of all lanes, in order.
__device__ Score joined(Score own) {
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        Score other;
        other.sum = __shfl_xor_sync(kAllLanes, own.sum, distance);
        other.end = __shfl_xor_sync(kAllLanes, own.end, distance);
        other.top = __shfl_xor_sync(kAllLanes, own.top, distance);
        other.peak = __shfl_xor_sync(kAllLanes, own.peak, distance);
        Score first = lane_id() & distance ? other : own;
        first.append(lane_id() & distance ? own : other, 0);
        own = first;
    }
    return own;
}

}  // namespace

// Counts the bases of mappings with clean CIGARs; one block per mapping.
extern "C" __global__ void __launch_bounds__(kBlockThreads) count_bases(
    Mapping* mappings, const long long* rows, int row_count, const unsigned* operations,
    const __grid_constant__ ReadCodes reads, const __grid_constant__ TargetCodes targets,
    const __grid_constant__ Scoring scoring, const int* query_starts, const int* target_starts
) {
    __shared__ CountScratch scratch;
    for (int row = blockIdx.x; row < row_count; row += gridDim.x) {
        Mapping& mapping = mappings[rows[row]];
        const long long first = mapping.first_operation;
        const Alignment alignment = {
            operations + first, query_starts + first, target_starts + first, mapping.operations,
            reads.codes + first_query_code(reads, mapping),
            targets.codes + first_target_code(targets, mapping)
        };
        if (alignment.size == 0) continue;
        const long long bases = alignment.end();
        const Share share = {
            bases * threadIdx.x / kBlockThreads, bases * (threadIdx.x + 1) / kBlockThreads
        };
        Counts counts = {0, 0, 0, 0, 0};
        Score score = {0, 0, 0, 0};
        count_share(alignment, share, scoring, counts, score);
        score = joined(score);
        counts = {
            warp_sum(counts.matches), warp_sum(counts.aligned), warp_sum(counts.ambiguous),
            warp_sum(counts.gaps), warp_sum(counts.gap_bases)
        };
        if (lane_id() == 0) {
            scratch.scores[warp_of_block()] = score;
            scratch.counts[warp_of_block()] = counts;
        }
        __syncthreads();  // scratch
        if (threadIdx.x == 0) {
            for (int warp = 1; warp < kBlockWarps; ++warp) {
                counts.add(scratch.counts[warp]);
                score.append(scratch.scores[warp], 0);
            }
            double peak = score.peak * kFraction;
            if ((long long)scoring.match * counts.aligned >= kExactScore) {
                peak = peak_in_order(alignment, scoring);
            }
            mapping.matches = counts.matches;
            mapping.length = counts.aligned + counts.gap_bases - counts.ambiguous;
            mapping.ambiguous = counts.ambiguous;
            mapping.gaps = counts.gaps;
            mapping.gap_bases = counts.gap_bases;
            mapping.dp_max = mapping.first_dp_max = (int)(long long)(peak + 0.499);
        }
        __syncthreads();  // before the scratch is written again
    }
}
