// Alignment of a dangling branch with the reference path beside it, from end to end of the branch,
// as `branch_cigar` in hapgpu/calling/assembly/dangling_tails.py. All lanes of a warp fill the
// matrix: a lane has a column, 32 columns at a time, and is one row after the lane to its left.

#include "common/warp.cuh"
#include "calling/graph.cuh"

constexpr int kEqual = 25, kDifferent = -50, kGapOpen = -110, kGapExtend = -6;  // standard-ngs
constexpr int kUnreachable = -(1 << 30);
constexpr int kMatch = 0, kInsertion = 1, kDeletion = 2;  // operations of BAM
constexpr int kMostElements = 3;
constexpr int kMostBranchBases = 32767;  // of either sequence: steps are of 16 bits

// A dangling branch, and the path of the reference beside it. Both paths begin at the vertex that
// they share.
struct Branch {
    int *path, *reference_path;  // vertices
    unsigned char *bases, *reference;
    int length, reference_length, base_count, reference_base_count;
    short* steps;  // of the matrix: 0 diagonal, k a deletion, -k an insertion of k bases
    int* border;   // score, insertion and its length per row, of the column before 32 columns
    int end_row;
    int* heads;  // the vertices from which heads start
    int head_count;
};

__device__ inline int border_score(int length) {
    return length == 0 ? 0 : kGapOpen + (length - 1) * kGapExtend;
}

// Fills the steps, and sets the row at which the best alignment ends. Called by all lanes.
__device__ inline void fill_matrix(Branch& branch) {
    const int rows = branch.reference_base_count, columns = branch.base_count;
    const int width = columns + 1;
    for (int row = lane_id(); row <= rows; row += kWarpLanes) {
        branch.border[3 * row] = border_score(row);
        branch.border[3 * row + 1] = kUnreachable;
        branch.border[3 * row + 2] = 0;
    }
    __syncwarp();
    for (int first = 1; first <= columns; first += kWarpLanes) {
        const int column = first + lane_id(), last = min(first + kWarpLanes - 1, columns);
        const int base = column <= columns ? branch.bases[column - 1] : 0;
        int diagonal = border_score(column - 1), above = border_score(column);
        int deletion = kUnreachable, deletion_length = 0;
        int best = kUnreachable, best_row = 0;
        int score = 0, insertion = kUnreachable, insertion_length = 0;  // of the last row
        for (int turn = 1; turn < rows + kWarpLanes; ++turn) {
            int left = __shfl_up_sync(kAllLanes, score, 1);
            int left_insertion = __shfl_up_sync(kAllLanes, insertion, 1);
            int left_length = __shfl_up_sync(kAllLanes, insertion_length, 1);
            const int row = turn - lane_id();
            if (row < 1 || row > rows || column > columns) continue;
            if (lane_id() == 0) {
                left = branch.border[3 * row];
                left_insertion = branch.border[3 * row + 1];
                left_length = branch.border[3 * row + 2];
            }
            score = diagonal + (branch.reference[row - 1] == base ? kEqual : kDifferent);
            deletion += kGapExtend, ++deletion_length;
            if (above + kGapOpen > deletion) deletion = above + kGapOpen, deletion_length = 1;
            insertion = left_insertion + kGapExtend, insertion_length = left_length + 1;
            if (left + kGapOpen > insertion) insertion = left + kGapOpen, insertion_length = 1;
            int step = 0;
            if (score < deletion || score < insertion) {
                const bool is_insertion = insertion >= deletion;
                score = is_insertion ? insertion : deletion;
                step = is_insertion ? -insertion_length : deletion_length;
            }
            branch.steps[row * width + column] = static_cast<short>(step);
            diagonal = left, above = score;
            if (score >= best) best = score, best_row = row;
            if (column == last) {
                branch.border[3 * row] = score;
                branch.border[3 * row + 1] = insertion;
                branch.border[3 * row + 2] = insertion_length;
            }
        }
        if (column == columns) branch.end_row = best_row;
        __syncwarp();
    }
}

// A CIGAR from the end on: runs[count - 1 - i] is its element i.
struct Runs {
    int* elements;  // length << 4 | operation
    int count;

    __device__ void lengthen(int length, int operation) {
        if (count > 0 && (elements[count - 1] & 15) == operation) {
            elements[count - 1] += length << 4;
        } else {
            elements[count++] = length << 4 | operation;
        }
    }

    __device__ int element(int number) const { return elements[count - 1 - number]; }

    // Returns the summed length of the elements except those of one operation.
    __device__ int bases_without(int operation) const {
        int total = 0;
        for (int k = 0; k < count; ++k) {
            if ((elements[k] & 15) != operation) total += elements[k] >> 4;
        }
        return total;
    }
};

// Returns the alignment that the steps give, without a deletion at its end. `elements` has room for
// all bases of both.
__device__ inline Runs branch_cigar(const Branch& branch, int* elements) {
    Runs runs{elements, 0};
    const int width = branch.base_count + 1;
    int row = branch.end_row, column = branch.base_count;
    while (row > 0 && column > 0) {
        const int step = branch.steps[row * width + column];
        if (step > 0) {
            runs.lengthen(step, kDeletion);
            row -= step;
        } else if (step < 0) {
            runs.lengthen(-step, kInsertion);
            column += step;
        } else {
            runs.lengthen(1, kMatch);
            --row, --column;
        }
    }
    if (row > 0) runs.lengthen(row, kDeletion);
    else if (column > 0) runs.lengthen(column, kInsertion);
    if ((runs.elements[0] & 15) == kDeletion) {
        ++runs.elements;
        --runs.count;
    }
    return runs;
}
