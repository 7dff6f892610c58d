// Traceback through the directions of a band (bands.cu).

#include "common/cigar.cuh"
#include "common/warp.cuh"
#include "realign/ended_pairs.cuh"

constexpr int kTagBits = 4;
constexpr int kTagMask = (1 << kTagBits) - 1;
constexpr int kDiagonal = 8, kInsertion = 4, kInsertionExtended = 2, kDeletionExtended = 1;
constexpr int kSource = kDiagonal | kInsertion;
constexpr int kRowsPerWord = 8;
constexpr unsigned kDiagonals8 = 0x88888888u;  // kDiagonal of eight cells

// The diagonals of a pair: column - row from `lowest` on. `first_row` is the last row before those
// that have a cell of the band in column 1 or later.
struct Band {
    int lowest, first_row, rows;

    __device__ Band() : lowest(0), first_row(0), rows(0) {}

    // `after` diagonals are to the right of the diagonal of the end cell.
    __device__ Band(const EndedPair& pair, int diagonals, int after)
        : lowest(pair.column - pair.row + after - (diagonals - 1)),
          first_row(max(pair.row - pair.column - after, 0)),
          rows(pair.row - first_row) {}
};

// The lanes of a warp that fill one band.
struct Group {
    int lanes, lane, number, count;

    __device__ explicit Group(int group_lanes)
        : lanes(group_lanes),
          lane(lane_id() & (group_lanes - 1)),
          number(lane_id() / group_lanes),
          count(kWarpLanes / group_lanes) {}
};

// The runs of a CIGAR, last one first: counts them, and writes them backwards from `end`.
struct Runs {
    unsigned* end;
    int count = 0, length = 0;
    unsigned operation = kM;

    __device__ explicit Runs(unsigned* end) : end(end) {}

    __device__ void add(int added, unsigned added_operation) {
        if (added == 0) return;
        if (added_operation != operation) flush();
        operation = added_operation;
        length += added;
    }

    __device__ void flush() {
        if (length == 0) return;
        ++count;
        if (end) *--end = cigar_run(length, operation);
        length = 0;
    }
};

// Follows the directions of a band from its end cell, before `matches` others, and returns the offset.
template <int kDiagonals>
__device__ int trace_back(const EndedPair& pair, const Band& band, int overhang,
                          const Group& group, int matches, const unsigned* directions,
                          Runs& runs) {
    int row = pair.row, column = pair.column;
    int gap = kDiagonal;  // or kInsertion, or 0 for a deletion
    const int outside = pair.query_size - column - matches;
    if (overhang == kSoftclip) runs.add(outside, kS);
    if (overhang == kIgnore) runs.add(outside, kM);
    runs.add(matches, kM);

    while (row > 0 && column > 0) {
        const int diagonal = column - row - band.lowest, lane = diagonal / kDiagonals;
        const int step = row - band.first_row - 1 + lane, cell = step % kRowsPerWord;
        const long long at = (long long)(step / kRowsPerWord) * kDiagonals + diagonal % kDiagonals;
        // The cell is in the highest bits, and those before it in its word below.
        const unsigned word =
            directions[at * kWarpLanes + group.number * group.lanes + lane] << 4 * (7 - cell);
        if (gap == kDiagonal) {
            const unsigned others = ~word & kDiagonals8;
            const int run = min(min(__clz(others) / 4, cell + 1), min(row, column));
            runs.add(run, kM);
            row -= run;
            column -= run;
            if (run == 0) gap = word >> 28 & kInsertion;
        } else if (gap == kInsertion) {
            runs.add(1, kI);
            --column;
            if (!(word >> 28 & kInsertionExtended)) gap = kDiagonal;
        } else {
            runs.add(1, kD);
            --row;
            if (!(word >> 28 & kDeletionExtended)) gap = kDiagonal;
        }
    }
    int offset = 0;
    if (overhang == kSoftclip) {
        runs.add(column, kS);
        offset = row;
    } else if (overhang == kIgnore) {
        runs.length += column;  // of the first run, of any operation
        offset = row - column;
    } else {
        runs.add(row, kD);
        if (row == 0) runs.add(column, kI);
    }
    runs.flush();
    return offset;
}

// Writes the alignment of pair p, -1 in lanes without one. Called by all lanes of a warp.
template <int kDiagonals>
__device__ void write_alignment(const EndedPair& pair, const Band& band, int p, int score,
                                int overhang, const Group& group, int matches,
                                const unsigned* directions, const Outputs& outputs) {
    Runs runs(nullptr);
    int offset = 0;
    if (p >= 0) {
        offset = trace_back<kDiagonals>(pair, band, overhang, group, matches, directions, runs);
    }
    const int end_of_lane = sum_to_lane(runs.count);
    unsigned long long start = 0;
    if (lane_id() == kWarpLanes - 1) {
        start = atomicAdd(outputs.pool_used, (unsigned long long)end_of_lane);
    }
    start = __shfl_sync(kAllLanes, start, kWarpLanes - 1);
    if (p < 0) return;
    const unsigned long long end = start + end_of_lane;
    outputs.scores[p] = score;
    outputs.offsets[p] = offset;
    outputs.cigar_counts[p] = runs.count;
    outputs.cigar_starts[p] =
        (int)min(end - runs.count, (unsigned long long)outputs.pool_capacity);
    if (end <= (unsigned long long)outputs.pool_capacity) {
        Runs written(outputs.pool + end);
        trace_back<kDiagonals>(pair, band, overhang, group, matches, directions, written);
    }
}
