// Filter and rescaled scores of aligned mappings; same as hapgpu/longread/align/ranking.py.

#include "common/cigar.cuh"
#include "common/grid.cuh"
#include "longread/align/logarithm.cuh"
#include "longread/align/ranking.cuh"
#include "longread/align/rows.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kMinLength = 500;
constexpr double kMinFraction = 0.9f, kMinDivergence = 0.02, kRounding = 0.499;

struct Limits {
    int min_anchors, min_chain_score, min_score;
};

__device__ inline bool is_good(const Mapping& mapping, const Limits& limits) {
    return (mapping.anchors >= limits.min_anchors || mapping.is_inversion)
        && mapping.matches >= limits.min_chain_score && mapping.dp_max >= limits.min_score
        && mapping.operations > 0;
}

// The two highest scores of a read; the low bits of a key prefer the first of equal scores.
struct BestTwo {
    long long first, second;

    __device__ static long long key(int score, int row) {
        return (long long)score << 32 | (0x7fffffff - row);
    }

    __device__ void add(BestTwo other) {
        second = max(min(first, other.first), max(second, other.second));
        first = max(first, other.first);
    }

    __device__ int row() const { return 0x7fffffff - (int)first; }
    __device__ int second_score() const { return (int)(second >> 32); }
};

constexpr long long kNoKey = -1;  // as of score -1

__device__ inline BestTwo best_of_lanes(BestTwo best) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        BestTwo other;
        other.first = __shfl_xor_sync(kAllLanes, best.first, distance);
        other.second = __shfl_xor_sync(kAllLanes, best.second, distance);
        best.add(other);
    }
    return best;
}

}  // namespace

// Scores of the mappings, `kPoor` of poor ones, and the row of the read's best mapping if they are to
// be rescaled, else -1; one warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) assess_mappings(
    const Mapping* mappings, const long long* offsets, const int* lengths, int reads,
    const __grid_constant__ Limits limits, int* scores, int* best_rows
) {
    for (int read = first_warp(); read < reads; read += all_warps()) {
        const long long first = offsets[read];
        const int count = (int)(offsets[read + 1] - first);
        BestTwo best{kNoKey, kNoKey};
        int good = 0;
        for (int row = lane_id(); row < count; row += kWarpLanes) {
            const Mapping& mapping = mappings[first + row];
            const bool is_kept = is_good(mapping, limits);
            scores[first + row] = is_kept ? mapping.dp_max : kPoor;
            if (!is_kept) continue;
            ++good;
            best.add({BestTwo::key(mapping.dp_max, row), kNoKey});
        }
        int best_row = -1;
        if (warp_sum(good) > 1 && lengths[read] >= kMinLength) {
            best = best_of_lanes(best);
            const Mapping& of_best = mappings[first + best.row()];
            const double covered = of_best.query_end - of_best.query_start;
            if (covered >= lengths[read] * kMinFraction
                && best.second_score() >= of_best.dp_max * kMinFraction) {
                best_row = (int)first + best.row();
            }
        }
        for (int row = lane_id(); row < count; row += kWarpLanes) best_rows[first + row] = best_row;
    }
}

namespace {

__device__ inline double identity_of(const Mapping& mapping) {
    const long long columns =
        (long long)mapping.length + mapping.ambiguous - mapping.gap_bases + mapping.gaps;
    return (double)mapping.matches / (double)columns;
}

// Cost of a mismatch in matches, by the divergence of the best mapping.
__device__ inline double cost_of_mismatch(const Mapping& best, int match, int mismatch) {
    const double divergence = max(1.0 - identity_of(best), kMinDivergence);
    const double cost = 0.5 / divergence;
    return cost * match < mismatch ? (double)match / (double)mismatch : cost;
}

// Costs of the gaps of an alignment, added from the first to the last: other orders differ in the
// last bits. Lanes compute the costs of 32 operations at once, and all of them add these up.
__device__ inline double cost_of_gaps(const unsigned* operations, int count, double cost) {
    const auto at = [=](int k) { return k < count ? operations[k] : (unsigned)kM; };
    double total = 0;
    unsigned next = at(lane_id());
    for (int base = 0; base < count; base += kWarpLanes) {
        const unsigned operation = next;
        next = at(base + kWarpLanes + lane_id());  // arrives during the additions
        const bool is_gap = kind_of(operation) != kM;
        const double own = is_gap ? cost + approximate_log2(length_of(operation) + 1) : 0.0;
#pragma unroll
        for (int lane = 0; lane < kWarpLanes; ++lane) {
            total += __shfl_sync(kAllLanes, own, lane);  // adding 0 changes nothing
        }
    }
    return total;
}

}  // namespace

// Rescales the scores of mappings; one warp per mapping.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) rescale_mappings(
    const Mapping* mappings, const unsigned* operations, const int* best_rows, int match,
    int mismatch, int* scores, int count
) {
    for (int row = first_warp(); row < count; row += all_warps()) {
        const int best_row = best_rows[row];
        if (best_row < 0 || scores[row] == kPoor) continue;
        const double cost = cost_of_mismatch(mappings[best_row], match, mismatch);
        const Mapping& mapping = mappings[row];
        const double gap_costs =
            cost_of_gaps(operations + mapping.first_operation, mapping.operations, cost);
        if (lane_id()) continue;
        const long long mismatches =
            (long long)mapping.length + mapping.ambiguous - mapping.matches - mapping.gap_bases;
        const double score = mapping.matches - cost * mismatches - gap_costs;
        scores[row] = (int)max((long long)(match * score + kRounding), 0ll);
    }
}
