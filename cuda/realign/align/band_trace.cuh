// Traceback through the directions of a band (bands.cu), by one thread.

#include "common/cigar.cuh"
#include "common/warp.cuh"
#include "realign/align/ended_pairs.cuh"
#include "realign/align/score_tags.cuh"

constexpr unsigned kDiagonals = 0x88888888u;  // kDiagonal of eight cells

constexpr int kLaneDiagonals = 8, kBlockSteps = 8;
constexpr int kKeptRuns = 16;

// The diagonals of a pair: column - row from `lowest` on. `first_row` is the last row before those
// that have a cell of the band in column 1 or later.
struct Band {
    int lowest, first_row, rows;

    // `after` diagonals are to the right of the diagonal of the end cell.
    __device__ Band(const EndedPair& pair, int diagonals, int after)
        : lowest(pair.column - pair.row + after - (diagonals - 1)),
          first_row(max(pair.row - pair.column - after, 0)),
          rows(pair.row - first_row) {}
};

// The lanes of a warp that fill one band.
struct Group {
    int number, lane, first;  // of the warp's groups; in the group; the group's first in the warp
    int left, right;          // neighbours in the warp
    bool is_last;

    __device__ explicit Group(int lanes)
        : number(lane_id() / lanes),
          lane(lane_id() % lanes),
          first(number * lanes),
          left(max(lane_id() - 1, 0)),
          right(min(lane_id() + 1, kWarpLanes - 1)),
          is_last(lane == lanes - 1) {}
};

// The runs of a CIGAR, last one first: counts them, and writes the first ones from `at` on, each
// `stride` after the one before.
struct Runs {
    unsigned* at;
    int stride, capacity;
    int count = 0, length = 0;
    unsigned operation = kM;

    __device__ Runs(unsigned* at, int stride, int capacity)
        : at(at), stride(stride), capacity(capacity) {}

    __device__ void add(int added, unsigned added_operation) {
        if (added == 0) return;
        if (added_operation != operation) flush();
        operation = added_operation;
        length += added;
    }

    __device__ void flush() {
        if (length == 0) return;
        if (count < capacity) at[(long long)count * stride] = cigar_run(length, operation);
        ++count;
        length = 0;
    }
};

// The traceback of a pair from the end cell of its band, before `matches` on the diagonal.
struct Traceback {
    const EndedPair& pair;
    const Band& band;
    const unsigned* directions;  // of the first lane of the group
    int matches, overhang;

    // Returns the directions of a cell in the highest bits, and those before it on its diagonal, as
    // far as they are in the same word, below; `cells` is the number of all these cells.
    __device__ unsigned word_at(int row, int column, int& cells) const {
        const unsigned diagonal = column - row - band.lowest, lane = diagonal / kLaneDiagonals;
        const unsigned step = row - band.first_row - 1 + lane;
        const unsigned word = step / kBlockSteps * kLaneDiagonals + diagonal % kLaneDiagonals;
        cells = step % kBlockSteps + 1;
        return directions[(long long)word * kWarpLanes + lane] << kTagBits * (kBlockSteps - cells);
    }

    // Adds the runs, and returns the offset.
    __device__ int follow(Runs& runs) const {
        int row = pair.row, column = pair.column;
        int gap = kDiagonal;  // or kInsertion, or 0 for a deletion
        const int outside = pair.query_size - column - matches;
        if (overhang == kSoftclip) runs.add(outside, kS);
        if (overhang == kIgnore) runs.add(outside, kM);
        runs.add(matches, kM);
        while (row > 0 && column > 0) {
            int cells;
            const unsigned word = word_at(row, column, cells);
            const unsigned direction = word >> kTagBits * (kBlockSteps - 1);
            if (gap == kDiagonal) {
                const int run = min(min(__clz(~word & kDiagonals) / kTagBits, cells),
                                    min(row, column));
                runs.add(run, kM);
                row -= run;
                column -= run;
                if (run == 0) gap = direction & kInsertion;
            } else if (gap == kInsertion) {
                runs.add(1, kI);
                --column;
                if (!(direction & kInsertionExtended)) gap = kDiagonal;
            } else {
                runs.add(1, kD);
                --row;
                if (!(direction & kDeletionExtended)) gap = kDiagonal;
            }
        }
        return close(runs, row, column);
    }

    // Adds the rest of a sequence after the other one has ended.
    __device__ int close(Runs& runs, int row, int column) const {
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
};

// Writes the alignment of pair p, -1 in lanes without one; `kept` has kKeptRuns runs of each lane.
// Called by all lanes of a warp, which reserve their runs in the pool together.
__device__ inline void write_alignment(const Traceback& traceback, int p, int score, unsigned* kept,
                                       const Outputs& outputs) {
    kept += lane_id();
    Runs runs(kept, kWarpLanes, kKeptRuns);
    int offset = 0;
    if (p >= 0) offset = traceback.follow(runs);
    const int end_of_lane = sum_to_lane(runs.count);
    unsigned long long start = 0;
    if (lane_id() == kWarpLanes - 1) {
        start = atomicAdd(outputs.pool_used, (unsigned long long)end_of_lane);
    }
    start = __shfl_sync(kAllLanes, start, kWarpLanes - 1);
    if (p < 0) return;
    const unsigned long long end = start + end_of_lane, capacity = outputs.pool_capacity;
    outputs.scores[p] = score;
    outputs.offsets[p] = offset;
    outputs.cigar_counts[p] = runs.count;
    outputs.cigar_starts[p] = (int)min(end - runs.count, capacity);
    if (end > capacity) return;
    if (runs.count <= kKeptRuns) {
        for (int k = 0; k < runs.count; ++k) outputs.pool[end - 1 - k] = kept[k * kWarpLanes];
    } else {
        Runs written(outputs.pool + end - 1, -1, runs.count);
        traceback.follow(written);
    }
}
