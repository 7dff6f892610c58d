// Traceback in a band of diagonals around the end cell of a pair, which has all alignments of its
// score (hapgpu/realign/align/cuda/bands.py).
//
// A lane has kDiagonals neighbouring diagonals of the matrix, and keeps their cells of the row above
// in registers. From one row (reference base) to the next, the query bases move by one register.
// Wide bands have several lanes, each one row after the lane to its left: the cell to the left of
// its first one was filled in the step before, and the cell above its last one is the first that the
// lane to its right fills in the same step.
//
// Scores have the tag bits of align.cu, and cells outside the band no score. A lane packs the
// directions of eight rows of one diagonal into a word, so that the traceback reads eight cells of
// a run of matches at once. A thread follows one pair.

#include "common/grid.cuh"
#include "realign/ended_pairs.cuh"

namespace {

constexpr int kTagBits = 4;
constexpr int kTagMask = (1 << kTagBits) - 1;
constexpr int kDiagonal = 8, kInsertion = 4, kInsertionExtended = 2, kDeletionExtended = 1;
constexpr int kSource = kDiagonal | kInsertion;
constexpr int kRowsPerWord = 8;
constexpr unsigned kDiagonals8 = 0x88888888u;  // kDiagonal of eight cells
constexpr int kUnreachable = -(1 << 30);

// Classes of bands by their width: 8, 16, 24 and 32 diagonals in one lane, 64 to 512 in several ones.
// Pairs of the class kClasses are left to another kernel.
constexpr int kOneLaneClasses = 4, kClasses = 8;
constexpr int kRowClasses = 32;  // by the binary digits of the number of rows
constexpr int kMostRows = 1 << 24;

// Weights of the steps through the matrix, shifted by the tag and with its bits.
struct Steps {
    int match, mismatch;  // diagonal, from a score that has gap_open added
    int gap_open, insertion_extend, deletion_extend;
};

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

__device__ inline int add_max(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900
    return __viaddmax_s32(a, b, c);
#else
    return max(a + b, c);
#endif
}

__device__ inline int without_tag(int tagged) { return tagged & ~kTagMask; }

// Shifts the four direction bits of a cell into a word, from above.
__device__ inline unsigned append_direction(unsigned word, unsigned best, unsigned insertion,
                                            unsigned deletion) {
    unsigned bits = (best & kSource) | (insertion & ~kSource);
    bits = (deletion & kDeletionExtended) | (bits & ~kDeletionExtended);
    return __funnelshift_r(word, bits, kTagBits);  // uses only the four lowest bits
}

// Returns four bases of a sequence from any position on; any bytes for positions outside of it.
__device__ inline unsigned four_bases(const unsigned char* bases, int size, int at) {
    const unsigned long long start = (unsigned long long)bases, end = start + size;
    const unsigned long long address = start + (long long)at, low = address & ~3ull;
    const unsigned shift = 8 * (address & 3);
    unsigned first = 0, second = 0;
    if (low + 4 > start && low < end) first = *(const unsigned*)low;
    if (low + 8 > start && low + 4 < end && shift) second = *(const unsigned*)(low + 4);
    return __funnelshift_r(first, second, shift);
}

// Returns the diagonals of a class.
__device__ inline int diagonals_of(int width_class) {
    return width_class < kOneLaneClasses ? 8 * (width_class + 1)
                                         : 64 << (width_class - kOneLaneClasses);
}

// What the lanes of a launch share.
struct Task {
    Steps step;
    Border border;
    int overhang;

    // Returns the tagged score, + gap_open, of a cell of the first row or column.
    __device__ int opened_border(int position) const {
        return (int)border.score(position) * (1 << kTagBits) + step.gap_open;
    }
};

// Bases of eight rows, the first row's in the lowest byte.
struct EightBases {
    unsigned low, high;

    __device__ EightBases(const unsigned char* bases, int size, int at)
        : low(four_bases(bases, size, at)), high(four_bases(bases, size, at + 4)) {}

    __device__ void drop_first() {
        low = __funnelshift_r(low, high, 8);
        high >>= 8;
    }
};

// Registers of a lane.
template <int kDiagonals, bool kShared>
struct Cells {
    int opened[kDiagonals];          // score in the row above + gap_open, no tag
    int deletion[kDiagonals];        // deletion score in the row above, no tag
    unsigned word[kDiagonals];       // directions of the last eight rows
    unsigned bases[kDiagonals / 4];  // query bases, four per word
    int last_insertion;              // of the last diagonal, no tag

    // Sets the row before the first one, where the first cell has the given column.
    __device__ Cells(const EndedPair& pair, const Task& task, int row, int first_column)
        : last_insertion(kUnreachable) {
#pragma unroll
        for (int d = 0; d < kDiagonals; ++d) {
            const int column = first_column + d;
            const bool is_border = row == 0 ? column >= 0 : column == 0;
            opened[d] = is_border ? task.opened_border(row + column) : kUnreachable;
            deletion[d] = kUnreachable;
            word[d] = 0;
            if (d % 4 == 0) bases[d / 4] = four_bases(pair.query, pair.query_size, column);
        }
    }

    // Fills a row; called by all lanes of the warp, of which some may have no row yet. With kBorder,
    // diagonals up to `last_border` have a cell of the first column, or before it.
    template <bool kBorder>
    __device__ void fill_row(unsigned reference_base, unsigned next_query_base, const Steps& step,
                             const Group& group, bool is_filled, int last_border,
                             int border_opened) {
        const unsigned reference_bases = reference_base * 0x01010101u;
        int left = kUnreachable, insertion = kUnreachable;
        int above = kUnreachable, deletion_above = kUnreachable;
        if constexpr (kShared) {
            const int from = max(lane_id() - 1, 0);
            left = __shfl_sync(kAllLanes, opened[kDiagonals - 1], from);
            insertion = __shfl_sync(kAllLanes, last_insertion, from);
            if (group.lane == 0) left = insertion = kUnreachable;
        }
#pragma unroll
        for (int d = 0; d < kDiagonals; ++d) {
            if (kShared && d == kDiagonals - 1) {
                const int from = min(lane_id() + 1, kWarpLanes - 1);
                above = __shfl_sync(kAllLanes, opened[0], from);
                deletion_above = __shfl_sync(kAllLanes, deletion[0], from);
                if (group.lane == group.lanes - 1) above = deletion_above = kUnreachable;
            }
            if (d + 1 < kDiagonals) {
                above = opened[d + 1];
                deletion_above = deletion[d + 1];
            }
            if (kShared && !is_filled) continue;
            fill_cell(d, reference_bases, above, deletion_above, step, left, insertion);
            if (kBorder && d <= last_border) {
                left = opened[d] = border_opened;
                insertion = deletion[d] = kUnreachable;
            }
        }
        if (kShared && !is_filled) return;
        last_insertion = insertion;
#pragma unroll
        for (int w = 0; w < kDiagonals / 4; ++w) {
            const unsigned next = w + 1 < kDiagonals / 4 ? bases[w + 1] : next_query_base;
            bases[w] = __funnelshift_r(bases[w], next, 8);
        }
    }

    // `left` and `insertion` are the opened score and the insertion score of the cell before, and
    // become those of this cell.
    __device__ void fill_cell(int d, unsigned reference_bases, int above, int deletion_above,
                              const Steps& step, int& left, int& insertion) {
        const unsigned differs = (bases[d / 4] ^ reference_bases) & 0xffu << (8 * (d % 4));
        const int through = opened[d] + (differs ? step.mismatch : step.match);
        const int down = add_max(deletion_above, step.deletion_extend, above);
        const int right = add_max(insertion, step.insertion_extend, left);
        const int best = max(add_max(right, kInsertion, through), down);
        word[d] = append_direction(word[d], (unsigned)best, (unsigned)right, (unsigned)down);
        insertion = without_tag(right);
        deletion[d] = without_tag(down);
        left = without_tag(best) + step.gap_open;
        opened[d] = left;
    }
};

// Fills bands of at most `steps` steps, one per group of the warp, and stores the directions:
// [step / 8][diagonal][lane of the warp].
template <int kDiagonals, bool kShared>
__device__ void fill_bands(const EndedPair& pair, const Band& band, const Task& task,
                           const Group& group, int steps, unsigned* directions) {
    // Column of the lane's first cell in the row before its first one; its query base is one before.
    const int first_column = band.first_row + band.lowest + group.lane * kDiagonals;
    Cells<kDiagonals, kShared> cells(pair, task, band.first_row, first_column);
    for (int first = 0; first < steps; first += kRowsPerWord) {
        const int first_row = first - group.lane;  // 0-based, from band.first_row + 1 on
        EightBases references(pair.reference, pair.row, band.first_row + first_row);
        // Those that come into the last register after each row.
        EightBases queries(pair.query, pair.query_size, first_column + first_row + kDiagonals);
        bool has_border = first_column + first_row < 0;
        if (kShared) has_border = __any_sync(kAllLanes, has_border);
#pragma unroll 1
        for (int row = first_row; row < first_row + kRowsPerWord; ++row) {
            const bool is_filled = row >= 0;
            if (has_border) {
                cells.template fill_row<true>(references.low & 0xff, queries.low, task.step, group,
                                              is_filled, -(first_column + row + 1),
                                              task.opened_border(band.first_row + row + 1));
            } else {
                cells.template fill_row<false>(references.low & 0xff, queries.low, task.step, group,
                                               is_filled, 0, 0);
            }
            references.drop_first();
            queries.drop_first();
        }
#pragma unroll
        for (int d = 0; d < kDiagonals; ++d) directions[d * kWarpLanes + lane_id()] = cells.word[d];
        directions += kDiagonals * kWarpLanes;
    }
    __syncwarp();
}

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

// Follows the directions of a band from its end cell, and returns the offset.
template <int kDiagonals>
__device__ int trace_back(const EndedPair& pair, const Band& band, int overhang,
                          const Group& group, const unsigned* directions, Runs& runs) {
    int row = pair.row, column = pair.column;
    int gap = kDiagonal;  // or kInsertion, or 0 for a deletion
    if (overhang == kSoftclip) runs.add(pair.query_size - column, kS);
    if (overhang == kIgnore) runs.add(pair.query_size - column, kM);

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
__device__ void write_alignment(const EndedPair& pair, const Band& band, int p, int overhang,
                                const Group& group, const unsigned* directions,
                                const Outputs& outputs) {
    Runs runs(nullptr);
    int offset = 0;
    if (p >= 0) offset = trace_back<kDiagonals>(pair, band, overhang, group, directions, runs);
    const int end_of_lane = sum_to_lane(runs.count);
    unsigned long long start = 0;
    if (lane_id() == kWarpLanes - 1) {
        start = atomicAdd(outputs.pool_used, (unsigned long long)end_of_lane);
    }
    start = __shfl_sync(kAllLanes, start, kWarpLanes - 1);
    if (p < 0) return;
    const unsigned long long end = start + end_of_lane;
    outputs.scores[p] = pair.score;
    outputs.offsets[p] = offset;
    outputs.cigar_counts[p] = runs.count;
    outputs.cigar_starts[p] =
        (int)min(end - runs.count, (unsigned long long)outputs.pool_capacity);
    if (end <= (unsigned long long)outputs.pool_capacity) {
        Runs written(outputs.pool + end);
        trace_back<kDiagonals>(pair, band, overhang, group, directions, written);
    }
}

// Returns the most diagonals between that of the end cell and another one of an alignment with the
// same score. A gap of x bases loses at least -open - (x - 1) * extend, and the matches of all except
// `free` of them. Never more than `most`.
struct GapWeights {
    int best_step, open, smaller;

    __device__ int widest(long long lost, int free, int most) const {
        if (lost < open) return 0;
        const long long left = lost - open;
        const int loss = smaller + best_step;
        if (smaller && left / smaller < free) return min((int)(left / smaller) + 1, most);
        if (loss == 0) return most;
        const long long widest = (left + smaller + (long long)best_step * free) / loss;
        return (int)min(widest, (long long)most);
    }
};

}  // namespace

// Plans the band of each of the pairs `rows`: `after` is how many diagonals are to the right of that
// of its end cell, and its key the class of its width, above the number of its rows. Counts the bands
// by class and row class.
extern "C" __global__ void plan_bands(
    Pairs pairs, EndCells end_cells, const long long* rows, int count, GapWeights weights,
    int largest_weight, int score_limit, int* after, int* keys, int* counts
) {
    __shared__ int own_counts[(kClasses + 1) * kRowClasses];
    for (int c = threadIdx.x; c < (kClasses + 1) * kRowClasses; c += blockDim.x) own_counts[c] = 0;
    __syncthreads();
    for (int k = first_thread(); k < count; k += all_threads()) {
        const EndedPair pair(pairs, end_cells, rows[k]);
        const int row = pair.row, column = pair.column;
        const long long lost = (long long)weights.best_step * min(row, column) - pair.score;
        const int right = weights.widest(lost, max(row - column, 0), row);
        const int left = weights.widest(lost, max(column - row, 0), column);
        const int band_rows = row - max(row - column - right, 0);
        const long long width = (long long)left + right + 1;
        int width_class = 0;
        while (width_class < kClasses && diagonals_of(width_class) < width) ++width_class;
        const long long cells = (long long)diagonals_of(width_class) * band_rows;
        const bool is_too_wide =
            width_class >= kOneLaneClasses && cells > (long long)row * pair.query_size;
        const long long steps = (long long)row + column + diagonals_of(kClasses);
        const bool fits = steps < kMostRows && largest_weight * steps < score_limit;
        if (row == 0 || is_too_wide || !fits) width_class = kClasses;
        after[k] = right;
        keys[k] = width_class * kMostRows + min(band_rows, kMostRows - 1);
        atomicAdd(&own_counts[width_class * kRowClasses + (32 - __clz(band_rows))], 1);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < (kClasses + 1) * kRowClasses; c += blockDim.x) {
        if (own_counts[c]) atomicAdd(&counts[c], own_counts[c]);
    }
}

// Aligns pairs in bands of kDiagonals * group_lanes diagonals; `order` has their numbers in `rows` and
// `after`. Each warp has scratch memory for the directions of the bands with most rows.
template <int kDiagonals, bool kShared>
__global__ void __launch_bounds__(128, kDiagonals > 16 ? 2 : 4)
banded_alignments(Pairs pairs, EndCells end_cells, const long long* rows, const int* after,
                  const long long* order, int count, Task task, int group_lanes, unsigned* scratch, long long words_per_warp,
                  Outputs outputs) {
    const Group group(kShared ? group_lanes : 1);
    unsigned* directions = scratch + first_warp() * words_per_warp;
    for (int first = first_warp() * group.count; first < count; first += all_warps() * group.count) {
        const int own = first + group.number;
        const long long k = order[min(own, count - 1)];
        const int p = (int)rows[k];
        const EndedPair pair(pairs, end_cells, p);
        const Band band(pair, kDiagonals * group.lanes, after[k]);
        int steps = band.rows + group.lanes - 1;
        if (kShared) steps = warp_max(steps);
        fill_bands<kDiagonals, kShared>(pair, band, task, group, steps, directions);
        const bool traces = own < count && group.lane == 0;
        write_alignment<kDiagonals>(pair, band, traces ? p : -1, task.overhang, group, directions,
                                    outputs);
        __syncwarp();
    }
}
