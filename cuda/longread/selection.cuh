// Parents and selection of the mappings of a read; same as
// hapgpu/longread/mappings/selection.py.

#include "common/warp.cuh"

// Columns of a table of mappings: hapgpu/longread/mappings/selection.py.
enum Column {
    kScore, kCount, kSequence, kIsReverse, kQueryStart, kQueryEnd, kTargetStart, kTargetEnd, kChain
};

// Rows to report: row within the read, number of the parent among the rows to report, flag of
// `Mappings`. The rows to report of a read start at the first row of the read in the table.
struct Selection {
    int* rows;
    int* numbers;
    unsigned char* is_retained;
};

// `SelectionLimits`, and whether all mappings are kept.
struct SelectionLimits {
    int keeps_all;
    float score_ratio;
    int max_secondary, near_score, strand_score;
};

// Rows of one read in the table.
struct ReadRows {
    int* table;
    long long stride, start;

    __device__ int& at(Column column, int row) const {
        return table[column * stride + start + row];
    }
};

// Number of bases of an interval that disjoint other intervals cover.
__device__ inline int covered_length(const int2* covered, int count, int start, int end) {
    int length = 0;
    for (int k = lane_id(); k < count; k += kWarpLanes) {
        length += max(min(end, covered[k].y) - max(start, covered[k].x), 0);
    }
    return warp_sum(length);
}

// Adds an interval to disjoint intervals and merges those that it touches. Returns their number.
__device__ inline int add_interval(int2* covered, int count, int start, int end) {
    int kept = 0, low = start, high = end;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int k = base + lane_id();
        const int2 other = k < count ? covered[k] : int2{start, end};
        const bool stays = other.x > end || other.y < start;
        const unsigned staying = __ballot_sync(kAllLanes, stays);
        __syncwarp();
        if (stays) {
            covered[kept + __popc(staying & lower_lanes())] = other;
        } else {
            low = min(low, other.x);
            high = max(high, other.y);
        }
        kept += __popc(staying);
        __syncwarp();
    }
    low = warp_min(low);
    high = warp_max(high);
    if (lane_id() == 0) covered[kept] = {low, high};
    __syncwarp();
    return kept + 1;
}

// Whether a mapping overlaps a primary enough to be secondary to it.
__device__ inline bool is_masked(
    int start, int end, int primary_start, int primary_end, int uncovered, float mask_level
) {
    const int overlap = min(end, primary_end) - max(start, primary_start);
    if (overlap <= 0) return false;
    const int length = end - start, primary_length = primary_end - primary_start;
    const float covered_share = __fdiv_rn(overlap, min(length, primary_length));
    const float uncovered_share = __fdiv_rn(uncovered, max(length, primary_length));
    return __fsub_rn(covered_share, uncovered_share) > mask_level;
}

// The first primary that masks a mapping; -1 if there is none.
__device__ inline int masking_primary(
    ReadRows rows, const int* primaries, int count, int start, int end, int uncovered,
    float mask_level
) {
    for (int base = 0; base < count; base += kWarpLanes) {
        const int k = base + lane_id();
        const int primary = k < count ? primaries[k] : -1;
        const bool masks = k < count
            && is_masked(start, end, rows.at(kQueryStart, primary), rows.at(kQueryEnd, primary),
                         uncovered, mask_level);
        const unsigned masking = __ballot_sync(kAllLanes, masks);
        if (masking) return __shfl_sync(kAllLanes, primary, __ffs(masking) - 1);
    }
    return -1;
}

// Sets the parent of each mapping of a read; a primary is its own parent. By a warp.
__device__ inline void find_read_parents(
    ReadRows rows, int count, float mask_level, int2* covered, int* primaries, int* parents
) {
    int interval_count = 0, primary_count = 0;
    for (int row = 0; row < count; ++row) {
        const int start = rows.at(kQueryStart, row), end = rows.at(kQueryEnd, row);
        const int length = covered_length(covered, interval_count, start, end);
        int parent = -1;
        if (length) {
            parent = masking_primary(rows, primaries, primary_count, start, end,
                                     end - start - length, mask_level);
        }
        if (lane_id() == 0) {
            parents[row] = parent < 0 ? row : parent;
            if (parent < 0) primaries[primary_count] = row;
        }
        if (parent < 0) {
            ++primary_count;
            interval_count = add_interval(covered, interval_count, start, end);
        }
        __syncwarp();
    }
}

// Whether a mapping scores nearly as much as its parent.
__device__ inline bool is_near(
    ReadRows rows, int row, int parent, float score_ratio, int near_score
) {
    const int score = rows.at(kScore, row), best = rows.at(kScore, parent);
    return (float)score >= __fmul_rn(best, score_ratio) || score + near_score >= best;
}

__device__ inline bool has_same_coordinates(ReadRows rows, int row, int parent) {
    constexpr Column kCoordinates[] = {kQueryStart, kQueryEnd, kSequence, kTargetStart, kTargetEnd};
    bool is_same = true;
    for (const Column column : kCoordinates) {
        is_same &= rows.at(column, row) == rows.at(column, parent);
    }
    return is_same;
}

// Lists the rows of a read to keep, and their parents among them; returns their number. Pointers are
// to the read's first row; `keeps_row(row)` tells whether to keep a row in any case. By one thread.
template <typename Keeps>
__device__ inline int select_read_rows(
    ReadRows rows, int count, const int* parents, const SelectionLimits& limits,
    Selection selection, int* new_rows, Keeps keeps_row
) {
    int kept_count = 0, secondary = 0;
    for (int row = 0; row < count; ++row) {
        const int parent = parents[row];
        bool keeps = limits.keeps_all || parent == row || keeps_row(row), retains = false;
        if (!keeps && secondary < limits.max_secondary) {
            // minimap2 moves kept mappings up in place and looks the parent up at its old row.
            const int in_parent_row = parent < kept_count ? selection.rows[parent] : parent;
            if (is_near(rows, row, in_parent_row, limits.score_ratio, limits.near_score)) {
                keeps = !has_same_coordinates(rows, row, in_parent_row);
            } else {
                keeps = retains = rows.at(kScore, row) > limits.strand_score
                    && rows.at(kIsReverse, row) != rows.at(kIsReverse, in_parent_row);
            }
            secondary += keeps;
        }
        if (!keeps) continue;
        new_rows[row] = kept_count;
        selection.rows[kept_count] = row;
        selection.numbers[kept_count] = parent < 0 ? -1 : new_rows[parent];
        selection.is_retained[kept_count] = retains;
        ++kept_count;
    }
    return kept_count;
}
