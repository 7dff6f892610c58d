// Traceback in a band of diagonals around the end cell of a pair, which has all alignments of its
// score (hapgpu/realign/align/cuda/bands.py).
//
// A band has one to 32 lanes of a warp. Each lane has eight neighbouring diagonals of the matrix,
// and keeps their cells of the row above in registers. From one row (reference base) to the next,
// the query bases move by one register. Each lane is one row after the lane to its left: the cell
// to the left of its first one was filled in the step before, and the cell above its last one is
// the first that the lane to its right fills in the same step.
//
// Scores have the tag bits of align.cu, and cells outside the band no score. A lane packs the
// directions of eight steps on one diagonal into a word.

#include "common/warp.cuh"
#include "realign/align/band_trace.cuh"

namespace {

constexpr int kUnrolled = 4;   // steps, half of a block: the code of a whole one is too long
constexpr int kRowBins = 64;  // of band_plan.cu

// Weights of the steps through the matrix, shifted by the tag and with its bits.
struct Steps {
    int match, mismatch;  // diagonal, from a score that has gap_open added
    int gap_open, insertion_extend, deletion_extend;
};

// What all bands of a launch share.
struct Task {
    Steps step;
    Border border;
    int match, overhang;

    // Returns the tagged score, + gap_open, of a cell of the first row or column.
    __device__ int opened_border(int position) const {
        return (int)border.score(position) * (1 << kTagBits) + step.gap_open;
    }
};

__device__ inline int add_max(int a, int b, int c) {
#if __CUDA_ARCH__ >= 900
    return __viaddmax_s32(a, b, c);
#else
    return max(a + b, c);
#endif
}

// Bases of a sequence, four per word, from any position on; any bytes for positions outside it. No
// byte outside is read, except in the aligned words of its first and last base.
struct BaseReader {
    const unsigned* words;
    unsigned at, count;  // the next word, and the words that the sequence is in
    unsigned shift, last;

    __device__ BaseReader(const unsigned char* bases, int size, int position) {
        const int before = (int)((unsigned long long)bases & 3);
        words = (const unsigned*)(bases - before);
        count = (before + size + 3) / 4;
        at = (before + position) >> 2;
        shift = 8 * (before + position & 3);
        last = load();
    }

    __device__ unsigned load() {
        const unsigned word = at < count ? words[at] : 0;
        ++at;
        return word;
    }

    __device__ unsigned next() {
        const unsigned before = last;
        last = load();
        return __funnelshift_r(before, last, shift);
    }
};

// Registers of a lane.
struct Cells {
    int opened[kLaneDiagonals];     // score in the row above + gap_open, no tag
    int deletion[kLaneDiagonals];   // deletion score in the row above, no tag
    int last_insertion;             // of the last diagonal, no tag
    unsigned word[kLaneDiagonals];  // directions of a block

    // Sets the row before the first one, where the first cell has the given column.
    __device__ Cells(const Task& task, int row, int first_column) : last_insertion(kUnreachable) {
#pragma unroll
        for (int d = 0; d < kLaneDiagonals; ++d) {
            const int column = first_column + d;
            const bool is_border = row == 0 ? column >= 0 : column == 0;
            opened[d] = is_border ? task.opened_border(row + column) : kUnreachable;
            deletion[d] = kUnreachable;
        }
    }

    // Fills the row of an unrolled step; `unit` is the lowest bit of its directions. Called by all
    // lanes of the warp. With kFirst, a lane may have no row yet, and the cell `border` is of the
    // first column. Cells before it have no score, and only cells of the first column depend on them.
    template <bool kFirst>
    __device__ void fill_row(unsigned references, const unsigned (&queries)[3], int step,
                             unsigned unit, const Task& task, const Group& group,
                             bool is_filled, int border, int border_opened) {
        const unsigned reference = __byte_perm(references, 0, 0x1111 * step);
        int left = __shfl_sync(kAllLanes, opened[kLaneDiagonals - 1], group.left);
        int insertion = __shfl_sync(kAllLanes, last_insertion, group.left);
        if (group.lane == 0) left = insertion = kUnreachable;
        const auto fill = [&](int d, int above, int deletion_above) {
            const unsigned query = __funnelshift_r(queries[d / 4], queries[d / 4 + 1], 8 * step);
            const bool differs = (query ^ reference) & 0xffu << 8 * (d % 4);
            fill_cell(d, differs, above, deletion_above, task.step, unit, left, insertion);
            if (kFirst && d == border) {
                left = opened[d] = border_opened;
                insertion = kUnreachable;
            }
        };
        if (!kFirst || is_filled) fill(0, opened[1], deletion[1]);
        int above = __shfl_sync(kAllLanes, opened[0], group.right);
        int deletion_above = __shfl_sync(kAllLanes, deletion[0], group.right);
        if (group.is_last) above = deletion_above = kUnreachable;
        if (!kFirst || is_filled) {
#pragma unroll
            for (int d = 1; d < kLaneDiagonals - 1; ++d) fill(d, opened[d + 1], deletion[d + 1]);
            fill(kLaneDiagonals - 1, above, deletion_above);
            last_insertion = insertion;
        }
    }

    // `left` and `insertion` are the opened score and the insertion score of the cell before, and
    // become those of this cell.
    __device__ void fill_cell(int d, bool differs, int above, int deletion_above,
                              const Steps& weights, unsigned unit, int& left, int& insertion) {
        const int through = opened[d] + (differs ? weights.mismatch : weights.match);
        const int down = add_max(deletion_above, weights.deletion_extend, above);
        const int right = add_max(insertion, weights.insertion_extend, left);
        const int best = max(add_max(right, kInsertion, through), down);
        const unsigned extended = ((unsigned)right | (unsigned)down) & ~kSource & kTagMask;
        const unsigned direction = ((unsigned)best & kSource) | extended;
        word[d] += direction * unit;
        insertion = without_tag(right);
        deletion[d] = without_tag(down);
        left = opened[d] = without_tag(best) + weights.gap_open;
    }
};

// Fills bands of at most `steps` steps, one per group of the warp, and stores the directions:
// [block of steps][diagonal of a lane][lane of the warp].
__device__ void fill_bands(const EndedPair& pair, const Band& band, const Task& task,
                           const Group& group, int steps, unsigned* directions) {
    // Column of the lane's first cell in the row before its first one; its base is one before.
    const int first_column = band.first_row + band.lowest + group.lane * kLaneDiagonals;
    Cells cells(task, band.first_row, first_column);
    BaseReader references(pair.reference, pair.row, band.first_row - group.lane);
    BaseReader queries(pair.query, pair.query_size, first_column - group.lane);
    unsigned reference = references.next();
    unsigned query[3] = {queries.next(), queries.next(), queries.next()};
    for (int first = 0; first % kBlockSteps || first < steps; first += kUnrolled) {
        const int row = first - group.lane;  // 0-based, from band.first_row + 1 on
        const unsigned next_reference = references.next(), next_query = queries.next();
        const bool is_first_half = first % kBlockSteps == 0;
        const unsigned unit = is_first_half ? 1 : 1 << kTagBits * kUnrolled;
        if (is_first_half) {
#pragma unroll
            for (int d = 0; d < kLaneDiagonals; ++d) cells.word[d] = 0;
        }
        if (__any_sync(kAllLanes, row < 0 || first_column + row < 0)) {
#pragma unroll
            for (int k = 0; k < kUnrolled; ++k) {
                cells.fill_row<true>(reference, query, k, unit << kTagBits * k, task, group,
                                     row + k >= 0, -(first_column + row + k + 1),
                                     task.opened_border(band.first_row + row + k + 1));
            }
        } else {
#pragma unroll
            for (int k = 0; k < kUnrolled; ++k) {
                cells.fill_row<false>(reference, query, k, unit << kTagBits * k, task, group, true,
                                      0, 0);
            }
        }
        if (!is_first_half) {
#pragma unroll
            for (int d = 0; d < kLaneDiagonals; ++d) {
                directions[d * kWarpLanes + lane_id()] = cells.word[d];
            }
            directions += kLaneDiagonals * kWarpLanes;
        }
        reference = next_reference;
        query[0] = query[1];
        query[1] = query[2];
        query[2] = next_query;
    }
    __syncwarp();
}

// Bands that a warp fills at a time: `count` ones of `lanes` lanes, from rank `first` on.
struct Share {
    int lanes, first, count;
};

// Returns the n-th share of a launch, with no bands if there is none. `bounds` are the ranks where
// the bins of a row group start (band_plan.cu); the widest bands come first.
__device__ inline Share find_share(const int* bounds, int n) {
    const int lanes = kWarpLanes - lane_id(), bands = kWarpLanes / lanes;
    const int start = bounds[lane_id() * kRowBins], end = bounds[(lane_id() + 1) * kRowBins];
    const int shares = (end - start + bands - 1) / bands;
    const int own = n - (sum_to_lane(shares) - shares);
    const unsigned found = __ballot_sync(kAllLanes, own >= 0 && own < shares);
    const int from = found ? __ffs(found) - 1 : 0;
    const int first = __shfl_sync(kAllLanes, start + own * bands, from);
    const int last = __shfl_sync(kAllLanes, end, from);
    const int found_lanes = kWarpLanes - from;
    return {found_lanes, first, found ? min(last - first, kWarpLanes / found_lanes) : 0};
}

}  // namespace

// Aligns pairs in the bands of a row group; `order` has the numbers of their plans. The warps take
// shares in turn, and each has scratch memory for the longest bands: runs, then directions.
extern "C" __global__ void __launch_bounds__(128, 5)
banded_alignments(Pairs pairs, EndCells end_cells, const long long* rows, const int* matches,
                  const int* after, const int* order, const int* bounds, int* taken,
                  Task task, unsigned* scratch, long long words_per_warp, Outputs outputs) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    unsigned* runs = scratch + warp * words_per_warp;
    unsigned* directions = runs + kKeptRuns * kWarpLanes;
    for (;;) {
        int n = 0;
        if (lane_id() == 0) n = atomicAdd(taken, 1);
        const Share share = find_share(bounds, __shfl_sync(kAllLanes, n, 0));
        if (share.count == 0) break;
        const Group group(share.lanes);
        const int own = min(group.number, share.count - 1);
        const int k = order[share.first + own];
        const int p = (int)rows[k];
        EndedPair pair(pairs, end_cells, p);
        const int score = pair.score;
        pair.go_back(matches[k], task.match);
        const Band band(pair, kLaneDiagonals * share.lanes, after[k]);
        fill_bands(pair, band, task, group, warp_max(band.rows) + share.lanes - 1, directions);
        const bool traces = group.number < share.count && group.lane == 0;
        const Traceback traceback = {pair, band, directions + group.first, matches[k],
                                     task.overhang};
        write_alignment(traceback, traces ? p : -1, score, runs, outputs);
        __syncwarp();
    }
}
