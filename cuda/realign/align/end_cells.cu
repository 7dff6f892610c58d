// Best end cells of semi-global affine alignments, without traceback: same scores and cells as
// align.cu and tests/realign/align/reference.py.
//
// A cell has a cost, match * column - score, which no step lowers (`hapgpu/realign/align/cuda/
// packed.py` says for which weights). A group of neighbouring lanes of a warp fills the matrices of
// two pairs at once, in the halves of words. As in align.cu, a lane has a slot of kColumns columns,
// or one less for the first slots, and is one row after the lane to its left; long queries are
// filled in stripes. Costs of gaps lack the cost of opening, so that a step takes one instruction.
//
// With kWide, costs are clamped at `cap` every few rows, else all are below 2,048.

#include "common/grid.cuh"
#include "realign/align/overhang.cuh"
#include "realign/align/packed_costs.cuh"
#include "realign/align/stripes.cuh"
#include "realign/pairs.cuh"

namespace {

constexpr int kRowsPerClamp = 8;  // as in packed.py
constexpr int kCodes = 4;         // that a lane writes at a time
constexpr int kNone = 0x7fffffff;
constexpr int kUncertified = -1;

// Costs of the steps, those of one word in both halves.
struct Steps {
    unsigned mismatch, insertion_open, insertion_extend, deletion_open, deletion_extend;
    unsigned edge_open, edge_extend;  // of the first column; 0 where ends are free
    unsigned cap;
    int top_open, top_extend;  // of the first row
    int match, divisor;        // of a score; the weights were divided by it

    // Returns the cost of the cell at a position of the first row.
    __device__ unsigned top(int position) const {
        if (position == 0) return 0;
        const long long cost = top_open + (long long)(position - 1) * top_extend;
        return (unsigned)min(cost, (long long)(cap & 0xffffu));
    }
};

struct EndCells {
    int* scores;
    int* rows;
    int* columns;
};

struct Pair {
    const unsigned char* reference;
    const unsigned char* query;
    int number;         // in the caller's order; -1 for none
    int rows, columns;  // lengths of reference and query

    // Returns a base of the query; 0 after its end.
    __device__ unsigned base(int column) const { return column < columns ? query[column] : 0; }
};

// Costs of a row at the right border of a lane: of the cell, and of the insertion to it.
struct __align__(8) Border {
    unsigned cost, insertion;
};

// Memory of a group, reused for all its pairs.
struct Scratch {
    unsigned* references;  // [row], codes of both pairs
    Border* borders;       // [row], at the right border of a stripe
    unsigned* last_rows;   // [pair][stripe][register][lane of the warp], costs
};

// The cells of a lane: the row above, and what the lanes beside it need.
template <int kColumns>
struct Cells {
    unsigned query[kColumns];     // codes
    unsigned cost[kColumns];
    unsigned deletion[kColumns];  // of the cells above, from above
    unsigned left_above;
    Border right;
    unsigned edge;  // cost left of the next row, if this is the first lane
    unsigned full;  // halves whose slot is not short

    __device__ void start(const Pair& low, const Pair& high, const Steps& step,
                          const Group& group, int stripe, int stripes) {
        const int slot = stripe * group.lanes + group.lane;
        const Slots<kColumns> one(low.columns, stripes * group.lanes);
        const Slots<kColumns> other(high.columns, stripes * group.lanes);
        const int first[2] = {one.first_column(slot), other.first_column(slot)};
        full = (one.is_short(slot) ? 0 : 0xffffu) | (other.is_short(slot) ? 0 : 0xffff0000u);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            query[c] = base_codes(low.base(first[0] + c), high.base(first[1] + c));
            cost[c] = c == 0 ? step.top(first[0] + 1) | step.top(first[1] + 1) << 16
                             : add_min(cost[c - 1], step.top_extend * kHalves, step.cap);
            deletion[c] = cost[c];  // so the first deletions are opened
        }
        left_above = step.top(first[0]) | step.top(first[1]) << 16;
        right = {0, 0};
        edge = step.edge_open;
    }

    // Fills a row; `left` has the costs of its left border.
    template <bool kWide>
    __device__ void fill(unsigned reference, const Steps& step, Border left) {
        unsigned diagonal = left_above;
        left_above = left.cost;
        Border previous = left;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const unsigned is_different = different(query[c], reference);
            const unsigned through = kWide ? diagonal + chosen(is_different, step.mismatch)
                                           : add_chosen(is_different, step.mismatch, diagonal);
            diagonal = cost[c];
            previous = left;
            deletion[c] = add_min<kWide>(deletion[c], step.deletion_extend, cost[c]);
            left.insertion = add_min<kWide>(left.insertion, step.insertion_extend, left.cost);
            const unsigned best = add_min<kWide>(deletion[c], step.deletion_open, through);
            left.cost = add_min<kWide>(left.insertion, step.insertion_open, best);
            cost[c] = left.cost;
        }
        right.cost = selected_bits(full, left.cost, previous.cost);
        right.insertion = selected_bits(full, left.insertion, previous.insertion);
    }

    // Lowers costs above the cap.
    __device__ void clamp(unsigned cap) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) cost[c] = add_min(cost[c], 0, cap);
    }
};

// What all steps of two pairs have in common.
struct Matrices {
    int rows, shortest;  // of the longest and the shortest reference of the warp
    int last_rows[2];    // of both pairs; -1 if they are not kept
};

// Fills a row per lane in each step from `step` to `end`. With kChecks, rows may be outside the
// matrices, or last rows. Without kEdge, the left border is free.
template <int kColumns, bool kWide, bool kChecks, bool kEdge>
__device__ void fill_steps(Cells<kColumns>& cells, const Steps& steps, const Group& group,
                           const Scratch& scratch, const Matrices& matrices, int stripe,
                           int stripes, int step, int end) {
    const bool is_first = group.lane == 0, is_last = group.lane == group.lanes - 1;
    const unsigned* reference = scratch.references + (step - group.lane);
    Border* border = scratch.borders + (step - group.lane);
    for (; step < end; ++step, ++reference, ++border) {
        const int row = step - group.lane;  // 0-based
        Border left = {__shfl_up_sync(kAllLanes, cells.right.cost, 1),
                       __shfl_up_sync(kAllLanes, cells.right.insertion, 1)};
        if (kChecks && (row < 0 || row >= matrices.rows)) continue;
        if (is_first) left = {0, 0};
        if (kEdge && is_first) {
            left = stripe > 0 ? *border : Border{cells.edge, cells.edge};
            cells.edge = add_min(cells.edge, steps.edge_extend, steps.cap);
        }
        cells.template fill<kWide>(*reference, steps, left);
        if (kWide && (kChecks || step % kRowsPerClamp == 0)) cells.clamp(steps.cap);
        if (is_last) *border = cells.right;
        if (!kChecks) continue;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if (row != matrices.last_rows[half]) continue;
            unsigned* kept = scratch.last_rows +
                             (half * stripes + stripe) * (kColumns * kWarpLanes) + lane_id();
#pragma unroll
            for (int c = 0; c < kColumns; ++c) kept[c * kWarpLanes] = cells.cost[c];
        }
    }
}

// Fills a stripe.
template <int kColumns, bool kWide>
__device__ void fill_stripe(Cells<kColumns>& cells, const Steps& steps, const Group& group,
                            const Scratch& scratch, const Matrices& matrices, int stripe,
                            int stripes) {
    // Between these steps, all rows are within all matrices, and none is a last row.
    const int all = matrices.rows + group.lanes - 1, started = min(group.lanes - 1, all);
    const int ending = max(matrices.shortest - 1, started);
    const bool has_edge = stripe > 0 || (steps.edge_open | steps.edge_extend) != 0;
    for (int step = 0; step < all;) {
        const int end = step < started ? started : step < ending ? ending : all;
        if (step < started || step >= ending) {
            fill_steps<kColumns, kWide, true, true>(cells, steps, group, scratch, matrices,
                                                      stripe, stripes, step, end);
        } else if (has_edge) {
            fill_steps<kColumns, kWide, false, true>(cells, steps, group, scratch, matrices,
                                                       stripe, stripes, step, end);
        } else {
            fill_steps<kColumns, kWide, false, false>(cells, steps, group, scratch, matrices,
                                                        stripe, stripes, step, end);
        }
        step = end;
    }
}

// Returns the best end cell of the last column: of equal scores, the lowest row.
__device__ inline EndCell end_in_column(const Pair& pair, int half, int overhang, const Steps& step,
                                        const Group& group, const Border* borders) {
    // The cost in the upper half of a key, and 65,535 less the row in the lower half.
    unsigned best = 0xffffffffu;
    const int first = overhang == kIndel ? pair.rows - 1 : 0;
    for (int row = first + group.lane; row < pair.rows; row += group.lanes) {
        best = min(best, (unsigned)cost_of(borders[row].cost, half) << 16 | (0xffffu - row));
    }
    for (int distance = group.lanes / 2; distance > 0; distance /= 2) {
        best = min(best, __shfl_xor_sync(kAllLanes, best, distance));
    }
    const int row = 0xffff - (int)(best & 0xffffu);
    return {step.match * pair.columns - (int)(best >> 16), row + 1, pair.columns};
}

// Returns the best end cell of the last row, if any is at least as good as the score `enough`.
template <int kColumns>
__device__ EndCell end_in_row(const Pair& pair, int half, const Steps& step, const Group& group,
                              const unsigned* last_rows, int stripes, int enough) {
    const Slots<kColumns> slots(pair.columns, stripes * group.lanes);
    EndCell best = {-kNone, pair.rows, pair.columns};
    for (int stripe = 0; stripe < stripes; ++stripe) {
        const int slot = stripe * group.lanes + group.lane;
        const int width = kColumns - slots.is_short(slot);
        const unsigned* kept =
            last_rows + (half * stripes + stripe) * (kColumns * kWarpLanes) + lane_id();
        for (int c = width - 1; c >= 0; --c) {
            const int column = slots.first_column(slot) + c + 1;
            if (step.match * column < enough) break;  // costs are at least 0
            const int cost = cost_of(kept[c * kWarpLanes], half);
            const EndCell cell = {step.match * column - cost, pair.rows, column};
            if (ends_better(cell, best)) best = cell;
        }
    }
    for (int distance = group.lanes / 2; distance > 0; distance /= 2) {
        const EndCell other = {__shfl_xor_sync(kAllLanes, best.score, distance), pair.rows,
                               __shfl_xor_sync(kAllLanes, best.column, distance)};
        if (ends_better(other, best)) best = other;
    }
    return best;
}

// Finds the end cell of one pair, and writes it.
template <int kColumns>
__device__ void write_end(const Pair& pair, int half, int overhang, const Steps& step,
                          const Group& group, const Scratch& scratch, int stripes,
                          const EndCells& out) {
    EndCell end = end_in_column(pair, half, overhang, step, group, scratch.borders);
    if (overhang == kSoftclip || overhang == kIgnore) {
        const EndCell other =
            end_in_row<kColumns>(pair, half, step, group, scratch.last_rows, stripes, end.score);
        const bool is_nearer = abs(other.row - other.column) < abs(end.row - end.column);
        if (other.score > end.score || (other.score == end.score && is_nearer)) end = other;
    }
    if (group.lane != 0 || pair.number < 0) return;
    const bool is_exact = step.match * pair.columns - end.score < (int)(step.cap & 0xffffu);
    out.scores[pair.number] = end.score * step.divisor;
    out.rows[pair.number] = is_exact ? end.row : kUncertified;
    out.columns[pair.number] = end.column;
}

// Returns the pair of a position of the order; after its end, no pair.
__device__ inline Pair pair_at(const Pairs& pairs, const long long* order, int count, int at) {
    if (at >= count) return {nullptr, nullptr, -1, 0, 0};
    const int number = (int)order[at];
    const int reference = pairs.reference_index[number], query = pairs.query_index[number];
    return {pairs.references.at(reference), pairs.queries.at(query), number,
            (int)pairs.references.size(reference), (int)pairs.queries.size(query)};
}

// Writes the codes of both references, and returns what all steps need.
__device__ inline Matrices start_pairs(const Pair& low, const Pair& high, bool keeps_last_row,
                                       const Group& group, unsigned* references) {
    const int rows = warp_max(max(low.rows, high.rows));
    const int shortest = min(low.number < 0 ? kNone : low.rows, high.number < 0 ? kNone : high.rows);
    for (int first = kCodes * group.lane; first < rows; first += kCodes * group.lanes) {
        int codes[kCodes];
#pragma unroll
        for (int k = 0; k < kCodes; ++k) {
            const int row = first + k;
            codes[k] = base_codes(row < low.rows ? low.reference[row] : 0,
                                  row < high.rows ? high.reference[row] : 0);
        }
        reinterpret_cast<int4*>(references)[first / kCodes] = {codes[0], codes[1], codes[2],
                                                               codes[3]};
    }
    return {rows, warp_min(shortest),
            {keeps_last_row ? low.rows - 1 : -1, keeps_last_row ? high.rows - 1 : -1}};
}

}  // namespace

// Finds the end cells of the pairs of `order`, two neighbours by a group of lanes. The warps take
// groups in turn, so any number of blocks works.
//
// All queries of a launch have more than group_lanes * stripes * (kColumns - 1) and at most
// group_lanes * stripes * kColumns bases, and all references at most `row_capacity`. A warp has
// words_per_warp words of scratch: codes of references, borders from `borders_at`, last rows from
// `last_rows_at` on.
template <int kColumns, bool kWide>
__global__ void __launch_bounds__(128, 3)
end_cells(Pairs pairs, const long long* order, int count, Steps steps, int overhang,
          int group_lanes, int stripes, unsigned* scratch_memory, long long words_per_warp,
          long long borders_at, long long last_rows_at, int row_capacity, EndCells out) {
    const Group group(group_lanes);
    unsigned* memory = scratch_memory + words_per_warp * first_warp();
    const long long rows_before = (long long)group.number * row_capacity;
    const Scratch scratch = {memory + rows_before,
                             reinterpret_cast<Border*>(memory + borders_at) + rows_before,
                             memory + last_rows_at};
    const bool keeps_last_row = overhang == kSoftclip || overhang == kIgnore;

    for (long long turn = first_warp(); 2 * turn * group.count < count; turn += all_warps()) {
        const int at = 2 * ((int)turn * group.count + group.number);
        const Matrices matrices = start_pairs(pair_at(pairs, order, count, at),
                                              pair_at(pairs, order, count, at + 1),
                                              keeps_last_row, group, scratch.references);
        __syncwarp();  // lanes read codes that other lanes wrote
        for (int stripe = 0; stripe < stripes; ++stripe) {
            Cells<kColumns> cells;
            cells.start(pair_at(pairs, order, count, at), pair_at(pairs, order, count, at + 1),
                        steps, group, stripe, stripes);
            fill_stripe<kColumns, kWide>(cells, steps, group, scratch, matrices, stripe,
                                           stripes);
            __syncwarp();  // the first lane reads borders, and all lanes the last column
        }
        for (int half = 0; half < 2; ++half) {
            const Pair pair = pair_at(pairs, order, count, at + half);
            write_end<kColumns>(pair, half, overhang, steps, group, scratch, stripes, out);
        }
        __syncwarp();  // the memory is used again
    }
}
