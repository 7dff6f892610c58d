// Test of fills for drops of the score; same as hapgpu/longread/align/drops.py.

#include "common/cigar.cuh"
#include "common/grid.cuh"
#include "longread/align/rows.cuh"
#include "longread/align/dp/local_pairs.cuh"

namespace {

constexpr int kBlockThreads = 128;
constexpr int kLowest = -2147483647 - 1;

struct Operations {
    const unsigned* first;
    int count;
};

__device__ inline Operations operations_of(const PieceAlignments& alignments, int piece) {
    const long long first = alignments.offsets[piece];
    return {alignments.operations + first, (int)(alignments.offsets[piece + 1] - first)};
}

// Whether no drop can exceed the limit, from the score and the gaps: see the same function there.
__device__ bool has_no_drop(
    const Operations& operations, long long score, int limit, const Scoring& scoring
) {
    long long columns = 0, gap_costs = 0, short_gap_costs = 0;
    for (int k = 0; k < operations.count; ++k) {
        const unsigned operation = operations.first[k];
        const int length = length_of(operation);
        if (kind_of(operation) == kM) {
            columns += length;
        } else {
            gap_costs += gap_cost(scoring, length);
            short_gap_costs += scoring.gap_open + (long long)scoring.gap_extend * length;
        }
    }
    const int worst = max(
        max(scoring.mismatch, scoring.transition), max(scoring.ambiguous, scoring.gap_extend2)
    );
    const long long lost = (scoring.match * columns - (score + gap_costs)) * worst;
    return lost >= 0 && lost <= (limit - short_gap_costs) * (scoring.match + worst);
}

struct Place {
    int target, query;
};

// Largest drop of the score along an alignment, and the bases between its two ends.
struct Drop {
    long long size;
    Place start, end;
};

// Walk along an alignment; all lanes of a warp hold the same values.
struct Walk {
    const unsigned char* query;
    const unsigned char* target;
    const Scoring* scoring;
    long long score = 0, best = kLowest;
    Place at{0, 0}, best_at{-1, -1};
    Drop largest{0, {-1, -1}, {-1, -1}};

    // Cost to extend a gap by the diagonals between the best place and this one.
    __device__ long long diagonal_cost() const {
        const long long diagonals =
            ((long long)at.target - best_at.target) - ((long long)at.query - best_at.query);
        return scoring->gap_extend * (diagonals < 0 ? -diagonals : diagonals);
    }

    __device__ void add_gap(int length, bool is_deletion) {
        score -= scoring->gap_open + (long long)scoring->gap_extend * length;
        (is_deletion ? at.target : at.query) += length;
        if (score >= best) {
            best = score;
            best_at = at;
            return;
        }
        const long long size = best - score - diagonal_cost();
        if (size > largest.size) largest = {size, best_at, at};
    }

    // Walks along up to 32 pairs of bases, one per lane, on one diagonal.
    __device__ void add_bases(int count) {
        const bool is_base = lane_id() < count;
        const int one = is_base ? target[at.target + lane_id()] : 0;
        const int other = is_base ? query[at.query + lane_id()] : 0;
        if (__all_sync(kAllLanes, one == other && one < kAmbiguous)) {
            add_matches(count);
        } else {
            const int own = pair_score(*scoring, one, other, scoring->ambiguous);
            add_scores(count, is_base ? own : 0);
        }
        at.target += count;
        at.query += count;
    }

private:
    __device__ static int score_of(int highest) { return highest >> 5; }
    __device__ static int lane_of(int highest) { return highest & (kWarpLanes - 1); }

    // No drop ends at a match: the score was lower before it, on the same diagonal.
    __device__ void add_matches(int count) {
        score += (long long)scoring->match * count;
        if (score < best) return;
        best = score;
        best_at = {at.target + count - 1, at.query + count - 1};
    }

    __device__ void add_scores(int count, int sum) {
        const bool is_base = lane_id() < count;
        // Scores after each base, less the score before the first; highest up to it, and its lane.
        sum = sum_to_lane(sum);
        int highest = is_base ? sum * kWarpLanes + lane_id() : kLowest;
        for (int distance = 1; distance < kWarpLanes; distance *= 2) {
            const int before = __shfl_up_sync(kAllLanes, highest, distance);
            if (lane_id() >= distance) highest = max(highest, before);
        }
        const long long carried = best - score;
        find_drop(is_base, sum, __shfl_up_sync(kAllLanes, highest, 1), carried);
        highest = __shfl_sync(kAllLanes, highest, kWarpLanes - 1);
        if (score_of(highest) >= carried) {
            best = score + score_of(highest);
            best_at = {at.target + lane_of(highest), at.query + lane_of(highest)};
        }
        score += __shfl_sync(kAllLanes, sum, count - 1);
    }

    // Replaces the largest drop by the first larger one of the lanes. `before` is the highest score
    // of the lanes to the left, `carried` the best score before them.
    __device__ void find_drop(bool is_base, int sum, int before, long long carried) {
        const bool is_carried = lane_id() == 0 || score_of(before) < carried;
        const long long from = is_carried ? carried : score_of(before);
        const long long size = from - sum - (is_carried ? diagonal_cost() : 0);
        const bool is_larger = is_base && sum < from && size > largest.size;
        if (!__any_sync(kAllLanes, is_larger)) return;
        long long top = is_larger ? size : 0;
        for (int distance = kWarpLanes / 2; distance; distance /= 2) {
            top = max(top, __shfl_xor_sync(kAllLanes, top, distance));
        }
        const int lane = __ffs((int)__ballot_sync(kAllLanes, is_larger && size == top)) - 1;
        const int first = __shfl_sync(kAllLanes, is_carried ? -1 : lane_of(before), lane);
        const Place start{at.target + first, at.query + first};
        largest = {top, first < 0 ? best_at : start, {at.target + lane, at.query + lane}};
    }
};

__device__ Drop largest_drop(const Operations& operations, Walk walk) {
    for (int k = 0; k < operations.count; ++k) {
        const unsigned operation = operations.first[k];
        const int length = length_of(operation);
        if (kind_of(operation) == kM) {
            for (int done = 0; done < length; done += kWarpLanes) {
                walk.add_bases(min(length - done, kWarpLanes));
            }
        } else {
            walk.add_gap(length, kind_of(operation) == kD);
        }
    }
    return walk.largest;
}

}  // namespace

// Tests fills; each lane one by its score and gaps, then each warp the others by their bases.
// Drops at a possible inversion are listed with the bases to align.
extern "C" __global__ void __launch_bounds__(kBlockThreads) test_fills(
    const __grid_constant__ Pieces pieces, const __grid_constant__ PieceAlignments alignments,
    const __grid_constant__ ReadCodes reads, const __grid_constant__ TargetCodes targets,
    const __grid_constant__ Scoring scoring, const __grid_constant__ Parameters parameters,
    unsigned char* drops, const __grid_constant__ PairList inverted
) {
    const int limit = min(parameters.drop, parameters.inversion_drop);
    for (long long first = (long long)first_warp() * kWarpLanes; first < pieces.count;
         first += (long long)all_warps() * kWarpLanes) {
        const int own = (int)first + lane_id();
        bool is_open = false;
        if (own < pieces.count && pieces.kinds[own] == kFill) {
            // A band that cuts the matrix may make scores that the path does not have.
            const int longest = max(pieces.query_lengths[own], pieces.target_lengths[own]);
            is_open = longest > pieces.bands[own] ||
                      !has_no_drop(
                          operations_of(alignments, own), alignments.scores[own], limit, scoring
                      );
        }
        unsigned char result = kNoDrop;
        for (unsigned open = __ballot_sync(kAllLanes, is_open); open; open &= open - 1) {
            const int lane = __ffs((int)open) - 1, piece = (int)first + lane;
            const long long query = pieces.query_starts[piece];
            const long long target = pieces.target_starts[piece];
            const Walk walk{reads.codes + query, targets.codes + target, &scoring};
            const Drop drop = largest_drop(operations_of(alignments, piece), walk);
            if (lane_id() != lane) continue;
            if (drop.size > parameters.drop) result = kDrop;
            const int query_length = drop.end.query - drop.start.query;
            const int target_length = drop.end.target - drop.start.target;
            if (drop.size > parameters.inversion_drop && query_length < parameters.max_gap &&
                target_length < parameters.max_gap) {
                inverted.add({
                    query + drop.start.query, target + drop.start.target, 0, query_length,
                    target_length, piece, 0
                });
            }
        }
        if (own < pieces.count) drops[own] = result;
    }
}

// Marks the fills whose bases align well with the other strand.
extern "C" __global__ void __launch_bounds__(kBlockThreads) mark_inversions(
    const LocalPair* pairs, const int* scores, int count,
    const __grid_constant__ Parameters parameters, int match, unsigned char* drops
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        const long long lowest = (long long)parameters.min_chain_score * match;
        if (scores[k] >= lowest && scores[k] >= parameters.min_score) {
            drops[pairs[k].row] = kInversionDrop;
        }
    }
}
