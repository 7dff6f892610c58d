// Scores and costs of alignments: the same as hapgpu/realign/projection/alignment_costs.py.

#include "cigar/alignments.cuh"
#include "cigar/operations.cuh"
#include "common/grid.cuh"

namespace {

constexpr long long kIncomparable = -1;
constexpr long long kLongestGap = 12;  // longer gaps cost the same: a long deletion is one event

struct Weights {
    long long match, mismatch, gap_open, gap_extend;
};

struct Cost {
    long long score, cost;
};

// Counts the equal bytes of two texts; called by all lanes of a warp.
__device__ inline long long count_equal(const unsigned char* one, const unsigned char* other,
                                        long long length) {
    long long equal = 0;
    for (long long first = 0; first < length; first += kWarpLanes) {
        const long long at = first + lane_id();
        equal += __popc(__ballot_sync(kAllLanes, at < length && one[at] == other[at]));
    }
    return equal;
}

// Called by all lanes of a warp.
__device__ Cost cost_of(const Alignments& alignments, int row, const Weights& weights) {
    const Cost incomparable = {0, kIncomparable};
    const int target = alignments.reference_index[row];
    if (target < 0) return incomparable;
    const long long query = alignments.rows[row];
    const unsigned char* read = alignments.bases.at(query);
    const unsigned char* reference = alignments.references.at(target);
    const long long read_size = alignments.bases.size(query);
    const long long reference_size = alignments.references.size(target);
    const unsigned* cigar = alignments.cigars.at(row);
    const long long elements = alignments.cigars.size(row);
    long long on_read = 0, on_reference = alignments.positions[row];
    Cost sum = {0, 0};
    for (long long k = 0; k < elements; ++k) {
        const unsigned operation = operation_of(cigar[k]);
        const long long length = length_of(cigar[k]);
        if (is_alignment(operation)) {
            if (on_reference < 0 || on_reference + length > reference_size ||
                on_read + length > read_size) {
                return incomparable;
            }
            const long long equal = count_equal(read + on_read, reference + on_reference, length);
            sum.score += weights.match * equal + weights.mismatch * (length - equal);
            sum.cost += length - equal;
            on_read += length;
            on_reference += length;
        } else if (operation == kI || operation == kD) {
            sum.score += weights.gap_open + (length - 1) * weights.gap_extend;
            sum.cost += min(length, kLongestGap);
            if (operation == kI) on_read += length;
            else on_reference += length;
        } else if (operation == kS) {
            sum.cost += length;
            on_read += length;
        } else if (operation != kH) {
            return incomparable;
        }
    }
    return on_read == read_size ? sum : incomparable;
}

}  // namespace

// A warp per alignment.
extern "C" __global__ void __launch_bounds__(128, 8) alignment_costs(
    Alignments alignments, Weights weights, long long* scores, long long* costs
) {
    for (int row = first_warp(); row < alignments.cigars.count; row += all_warps()) {
        const Cost cost = cost_of(alignments, row, weights);
        if (lane_id() == 0) {
            scores[row] = cost.score;
            costs[row] = cost.cost;
        }
    }
}
