// Order, parents and selection of aligned mappings; same as hapgpu/longread/align/ranking.py.

#include "common/grid.cuh"
#include "longread/align/ranking.cuh"
#include "longread/align/rows.cuh"
#include "longread/seed/radix_order.cuh"

namespace {

using Word = unsigned long long;

constexpr int kWarpsPerBlock = 4;

struct RankRules {
    int all_chains, min_score, near_score;
    float mask_level;
};

// Working memory: a row per mapping.
struct Scratch {
    Word* keys;
    unsigned* order;
    int* covered;
    int* columns;
    unsigned char* is_retained;
};

// For the host: the largest score, the largest number of secondaries, and 1 if a mapping is an
// inversion; initially 0.
struct Found {
    int* max_score;
    int* max_n_sub;
    int* has_inversion;
};

// Sorts the good mappings of a read by score and hash; returns their number.
__device__ inline int sort_mappings(
    const Mapping* mappings, const int* scores, int count, int min_score, Word* keys,
    unsigned* order, RadixScratch& scratch
) {
    int good = 0;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int row = base + lane_id();
        const int score = row < count ? scores[row] : kPoor;
        const bool is_good = score != kPoor && score >= min_score;
        const unsigned lanes = __ballot_sync(kAllLanes, is_good);
        if (is_good) {
            const int at = good + __popc(lanes & lower_lanes());
            keys[at] = (Word)(unsigned)score << 32 | mappings[row].hash;
            order[at] = row;
        }
        good += __popc(lanes);
    }
    __syncwarp();
    radix_order(keys, order, good, scratch);
    __syncwarp();
    return good;
}

// Fills the columns of a read, in descending order of the sorted rows, and notes inversions.
__device__ inline void fill_columns(
    const Mapping* mappings, const int* scores, const unsigned* order, int count,
    ReadColumns columns, int* has_inversion
) {
    for (int row = lane_id(); row < count; row += kWarpLanes) {
        const int source = order[count - 1 - row];
        const Mapping& mapping = mappings[source];
        columns.of(kScore)[row] = mapping.score;
        columns.of(kCount)[row] = mapping.anchors;
        columns.of(kSequence)[row] = mapping.sequence;
        columns.of(kIsReverse)[row] = mapping.is_reverse;
        columns.of(kQueryStart)[row] = mapping.query_start;
        columns.of(kQueryEnd)[row] = mapping.query_end;
        columns.of(kTargetStart)[row] = mapping.target_start;
        columns.of(kTargetEnd)[row] = mapping.target_end;
        columns.of(kChain)[row] = source;
        columns.of(kKept)[row] = row;
        columns.of(kSecondScores)[row] = mapping.second_score;
        columns.of(kNSub)[row] = mapping.n_sub;
        columns.of(kSecondDpMax)[row] = 0;
        columns.of(kDpMax)[row] = scores[source];
        if (mapping.is_inversion) *has_inversion = 1;
    }
    __syncwarp();
}

// The same bases of the reference and, of the shorter mapping, of the read.
__device__ inline bool is_at_same_place(ReadRows rows, int row, int parent) {
    const int start = rows.at(kQueryStart, row), parent_start = rows.at(kQueryStart, parent);
    const int end = rows.at(kQueryEnd, row), parent_end = rows.at(kQueryEnd, parent);
    return rows.at(kSequence, row) == rows.at(kSequence, parent)
        && rows.at(kTargetStart, row) == rows.at(kTargetStart, parent)
        && rows.at(kTargetEnd, row) == rows.at(kTargetEnd, parent)
        && min(end, parent_end) - max(start, parent_start)
            == min(end - start, parent_end - parent_start);
}

// Adds secondaries to the scores and numbers of their primaries, which chaining has begun; numbers
// of all but the first mapping start again. Sums and maxima do not depend on the order.
__device__ inline void count_secondaries(
    ReadRows rows, ReadColumns columns, int count, int near_score
) {
    const int* const parents = columns.of(kParents);
    const int* const dp_max = columns.of(kDpMax);
    for (int row = lane_id(); row < count; row += kWarpLanes) {
        if (row > 0 && parents[row] == row) columns.of(kNSub)[row] = 0;
    }
    __syncwarp();
    for (int row = lane_id(); row < count; row += kWarpLanes) {
        const int parent = parents[row];
        if (parent == row) continue;
        atomicMax(columns.of(kSecondScores) + parent, rows.at(kScore, row));
        bool is_counted = rows.at(kCount, row) >= rows.at(kCount, parent);
        if (!is_at_same_place(rows, row, parent)) {
            atomicMax(columns.of(kSecondDpMax) + parent, dp_max[row]);
            is_counted |= dp_max[parent] - dp_max[row] <= near_score;
        }
        if (is_counted) atomicAdd(columns.of(kNSub) + parent, 1);
    }
    __syncwarp();
}

// Keeps the largest value of a column.
__device__ inline void find_largest(const int* values, int count, int* largest) {
    int own = 0;
    for (int row = lane_id(); row < count; row += kWarpLanes) own = max(own, values[row]);
    own = warp_max(own);
    if (lane_id() == 0 && own > 0) atomicMax(largest, own);
}

}  // namespace

// Sorts the mappings of each read, finds their parents, and selects those to report; one warp per
// read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock, 6) rank_reads(
    const Mapping* mappings, const long long* offsets, const int* scores, int count, int reads,
    const __grid_constant__ RankRules rules, const __grid_constant__ SelectionLimits limits,
    const __grid_constant__ Scratch scratch, long long* counts,
    const __grid_constant__ Found found
) {
    __shared__ RadixScratch radix_scratch[kWarpsPerBlock];
    if (first_thread() == 0) counts[0] = 0;
    for (int read = first_warp(); read < reads; read += all_warps()) {
        const long long first = offsets[read];
        const int before = (int)(offsets[read + 1] - first);
        const int good = sort_mappings(
            mappings + first, scores + first, before, rules.min_score, scratch.keys + first,
            scratch.order + first, radix_scratch[threadIdx.x / kWarpLanes]
        );
        const ReadColumns columns{scratch.columns, count, first};
        const ReadRows rows{scratch.columns, count, first};
        fill_columns(mappings + first, scores + first, scratch.order + first, good, columns,
                     found.has_inversion);
        int kept = good;
        if (!rules.all_chains) {
            find_read_parents(rows, good, rules.mask_level, (int2*)scratch.covered + first,
                              columns.of(kPrimaries), columns.of(kParents));
            count_secondaries(rows, columns, good, rules.near_score);
            if (lane_id() == 0) {
                const Selection selection{columns.of(kKept), columns.of(kNumbers),
                                          scratch.is_retained + first};
                const auto is_inversion = [&](int row) {
                    return mappings[first + rows.at(kChain, row)].is_inversion != 0;
                };
                kept = select_read_rows(rows, good, columns.of(kParents), limits, selection,
                                        columns.of(kNewRows), is_inversion);
            }
        }
        if (lane_id() == 0) counts[read + 1] = kept;
        find_largest(columns.of(kDpMax), good, found.max_score);
        find_largest(columns.of(kNSub), good, found.max_n_sub);
    }
}
