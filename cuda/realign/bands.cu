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
#include "realign/band_trace.cuh"

namespace {

constexpr int kUnreachable = -(1 << 30);

// Weights of the steps through the matrix, shifted by the tag and with its bits.
struct Steps {
    int match, mismatch;  // diagonal, from a score that has gap_open added
    int gap_open, insertion_extend, deletion_extend;
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

// What the lanes of a launch share.
struct Task {
    Steps step;
    Border border;
    int match, overhang;

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

}  // namespace

// Aligns pairs in bands of kDiagonals * group_lanes diagonals; `order` has the numbers of their plans.
// Each warp has scratch memory for the directions of the bands with most rows.
template <int kDiagonals, bool kShared>
__global__ void __launch_bounds__(128, kDiagonals > 16 ? 2 : 4)
banded_alignments(Pairs pairs, EndCells end_cells, const long long* rows, const int* matches,
                  const int* after, const long long* order, int count, Task task, int group_lanes,
                  unsigned* scratch, long long words_per_warp, Outputs outputs) {
    const Group group(kShared ? group_lanes : 1);
    unsigned* directions = scratch + first_warp() * words_per_warp;
    for (int first = first_warp() * group.count; first < count; first += all_warps() * group.count) {
        const int own = first + group.number;
        const long long k = order[min(own, count - 1)];
        const int p = (int)rows[k];
        EndedPair pair(pairs, end_cells, p);
        const int score = pair.score;
        pair.go_back(matches[k], task.match);
        const Band band(pair, kDiagonals * group.lanes, after[k]);
        int steps = band.rows + group.lanes - 1;
        if (kShared) steps = warp_max(steps);
        fill_bands<kDiagonals, kShared>(pair, band, task, group, steps, directions);
        const bool traces = own < count && group.lane == 0;
        write_alignment<kDiagonals>(pair, band, traces ? p : -1, score, task.overhang, group,
                                    matches[k], directions, outputs);
        __syncwarp();
    }
}
