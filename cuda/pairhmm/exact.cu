// Pair-HMM in float64, by GATK's recurrence (tests/pairhmm/forward/reference.py):
//     M(i,j) = lambda (alpha M(i-1,j-1) + beta (I(i-1,j-1) + D(i-1,j-1)))
//     I(i,j) = delta M(i-1,j) + eps I(i-1,j)        D(i,j) = zeta M(i,j-1) + eps D(i,j-1)
// for the few pairs whose likelihood is too small for float32. A likelihood too small for float64
// becomes NaN, and hapgpu/pairhmm/forward/cpu.py computes it. One warp per pair. Haplotypes of
// at most 512 bases are in registers, and each lane is one row after the lane to its left, as in
// pairhmm/forward.cu; for longer haplotypes the row above is in memory.

#include "common/warp.cuh"
#include "pairhmm/piece.cuh"

namespace {

constexpr double kLog10Of2 = 0.30102999566398119521;
constexpr int kFewColumns = 8, kManyColumns = 16;  // per lane, in registers
constexpr int kWideColumns = 8;                    // per lane, of a row in memory
constexpr int kQualities = 256;
constexpr int kNoExponent = -(1 << 20);  // of a lane whose probabilities are all 0
constexpr int kRowsBetweenScales = 8;
constexpr int kStep = 600;
constexpr double kUp = 0x1p600, kDown = 0x1p-600, kSmall = 0x1p-200, kLarge = 0x1p800;
constexpr double kVanishing = 0x1p-900;  // one or two rows multiply by at least 2^-174
constexpr int kStartExponent = 960;  // of rows in memory, which have one exponent
constexpr double kMinSum = 1e-200;  // far above the probabilities lost by underflow

// Reads, and the probability of each quality.
struct Qualities {
    const Reads& reads;
    const double* probabilities;
};

// Base and probabilities of a read row.
struct RowModel {
    unsigned char base;
    double error, alpha, beta, insertion, deletion, extend;

    __device__ RowModel(const Qualities& qualities, int row) {
        const ReadColumns& columns = qualities.reads.columns;
        base = columns.bases[row];
        error = qualities.probabilities[columns.base_qualities[row]];
        insertion = qualities.probabilities[columns.insertion_qualities[row]];
        deletion = qualities.probabilities[columns.deletion_qualities[row]];
        extend = qualities.probabilities[qualities.reads.gap_continuation(row)];
        alpha = fmax(0.0, 1.0 - (insertion + deletion));
        beta = 1.0 - extend;
    }
};

struct Pair {
    int start, end;  // rows of the read
    const unsigned char* haplotype;
    int width;
};

__device__ double warp_sum(double value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
}

// A sum of probabilities, value * 2^exponent.
struct Scaled {
    double value;
    int exponent;
};

// Columns of a lane in registers (as `Columns` in pairhmm/forward.cu, but not normalised). Their
// values are multiples of 2^(kStep exponent), with an exponent per lane: a path that is far less
// likely than others may still be the likeliest at the end.
template <int kColumns>
struct Columns {
    double match[kColumns], insertion[kColumns];
    double incoming = 0.0, deletion = 0.0;
    int exponent = -1;  // a high start, because most of these pairs are very unlikely
    bool is_lossy = false;
    unsigned char letters[kColumns];

    // D of row 0 is stored in I; the first row uses and clears it.
    __device__ Columns(const Pair& pair) {
        int first = lane_id() * kColumns;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            match[k] = 0.0;
            insertion[k] = kUp / pair.width;
            letters[k] = first + k < pair.width ? pair.haplotype[first + k] : 'N';
        }
    }

    __device__ void advance(const RowModel& row, const RowModel& above, bool is_first_row) {
        const double right = 1.0 - row.error, wrong = row.error / 3.0;
        const double extend_insertion = is_first_row ? 0.0 : row.extend;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            double outgoing = row.alpha * match[k] + row.beta * (insertion[k] + deletion);
            insertion[k] = row.insertion * match[k] + extend_insertion * insertion[k];
            deletion = above.deletion * match[k] + above.extend * deletion;
            bool matches = letters[k] == row.base || letters[k] == 'N' || row.base == 'N';
            match[k] = incoming * (matches ? right : wrong);
            incoming = outgoing;
            is_lossy |= match[k] < kVanishing && match[k] > 0.0;
            is_lossy |= insertion[k] < kVanishing && insertion[k] > 0.0;
        }
    }

    // Receives `incoming` and `deletion` of the lane to the left.
    __device__ void pass_on(bool is_needed) {
        int from = __shfl_up_sync(kAllLanes, exponent, 1);
        incoming = __shfl_up_sync(kAllLanes, incoming, 1);
        deletion = __shfl_up_sync(kAllLanes, deletion, 1);
        if (lane_id() == 0) {
            incoming = deletion = 0.0;
        } else if (from != exponent && is_needed && incoming + deletion > 0.0) {
            to_common_exponent(from);
        }
    }

    // Rescales the columns, `incoming` and `deletion` before they become too small or too large.
    __device__ void rescale() {
        double largest = 0.0;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) largest = fmax(largest, fmax(match[k], insertion[k]));
        if (largest == 0.0) exponent = kNoExponent;
        const bool is_large = largest > kLarge, is_small = largest < kSmall && largest > 0.0;
        if (!is_large && !is_small) return;
        const double factor = is_large ? kDown : kUp;
        multiply(factor, is_large ? 1 : -1);
        incoming = scaled(incoming, factor);
        deletion = scaled(deletion, factor);
    }

    // Returns the lane's contribution to the sum of the last row.
    __device__ double sum(int width) const {
        double own = 0.0;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            if (lane_id() * kColumns + k < width) own += match[k] + insertion[k];
        }
        return own;
    }

  private:
    __device__ double scaled(double value, double factor) {
        is_lossy |= value * factor < kVanishing && value > 0.0;
        return value * factor;
    }

    __device__ void multiply(double factor, int steps) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            match[k] = scaled(match[k], factor);
            insertion[k] = scaled(insertion[k], factor);
        }
        exponent += steps;
    }

    // Converts `incoming` and `deletion`, multiples of 2^(kStep from), and the columns to one
    // exponent: the exponent of the columns if the received values are not too large for it.
    __device__ void to_common_exponent(int from) {
        if (exponent == kNoExponent) exponent = from;
        for (; from < exponent; ++from) {
            incoming = scaled(incoming, kDown);
            deletion = scaled(deletion, kDown);
        }
        while (from > exponent) {
            if (from == exponent + 1 && fmax(incoming, deletion) < kSmall) {
                incoming *= kUp;
                deletion *= kUp;
                return;
            }
            multiply(kDown, 1);
        }
    }
};

// Returns the sum of the last row, in all lanes, for a haplotype that fits the registers.
template <int kColumns>
__device__ Scaled narrow_sum(const Qualities& qualities, const Pair& pair) {
    Columns<kColumns> columns(pair);
    const int rows = pair.end - pair.start, lanes = (pair.width + kColumns - 1) / kColumns;
    RowModel row(qualities, pair.start), above = row;
    if (lane_id() == 0) columns.incoming = row.beta * kUp / pair.width;
    for (int step = 0; step < rows + lanes - 1; ++step) {
        const int at = step - lane_id();
        // Loaded long before it is needed.
        const RowModel next(qualities, pair.start + min(max(at + 1, 0), rows - 1));
        if (at >= 0 && at < rows) {
            columns.advance(row, above, at == 0);
            if (at % kRowsBetweenScales == 0) columns.rescale();
        }
        columns.pass_on(at + 1 >= 0 && at + 1 < rows);
        above = row;
        row = next;
    }
    if (__any_sync(kAllLanes, columns.is_lossy)) return {nan(""), 0};
    double own = columns.sum(pair.width);
    int largest = warp_max(own > 0.0 ? columns.exponent : kNoExponent);
    for (int exponent = columns.exponent; exponent < largest && own > 0.0; ++exponent) own *= kDown;
    return {warp_sum(own), kStep * largest};
}

// The row above, replaced by the current row as it is computed: one value per column.
struct Rows {
    double *match, *insertion, *deletion;
};

// y(lane) = x(lane) + factor y(lane - 1), with y(-1) = before.
__device__ double linear_scan(double x, double factor, double before) {
    double power = factor, own_power = 1.0;
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        double left = __shfl_up_sync(kAllLanes, x, distance);
        if (lane_id() >= distance) x += power * left;
        if (lane_id() & distance) own_power *= power;
        power *= power;
    }
    return x + own_power * factor * before;
}

// Returns the value of the lane to the left; lane 0 gets `before`, which becomes the value of the
// last lane.
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
    for (int k = 0; k < kWideColumns; ++k) extend_all *= row.extend;
    for (int first = 0; first < width; first += kWarpLanes * kWideColumns) {
        const int column = first + lane_id() * kWideColumns;
        double match[kWideColumns], insertion[kWideColumns], deletion[kWideColumns];
#pragma unroll
        for (int k = 0; k < kWideColumns; ++k) {
            bool inside = column + k < width;
            match[k] = inside ? rows.match[column + k] : 0.0;
            insertion[k] = inside ? rows.insertion[column + k] : 0.0;
            deletion[k] = inside ? rows.deletion[column + k] : 0.0;
        }
        double match_left = from_left(match[kWideColumns - 1], match_before);
        double gaps_left = from_left(insertion[kWideColumns - 1], insertion_before);
        gaps_left += from_left(deletion[kWideColumns - 1], deletion_before);
#pragma unroll
        for (int k = 0; k < kWideColumns; ++k) {
            bool inside = column + k < width;
            unsigned char other = inside ? haplotype[column + k] : 'N';
            bool matches = row.base == other || row.base == 'N' || other == 'N';
            double emission = matches ? 1.0 - row.error : row.error / 3.0;
            double new_match = emission * (row.alpha * match_left + row.beta * gaps_left);
            match_left = match[k];
            gaps_left = insertion[k] + deletion[k];
            insertion[k] = row.insertion * match[k] + row.extend * insertion[k];
            match[k] = inside ? new_match : 0.0;
        }
        double opened = row.deletion * from_left(match[kWideColumns - 1], new_match_before);
        deletion[0] = opened;
#pragma unroll
        for (int k = 1; k < kWideColumns; ++k) {
            deletion[k] = row.deletion * match[k - 1] + row.extend * deletion[k - 1];
        }
        // Deletions from the lanes to the left are multiplied by `extend` from column to column.
        double last = linear_scan(deletion[kWideColumns - 1], extend_all, new_deletion_before);
        double faded = from_left(last, new_deletion_before);
#pragma unroll
        for (int k = 0; k < kWideColumns; ++k) {
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

// Returns the sum of the last row, in all lanes, for a haplotype of any length.
__device__ Scaled wide_sum(const Qualities& qualities, const Pair& pair, double* memory) {
    const double start = ldexp(1.0, kStartExponent) / pair.width;
    const Rows rows = {memory, memory + pair.width, memory + 2 * pair.width};
    for (int column = lane_id(); column < pair.width; column += kWarpLanes) {
        rows.match[column] = rows.insertion[column] = 0.0;
        rows.deletion[column] = start;
    }
    __syncwarp();  // lanes read what others have written
    RowModel next(qualities, pair.start);
    for (int at = pair.start; at < pair.end; ++at) {
        const RowModel row = next;
        next = RowModel(qualities, min(at + 1, pair.end - 1));  // loaded long before it is needed
        double corner = at == pair.start ? start : 0.0;
        compute_row(row, rows, pair.haplotype, pair.width, corner);
    }
    __syncwarp();
    double sum = 0.0;
    for (int column = lane_id(); column < pair.width; column += kWarpLanes) {
        sum += rows.match[column] + rows.insertion[column];
    }
    sum = warp_sum(sum);
    return {sum >= kMinSum ? sum : 0.0, -kStartExponent};
}

}  // namespace

// Computes the likelihoods of the pairs in `exact_pairs`. One warp per block; the warps take the
// entries of the list in turn. `scratch` has three rows of `widest` columns per warp.
extern "C" __global__ void __launch_bounds__(kWarpLanes, 8) exact(
    Reads reads, Haplotypes haplotypes, const double* probabilities, const int4* pairs,
    ExactPairs exact_pairs, double* scratch, double* likelihoods, int* too_small, int widest) {
    __shared__ double table[kQualities];
    for (int k = lane_id(); k < kQualities; k += kWarpLanes) table[k] = probabilities[k];
    __syncwarp();
    const Qualities qualities = {reads, table};
    for (int entry = blockIdx.x; entry < *exact_pairs.count; entry += gridDim.x) {
        const int4 listed = pairs[2 * exact_pairs.pairs[entry] + 1];
        const int* offsets = haplotypes.offsets + listed.y;
        Pair pair = {reads.offsets[listed.x], reads.offsets[listed.x + 1],
                     haplotypes.bases + offsets[0], offsets[1] - offsets[0]};
        Scaled sum;
        if (pair.width <= kFewColumns * kWarpLanes) {
            sum = narrow_sum<kFewColumns>(qualities, pair);
        } else if (pair.width <= kManyColumns * kWarpLanes) {
            sum = narrow_sum<kManyColumns>(qualities, pair);
        } else {
            sum = wide_sum(qualities, pair, scratch + (long long)blockIdx.x * 3 * widest);
        }
        if (lane_id() == 0) {
            bool is_known = sum.value > 0.0 && isfinite(sum.value);
            double log10_likelihood = log10(sum.value) + sum.exponent * kLog10Of2;
            likelihoods[listed.z] = is_known ? fmin(0.0, log10_likelihood) : nan("");
            if (!is_known) *too_small = 1;
        }
    }
}
