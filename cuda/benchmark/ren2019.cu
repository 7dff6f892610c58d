// Design of Ren et al. 2019 (BMC Genomics 20:184) for the semi-global alignment of GATK, with GATK's
// tie rules. Same results as hapgpu/realign/align/cpu.py with soft-clipped overhangs.
//
// First stage, `fill_by_antidiagonals`: a thread block per pair and a thread per base of the read,
// i.e. per column of the matrix. In each step, all threads compute the cells of an antidiagonal.
// What the next column needs goes through shared memory. The steps of the best path to each cell
// are stored with their lengths, antidiagonal after antidiagonal, so that writes are coalesced.
// Second stage, `trace_runs`: a thread per pair follows the steps, a run at a time.

#include "common/rows.cuh"

namespace {

// GATK's bounds (hapgpu/realign/scoring.py).
constexpr int kUnreachable = -(1 << 30);
constexpr int kLowestScore = -100000000;
constexpr int kNoScore = -2147483647 - 1;

// Enough to hide most of the latency, with 40 registers per thread.
template <int kThreads>
constexpr int kBlocksPerProcessor = 1536 / kThreads;

enum Operation : unsigned { kMatch = 0, kInsertion = 1, kDeletion = 2, kSoftClip = 4 };

}  // namespace

struct Pairs {
    Rows<unsigned char> references, queries;
    const int* reference_index;
    const int* query_index;
    int count;
};

struct Weights {
    int match, mismatch, gap_open, gap_extend;
};

// The matrices of steps: `size` cells per pair, `columns` per antidiagonal. The upper half of a
// cell is the length of a deletion, or below 0 of an insertion, or 0; the lower half that of the
// bases aligned before one of these.
struct Steps {
    int* cells;
    long long size;
    int columns;

    __device__ long long at(int pair, int row, int column) const {
        return pair * size + (long long)(row + column) * columns + column;
    }
};

// Of a thread that takes over from the one before it.
struct RowBest {
    int score, column;

    // Of equal scores, the cell nearest to the main diagonal; of these, the first.
    __device__ void add(int other, int other_column, int rows) {
        const bool is_nearer = abs(rows - other_column) < abs(rows - column);
        if (other > score || (other == score && is_nearer)) {
            score = other;
            column = other_column;
        }
    }
};

// A barrier per step: each step reads the half of shared memory that the step before it wrote, and
// writes the other half. Slot 0 is the column before the first one.
// `ends` holds score, row and column (from 1) of the end cell, and 0.
template <int kThreads>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor<kThreads>) fill_by_antidiagonals(
    Pairs pairs, Weights weights, Steps steps, int4* ends
) {
    __shared__ int scores[2][kThreads + 1], insertions[2][kThreads + 1], lengths[2][kThreads + 1];
    __shared__ RowBest row_bests[kThreads + 1];
    const int pair = blockIdx.x, thread = threadIdx.x;
    const int reference_row = pairs.reference_index[pair], query_row = pairs.query_index[pair];
    const unsigned char* reference = pairs.references.at(reference_row);
    const int rows = pairs.references.size(reference_row);
    const int columns = pairs.queries.size(query_row);
    const int base = thread < columns ? pairs.queries.at(query_row)[thread] : 0;
    const int own_rows = thread < columns ? rows : 0;
    if (thread < 2) {
        scores[thread][0] = lengths[thread][0] = 0;
        insertions[thread][0] = kUnreachable;
        row_bests[0] = {kNoScore, 0};
    }
    __syncthreads();
    int* cell = steps.cells + steps.at(pair, -thread, thread);
    int above = 0, diagonal = 0, diagonal_run = 0;
    int deletion = kUnreachable, deletion_length = 0;
    int column_best = kNoScore, best_row = 0;
    for (int step = 0; step < rows + columns - 1; ++step, cell += steps.columns) {
        const int row = step - thread, now = step & 1, before = now ^ 1;
        if (row >= 0 && row < own_rows) {
            const int left = scores[before][thread], left_lengths = lengths[before][thread];
            const bool is_match = reference[row] == base;
            const int deletion_opened = above + weights.gap_open;
            deletion += weights.gap_extend;
            deletion_length = deletion >= deletion_opened ? deletion_length + 1 : 1;
            deletion = max(deletion, deletion_opened);
            const int insertion_opened = left + weights.gap_open;
            int insertion = insertions[before][thread] + weights.gap_extend;
            const int insertion_length =
                insertion >= insertion_opened ? (left_lengths >> 16) + 1 : 1;
            insertion = max(insertion, insertion_opened);
            const int through = diagonal + (is_match ? weights.match : weights.mismatch);
            const int gap_score = max(insertion, deletion);
            int gap = 0, run = diagonal_run + 1;
            if (through < gap_score) {
                gap = insertion >= deletion ? -insertion_length : deletion_length;
                run = 0;
            }
            const int score = max(max(through, gap_score), kLowestScore);
            *cell = (int)((unsigned)gap << 16 | run);
            scores[now][thread + 1] = score;
            insertions[now][thread + 1] = insertion;
            lengths[now][thread + 1] = insertion_length << 16 | run;
            diagonal = left;
            diagonal_run = left_lengths & 0xffff;
            above = score;
            if (thread == columns - 1 && score >= column_best) {
                column_best = score;
                best_row = row + 1;
            }
            if (row == rows - 1) {
                RowBest best = row_bests[thread];
                best.add(score, thread + 1, rows);
                row_bests[thread + 1] = best;
            }
        }
        __syncthreads();
    }
    if (thread != columns - 1) return;
    const RowBest best = row_bests[columns];
    const bool is_nearer = abs(rows - best.column) < abs(best_row - columns);
    if (best.score > column_best || (best.score == column_best && is_nearer)) {
        ends[pair] = {best.score, rows, best.column, 0};
    } else {
        ends[pair] = {column_best, best_row, columns, 0};
    }
}

namespace {

// A CIGAR from its last run to its first; runs beyond `capacity` are only counted.
struct Runs {
    unsigned* runs;
    int capacity, count;
    unsigned run;

    __device__ void add(int length, Operation operation) {
        if (run && (run & 15) == operation) {
            run += length << 4;
            return;
        }
        flush();
        run = length << 4 | operation;
    }

    __device__ void flush() {
        if (!run) return;
        if (count < capacity) runs[count] = run;
        ++count;
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(64) trace_runs(
    Pairs pairs, Steps steps, const int4* ends, int capacity, unsigned* runs, int* counts,
    int* offsets
) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs.count) return;
    const int columns = pairs.queries.size(pairs.query_index[pair]);
    const int4 end = ends[pair];
    int row = end.y, column = end.z;
    Runs found = {runs + (long long)pair * capacity, capacity, 0, 0};
    if (column < columns) found.add(columns - column, kSoftClip);
    while (row > 0 && column > 0) {
        const int cell = steps.cells[steps.at(pair, row - 1, column - 1)];
        const int gap = cell >> 16, run = cell & 0xffff;
        if (gap > 0) {
            found.add(gap, kDeletion);
            row -= gap;
        } else if (gap < 0) {
            found.add(-gap, kInsertion);
            column += gap;
        } else {
            found.add(run, kMatch);
            row -= run;
            column -= run;
        }
    }
    if (column > 0) found.add(column, kSoftClip);
    found.flush();
    counts[pair] = found.count;
    offsets[pair] = row;
}
