// Plans of bands around end cells (hapgpu/realign/align/cuda/bands.py).

#include "common/grid.cuh"
#include "realign/align/ended_pairs.cuh"

namespace {

constexpr int kLaneDiagonals = 8, kMostLanes = 32;
// Bands with more lanes are only for pairs whose matrices have more cells.
constexpr int kFewLanes = 4;
// Bands are ordered by bins: bin 0 has pairs without a band. The others have first the groups of
// bands with most rows (group g has less than kShortRows << g), in each of these the widest bands,
// and of each width the bands with most rows.
constexpr int kRowGroups = 16, kShortRows = 512;
constexpr int kRowBins = 64, kRowsPerBin = kShortRows / kRowBins;

__device__ inline int bin_of(int lanes, int rows) {
    int group = 0;
    while (rows >= kShortRows << group) ++group;
    const int later = (group * kMostLanes + lanes - 1) * kRowBins + (rows >> group) / kRowsPerBin;
    return kRowGroups * kMostLanes * kRowBins - later;
}

// Returns four bases of a sequence from any position on; any bytes for positions outside it. No
// byte outside is read, except in the aligned words of its first and last base.
__device__ inline unsigned four_bases(const unsigned char* bases, int size, int at) {
    const unsigned long long start = (unsigned long long)bases, end = start + size;
    const unsigned long long address = start + (long long)at, low = address & ~3ull;
    const bool has_low = low + 4 > start && low < end, has_high = low + 8 > start && low + 4 < end;
    return __funnelshift_r(has_low ? *(const unsigned*)low : 0,
                           has_high ? *(const unsigned*)(low + 4) : 0, 8 * (address & 3));
}

// Returns how many bases before an end cell match along its diagonal.
__device__ inline int matches_before(const EndedPair& pair) {
    const int size = min(pair.row, pair.column);
    for (int done = 0; done < size; done += 4) {
        const unsigned differences =
            four_bases(pair.reference, pair.row, pair.row - done - 4) ^
            four_bases(pair.query, pair.column, pair.column - done - 4);
        if (differences) return min(done + __clz(differences) / 8, size);
    }
    return size;
}

// Returns the most diagonals between that of the end cell and another one of an alignment with the
// same score. A gap of x bases loses at least open + (x - 1) * smaller, and the matches of all
// except `free` of them. Never more than `most`.
struct GapWeights {
    int best_step, open, smaller;
    int skips_matches;  // whether the traceback stays on a diagonal of matches

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

// Plans the band of each of the pairs `rows`: it ends before the `matches` of the end cell's
// diagonal, and has `after` diagonals to the right of it. Counts the bands of each bin.
extern "C" __global__ void plan_bands(
    Pairs pairs, EndCells end_cells, const long long* rows, int count, GapWeights weights,
    int largest_weight, int score_limit, int* matches, int* after, int* bins, int* bin_counts
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        EndedPair pair(pairs, end_cells, rows[k]);
        const bool has_end = pair.row > 0;
        matches[k] = weights.skips_matches ? matches_before(pair) : 0;
        pair.go_back(matches[k], weights.best_step);
        const int row = pair.row, column = pair.column;
        const long long lost = (long long)weights.best_step * min(row, column) - pair.score;
        const int right = weights.widest(lost, max(row - column, 0), row);
        const int left = weights.widest(lost, max(column - row, 0), column);
        const int band_rows = row - max(row - column - right, 0);
        const long long lanes = ((long long)left + right + kLaneDiagonals) / kLaneDiagonals;
        const long long cells = lanes * kLaneDiagonals * band_rows;
        const bool is_too_wide =
            lanes > kMostLanes || (lanes > kFewLanes && cells > (long long)row * pair.query_size);
        // The matrix, with the diagonals beside it, has at most this many steps.
        const long long steps = (long long)row + column + kLaneDiagonals * kMostLanes;
        const bool fits =
            steps < kShortRows << (kRowGroups - 1) && largest_weight * steps < score_limit;
        after[k] = right;
        bins[k] = has_end && fits && !is_too_wide ? bin_of((int)lanes, band_rows) : 0;
        atomicAdd(&bin_counts[bins[k]], 1);
    }
}

// Writes the number of each plan at its rank. `bounds` are the ends of the bins, and become their
// starts.
extern "C" __global__ void order_bands(const int* bins, int count, int* bounds, int* order) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        order[atomicAdd(&bounds[bins[k]], -1) - 1] = k;
    }
}
