// Pairs whose end cells are known (hapgpu/realign/align/cuda/end_cells.py), and their alignments
// (outputs.py).

#include "common/cigar.cuh"
#include "realign/align/outputs.cuh"
#include "realign/align/overhang.cuh"
#include "realign/pairs.cuh"

constexpr int kAligned = -2;  // row of a pair whose outputs stay as they are

struct EndCells {
    const int* scores;
    const int* rows;
    const int* columns;
};

// Score of a cell of the first row or column: 0 everywhere where ends are free.
struct Border {
    int open, extend;

    __device__ long long score(int position) const {
        return position == 0 ? 0 : open + (long long)(position - 1) * extend;
    }
};

// A pair and its end cell, 1-based; row and column are 0 if the end cell is not known.
struct EndedPair {
    const unsigned char* reference;
    const unsigned char* query;
    int query_size, score, row, column;

    __device__ EndedPair(const Pairs& pairs, const EndCells& ends, long long p) {
        const int r = pairs.reference_index[p], q = pairs.query_index[p];
        reference = pairs.references.at(r);
        query = pairs.queries.at(q);
        query_size = (int)pairs.queries.size(q);
        score = ends.scores[p];
        row = max(ends.rows[p], 0);
        column = row ? ends.columns[p] : 0;
    }

    // Makes another cell of the diagonal the end cell, before a number of matches.
    __device__ void go_back(int matches, int match) {
        row -= matches;
        column -= matches;
        score -= matches * match;
    }
};
