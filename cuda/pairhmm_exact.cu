// The pair-HMM in float64, by the recurrence as GATK writes it (facts in hapgpu/pairhmm/model.py):
//     M(i,j) = lambda (alpha M(i-1,j-1) + beta (I(i-1,j-1) + D(i-1,j-1)))
//     I(i,j) = delta M(i-1,j) + eps I(i-1,j)        D(i,j) = zeta M(i,j-1) + eps D(i,j-1)
// for the few pairs that float32 cannot hold. A warp per pair and row, a lane per column; the row
// above lies in memory, and rows are scaled up by powers of two before they could underflow.

#include "warp.cuh"

namespace {

constexpr double kLog10Of2 = 0.30102999566398119521;
constexpr int kStartExponent = 1020;
constexpr int kScaleExponent = 800;  // added when a row falls below 2^200

// Read row with its probabilities.
struct RowModel {
    unsigned char base;
    double error, alpha, beta, insertion, deletion, extend;
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

__device__ double largest_of(double value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value = fmax(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
}

// Computes a row in place; the row above is multiplied by `factor` as it is read, and `corner` is
// D of the row above in column 0. Returns the largest value, the same in all lanes.
__device__ double compute_row(const RowModel& row, Rows rows, const unsigned char* haplotype,
                              int width, double factor, double corner) {
    double match_before = 0.0, insertion_before = 0.0, deletion_before = corner;
    double new_match_before = 0.0, new_deletion_before = 0.0, largest = 0.0;
    for (int first = 0; first < width; first += kWarpLanes) {
        int column = first + lane_id();
        bool inside = column < width;
        double match_above = inside ? rows.match[column] * factor : 0.0;
        double insertion_above = inside ? rows.insertion[column] * factor : 0.0;
        double deletion_above = inside ? rows.deletion[column] * factor : 0.0;
        double diagonal = row.alpha * from_left(match_above, match_before);
        double gaps = from_left(insertion_above, insertion_before);
        gaps += from_left(deletion_above, deletion_before);
        unsigned char other = inside ? haplotype[column] : 'N';
        bool matches = row.base == other || row.base == 'N' || other == 'N';
        double emission = matches ? 1.0 - row.error : row.error / 3.0;
        double match = inside ? emission * (diagonal + row.beta * gaps) : 0.0;
        double insertion = row.insertion * match_above + row.extend * insertion_above;
        double opened = row.deletion * from_left(match, new_match_before);
        double deletion = chained(opened, row.extend, new_deletion_before);
        new_deletion_before = __shfl_sync(kAllLanes, deletion, kWarpLanes - 1);
        if (inside) {
            rows.match[column] = match;
            rows.insertion[column] = insertion;
            rows.deletion[column] = deletion;
            largest = fmax(largest, fmax(match, fmax(insertion, deletion)));
        }
    }
    return largest_of(largest);
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

// Likelihoods of the listed pairs. A warp per block, which takes every so many of the list.
extern "C" __global__ void __launch_bounds__(kWarpLanes) exact(
    const unsigned char* bases, const unsigned char* base_qualities,
    const unsigned char* insertion_qualities, const unsigned char* deletion_qualities,
    const unsigned char* gap_continuations, const int* read_offsets,
    const unsigned char* haplotype_bases, const int* haplotype_offsets, const double* probabilities,
    const int4* pairs, const int* exact_pairs, const int* exact_count, double* scratch,
    double* likelihoods, int base_count, int reads, int haplotype_base_count, int haplotypes,
    int byte_values, int pair_count, int one, long long scratch_size, int widest) {
    double* own = scratch + (long long)blockIdx.x * 3 * widest;
    const Rows rows = {own, own + widest, own + 2 * widest};
    for (int entry = blockIdx.x; entry < *exact_count; entry += gridDim.x) {
        const int4 pair = pairs[2 * exact_pairs[entry] + 1];
        const int begin = read_offsets[pair.x], end = read_offsets[pair.x + 1];
        const unsigned char* haplotype = haplotype_bases + haplotype_offsets[pair.y];
        const int width = haplotype_offsets[pair.y + 1] - haplotype_offsets[pair.y];
        double start = ldexp(1.0, kStartExponent) / width;
        for (int column = lane_id(); column < width; column += kWarpLanes) {
            rows.match[column] = rows.insertion[column] = 0.0;
            rows.deletion[column] = start;
        }
        int exponent = -kStartExponent;
        double factor = 1.0;
        for (int at = begin; at < end; ++at) {
            RowModel row;
            row.base = bases[at];
            row.error = probabilities[base_qualities[at]];
            row.insertion = probabilities[insertion_qualities[at]];
            row.deletion = probabilities[deletion_qualities[at]];
            row.extend = probabilities[gap_continuations[at]];
            row.alpha = fmax(0.0, 1.0 - (row.insertion + row.deletion));
            row.beta = 1.0 - row.extend;
            double corner = at == begin ? start : 0.0;
            double largest = compute_row(row, rows, haplotype, width, factor, corner);
            bool is_small = largest < ldexp(1.0, kStartExponent - kScaleExponent);
            factor = is_small && at + 1 < end ? ldexp(1.0, kScaleExponent) : 1.0;
            if (factor > 1.0) exponent -= kScaleExponent;
        }
        double sum = sum_of_row(rows, width);
        if (lane_id() == 0) {
            likelihoods[pair.z] = fmin(0.0, log10(sum) + exponent * kLog10Of2);
        }
    }
}
