// The pair-HMM in float64, by the recurrence as GATK writes it (facts in hapgpu/pairhmm/model.py):
//     M(i,j) = lambda (alpha M(i-1,j-1) + beta (I(i-1,j-1) + D(i-1,j-1)))
//     I(i,j) = delta M(i-1,j) + eps I(i-1,j)        D(i,j) = zeta M(i,j-1) + eps D(i,j-1)
// for the few pairs that float32 cannot hold. A warp per pair goes through it row by row; the row
// above lies in memory. What even float64 cannot hold becomes NaN, for the host to find.

#include "warp.cuh"

namespace {

constexpr double kLog10Of2 = 0.30102999566398119521;
constexpr int kColumns = 8;  // neighbouring ones of a lane
constexpr int kStartExponent = 960;
constexpr double kLeastSum = 1e-200;  // far above what was lost where numbers ran out of exponents
constexpr int kNearColumns = 640;

struct Qualities {
    const unsigned char *bases, *base, *insertion, *deletion, *extend;
    bool is_uniform;  // one gap continuation for all rows
    const double* probabilities;
};

// Read row with its probabilities.
struct RowModel {
    unsigned char base;
    double error, alpha, beta, insertion, deletion, extend;

    __device__ RowModel(const Qualities& qualities, int row) {
        base = qualities.bases[row];
        error = qualities.probabilities[qualities.base[row]];
        insertion = qualities.probabilities[qualities.insertion[row]];
        deletion = qualities.probabilities[qualities.deletion[row]];
        extend = qualities.probabilities[qualities.extend[qualities.is_uniform ? 0 : row]];
        alpha = fmax(0.0, 1.0 - (insertion + deletion));
        beta = 1.0 - extend;
    }
};

// The row above and, once they are computed, this row: one value per column.
struct Rows {
    double *match, *insertion, *deletion;
};

// y(lane) = x(lane) + factor y(lane - 1), with y(-1) = before.
__device__ double chained(double x, double factor, double before) {
    double power = factor, own_power = 1.0;
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        double left = __shfl_up_sync(kAllLanes, x, distance);
        if (lane_id() >= distance) x += power * left;
        if (lane_id() & distance) own_power *= power;
        power *= power;
    }
    return x + own_power * factor * before;
}

// What the lane to the left has; lane 0 gets `before`, which becomes what the last lane has.
__device__ double from_left(double value, double& before) {
    double left = __shfl_up_sync(kAllLanes, value, 1);
    if (lane_id() == 0) left = before;
    before = __shfl_sync(kAllLanes, value, kWarpLanes - 1);
    return left;
}

// Computes a row in place; `corner` is D of the row above in column 0.
__device__ void compute_row(const RowModel& row, Rows rows, const unsigned char* haplotype,
                            int width, double corner) {
    double match_before = 0.0, insertion_before = 0.0, deletion_before = corner;
    double new_match_before = 0.0, new_deletion_before = 0.0;
    double extend_all = 1.0;
    for (int k = 0; k < kColumns; ++k) extend_all *= row.extend;
    for (int first = 0; first < width; first += kWarpLanes * kColumns) {
        const int column = first + lane_id() * kColumns;
        double match[kColumns], insertion[kColumns], deletion[kColumns];
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            bool inside = column + k < width;
            match[k] = inside ? rows.match[column + k] : 0.0;
            insertion[k] = inside ? rows.insertion[column + k] : 0.0;
            deletion[k] = inside ? rows.deletion[column + k] : 0.0;
        }
        double match_left = from_left(match[kColumns - 1], match_before);
        double gaps_left = from_left(insertion[kColumns - 1], insertion_before);
        gaps_left += from_left(deletion[kColumns - 1], deletion_before);
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            bool inside = column + k < width;
            unsigned char other = inside ? haplotype[column + k] : 'N';
            bool matches = row.base == other || row.base == 'N' || other == 'N';
            double emission = matches ? 1.0 - row.error : row.error / 3.0;
            double here = emission * (row.alpha * match_left + row.beta * gaps_left);
            match_left = match[k];
            gaps_left = insertion[k] + deletion[k];
            insertion[k] = row.insertion * match[k] + row.extend * insertion[k];
            match[k] = inside ? here : 0.0;
        }
        double opened = row.deletion * from_left(match[kColumns - 1], new_match_before);
        deletion[0] = opened;
#pragma unroll
        for (int k = 1; k < kColumns; ++k) {
            deletion[k] = row.deletion * match[k - 1] + row.extend * deletion[k - 1];
        }
        // What comes from the lanes to the left fades from column to column.
        double last = chained(deletion[kColumns - 1], extend_all, new_deletion_before);
        double faded = from_left(last, new_deletion_before);
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            faded *= row.extend;
            deletion[k] += faded;
            if (column + k < width) {
                rows.match[column + k] = match[k];
                rows.insertion[column + k] = insertion[k];
                rows.deletion[column + k] = deletion[k];
            }
        }
    }
}

__device__ double sum_of_row(Rows rows, int width) {
    double sum = 0.0;
    for (int column = lane_id(); column < width; column += kWarpLanes) {
        sum += rows.match[column] + rows.insertion[column];
    }
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        sum += __shfl_xor_sync(kAllLanes, sum, distance);
    }
    return sum;
}

}  // namespace

// Likelihoods of the listed pairs. A warp per block, which takes every so many of the list. Rows lie
// in shared memory if they fit, otherwise in `scratch`, which has room for the widest.
extern "C" __global__ void __launch_bounds__(kWarpLanes) exact(
    const unsigned char* bases, const unsigned char* base_qualities,
    const unsigned char* insertion_qualities, const unsigned char* deletion_qualities,
    const unsigned char* gap_continuations, const int* read_offsets,
    const unsigned char* haplotype_bases, const int* haplotype_offsets, const double* probabilities,
    const int4* pairs, const int* exact_pairs, const int* exact_count, double* scratch,
    double* likelihoods, int* unknown, int base_count, int continuation_count, int reads, int haplotype_base_count, int haplotypes,
    int byte_values, int pair_count, int one, long long scratch_size, int widest) {
    __shared__ double near_rows[3 * kNearColumns];
    const Qualities qualities = {bases, base_qualities, insertion_qualities, deletion_qualities,
                                 gap_continuations, continuation_count == 1, probabilities};
    double* far_rows = scratch + (long long)blockIdx.x * 3 * widest;
    for (int entry = blockIdx.x; entry < *exact_count; entry += gridDim.x) {
        const int4 pair = pairs[2 * exact_pairs[entry] + 1];
        const int begin = read_offsets[pair.x], end = read_offsets[pair.x + 1];
        const unsigned char* haplotype = haplotype_bases + haplotype_offsets[pair.y];
        const int width = haplotype_offsets[pair.y + 1] - haplotype_offsets[pair.y];
        double* memory = width <= kNearColumns ? near_rows : far_rows;
        const Rows rows = {memory, memory + width, memory + 2 * width};
        const double start = ldexp(1.0, kStartExponent) / width;
        for (int column = lane_id(); column < width; column += kWarpLanes) {
            rows.match[column] = rows.insertion[column] = 0.0;
            rows.deletion[column] = start;
        }
        __syncwarp();  // lanes read what others have written
        RowModel next(qualities, begin);
        for (int at = begin; at < end; ++at) {
            const RowModel row = next;
            next = RowModel(qualities, min(at + 1, end - 1));  // long before it is needed
            compute_row(row, rows, haplotype, width, at == begin ? start : 0.0);
        }
        __syncwarp();
        double sum = sum_of_row(rows, width);
        if (lane_id() == 0) {
            bool is_known = sum >= kLeastSum && isfinite(sum);
            double log10_likelihood = log10(sum) - kStartExponent * kLog10Of2;
            likelihoods[pair.z] = is_known ? fmin(0.0, log10_likelihood) : nan("");
            if (!is_known) *unknown = 1;
        }
        __syncwarp();
    }
}
