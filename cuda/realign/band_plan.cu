// Plans of bands around end cells (hapgpu/realign/align/cuda/bands.py).

#include "common/grid.cuh"
#include "realign/ended_pairs.cuh"

namespace {

// Classes of bands by their width: 8, 16, 24 and 32 diagonals in one lane, 64 to 512 in several ones.
// Pairs of the class kClasses are left to another kernel.
constexpr int kOneLaneClasses = 4, kClasses = 8;
constexpr int kRowClasses = 32;  // by the binary digits of the number of rows
constexpr int kMostRows = 1 << 24;

// Returns the diagonals of a class.
__device__ inline int diagonals_of(int width_class) {
    return width_class < kOneLaneClasses ? 8 * (width_class + 1)
                                         : 64 << (width_class - kOneLaneClasses);
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
// same score. A gap of x bases loses at least -open - (x - 1) * extend, and the matches of all except
// `free` of them. Never more than `most`.
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

// Plans the band of each of the pairs `rows`: it ends before the `matches` of the end cell's diagonal,
// and has `after` diagonals to the right of it. Its key is the class of its width, above the number of
// its rows. Counts the bands by class and row class.
extern "C" __global__ void plan_bands(
    Pairs pairs, EndCells end_cells, const long long* rows, int count, GapWeights weights,
    int largest_weight, int score_limit, int* matches, int* after, int* keys,
    int* counts
) {
    __shared__ int own_counts[(kClasses + 1) * kRowClasses];
    for (int c = threadIdx.x; c < (kClasses + 1) * kRowClasses; c += blockDim.x) own_counts[c] = 0;
    __syncthreads();
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
        const long long width = (long long)left + right + 1;
        int width_class = 0;
        while (width_class < kClasses && diagonals_of(width_class) < width) ++width_class;
        const long long cells = (long long)diagonals_of(width_class) * band_rows;
        const bool is_too_wide =
            width_class >= kOneLaneClasses && cells > (long long)row * pair.query_size;
        const long long steps = (long long)row + column + diagonals_of(kClasses);
        const bool fits = steps < kMostRows && largest_weight * steps < score_limit;
        if (!has_end || is_too_wide || !fits) width_class = kClasses;
        after[k] = right;
        keys[k] = width_class * kMostRows + min(band_rows, kMostRows - 1);
        atomicAdd(&own_counts[width_class * kRowClasses + (32 - __clz(band_rows))], 1);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < (kClasses + 1) * kRowClasses; c += blockDim.x) {
        if (own_counts[c]) atomicAdd(&counts[c], own_counts[c]);
    }
}
