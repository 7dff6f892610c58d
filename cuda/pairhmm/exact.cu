// Pair-HMM in float64, for the pairs whose likelihood float32 does not give accurately: the
// recurrence of hapgpu/pairhmm/forward/exact.py, with the same operations in the same order. So all
// bits are the same, unless numbers are lost at the end of the range of float64: then the result is
// NaN, and the CPU computes it. One warp per pair. A warp holds up to 512 columns of a haplotype in
// registers, and each lane is one row after the lane to its left, as in pairhmm/forward.cu. Longer
// haplotypes are computed in strips; what one strip passes to the next is in memory.

#include "common/arithmetic.cuh"
#include "common/warp.cuh"
#include "pairhmm/piece.cuh"

namespace {

constexpr int kFewColumns = 8, kManyColumns = 16;  // per lane
constexpr int kQualities = 256;
constexpr int kNoExponent = -(1 << 20);  // of a lane whose probabilities are all 0
constexpr int kRowsBetweenScales = 8;
constexpr int kStep = 600;
constexpr double kUp = 0x1p600, kDown = 0x1p-600, kSmall = 0x1p-200, kLarge = 0x1p800;
constexpr double kVanishing = 0x1p-900;  // one or two rows multiply by at least 2^-174
constexpr int kStartExponent = -1;  // high, because most of these pairs are very unlikely

// Reads, and the probability of each quality.
struct Qualities {
    const Reads& reads;
    const double* probabilities;
};

// Probabilities of opening an insertion, opening a deletion and continuing either.
struct Gaps {
    double insertion, deletion, extend;
};

// Coefficients of a row, and its probabilities of gaps, which the next row needs.
struct Row {
    unsigned char base;
    double alpha, a, b, c, extend_above, matching, differing;
    Gaps gaps;

    __device__ Row(const Qualities& qualities, int row, const Gaps& above, bool is_first) {
        const ReadColumns& columns = qualities.reads.columns;
        base = columns.bases[row];
        const double error = qualities.probabilities[columns.base_qualities[row]];
        gaps = {qualities.probabilities[columns.insertion_qualities[row]],
                qualities.probabilities[columns.deletion_qualities[row]],
                qualities.probabilities[qualities.reads.gap_continuation(row)]};
        alpha = fmax(0.0, 1.0 - (gaps.insertion + gaps.deletion));
        matching = 1.0 - error;
        differing = base == 'N' ? matching : error / 3.0;
        const double close = 1.0 - gaps.extend;
        // D of row 0 is stored in I; the first row uses and clears it.
        a = is_first ? close : close * above.insertion;
        b = is_first ? 0.0 : gaps.extend;
        if (above.insertion != gaps.insertion) b *= above.insertion / gaps.insertion;
        c = is_first ? 0.0 : close * above.deletion;
        extend_above = is_first ? 0.0 : above.extend;
    }
};

struct Pair {
    int start, end;  // rows of the read
    const unsigned char* haplotype;
    int width;

    __device__ int rows() const { return end - start; }
};

// Numbers that are multiples of 2^(kStep exponent).
struct Scaled {
    double value;
    int exponent;
};

// What a row passes to the next strip.
struct Edge {
    double incoming, deletion;
    long long exponent;
};

// Columns of a lane in registers (as `Columns` in pairhmm/forward.cu, but not normalised). Their
// values are multiples of 2^(kStep exponent), with an exponent per lane: a path that is far less
// likely than others may still be the likeliest at the end.
template <int kColumns>
struct Columns {
    double match[kColumns], insertion[kColumns];
    double incoming = 0.0, deletion = 0.0;
    int exponent = kStartExponent;
    bool is_lossy = false;
    unsigned char letters[kColumns];

    __device__ Columns(const Pair& pair, int first_column) {
        int first = first_column + lane_id() * kColumns;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            match[k] = 0.0;
            insertion[k] = kUp / pair.width;
            letters[k] = first + k < pair.width ? pair.haplotype[first + k] : 'N';
        }
    }

    __device__ void advance(const Row& row) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            double outgoing = fma(row.alpha, match[k], fma(row.a, insertion[k], row.c * deletion));
            insertion[k] = fma(row.b, insertion[k], match[k]);
            deletion = fma(row.extend_above, deletion, match[k]);
            bool matches = letters[k] == row.base || letters[k] == 'N';
            match[k] = incoming * (matches ? row.matching : row.differing);
            incoming = outgoing;
            is_lossy |= match[k] < kVanishing && match[k] > 0.0;
            is_lossy |= insertion[k] < kVanishing && insertion[k] > 0.0;
        }
        is_lossy |= deletion < kVanishing && deletion > 0.0;
    }

    // Receives `incoming` and `deletion` of the lane to the left; the first lane receives `edge`.
    __device__ void pass_on(const Edge& edge, bool is_needed) {
        Edge left = {__shfl_up_sync(kAllLanes, incoming, 1), __shfl_up_sync(kAllLanes, deletion, 1),
                     __shfl_up_sync(kAllLanes, exponent, 1)};
        if (lane_id() == 0) left = edge;
        receive(left, is_needed);
    }

    __device__ void receive(const Edge& edge, bool is_needed) {
        incoming = edge.incoming;
        deletion = edge.deletion;
        const int from = (int)edge.exponent;
        if (from != exponent && is_needed && incoming + deletion > 0.0) to_common_exponent(from);
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

    // Adds the last row of all columns, which are in so many lanes, to a sum, from the first column
    // to the last; `weight` is the factor of I.
    __device__ void add_to(Scaled& sum, int columns, int lanes, double weight) {
        bool is_any = false;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            double term = fma(weight, insertion[k], match[k]);
            match[k] = lane_id() * kColumns + k < columns ? term : 0.0;
            is_any |= match[k] > 0.0;
        }
        const int own = is_any ? exponent : kNoExponent;
        const int largest = warp_max(max(own, sum.exponent));
        for (; sum.exponent < largest && sum.value > 0.0; ++sum.exponent) sum.value *= kDown;
        for (int each = own; each < largest && is_any; ++each) {
            is_any = false;
#pragma unroll
            for (int k = 0; k < kColumns; ++k) is_any |= (match[k] *= kDown) > 0.0;
        }
        for (int owner = 0; owner < lanes; ++owner) {
#pragma unroll
            for (int k = 0; k < kColumns; ++k) sum.value += match[k];
            sum.value = __shfl_sync(kAllLanes, sum.value, owner);
        }
        sum.exponent = largest;
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

// Computes the columns of a haplotype from `first` on and adds the last row to `sum`. `edges`, one
// per row, are what the columns to the left passed on, and become what these columns pass on.
template <int kColumns>
__device__ void add_strip(const Qualities& qualities, const Pair& pair, int first, Edge* edges,
                          Scaled& sum) {
    const int columns_left = pair.width - first, rows = pair.rows();
    const int lanes = min((columns_left + kColumns - 1) / kColumns, kWarpLanes);
    const bool is_last = columns_left <= kColumns * kWarpLanes;
    Columns<kColumns> columns(pair, first);
    Row row(qualities, pair.start, {0.0, 0.0, 0.0}, true);
    const Edge none = {0.0, 0.0, kStartExponent};
    auto edge_of = [&](int at) { return first > 0 && at < rows ? edges[at] : none; };
    if (lane_id() == 0) {
        const Edge start = {row.a * (kUp / pair.width), 0.0, kStartExponent};
        columns.receive(first > 0 ? edges[0] : start, true);
    }
    for (int step = 0; step < rows + lanes - 1; ++step) {
        const int at = step - lane_id();
        // Loaded long before it is needed.
        const bool is_started = at >= 0;
        const Row next(qualities, pair.start + min(max(at + 1, 0), rows - 1), row.gaps,
                       !is_started);
        const Edge edge = edge_of(step + 1);
        if (is_started && at < rows) {
            columns.advance(row);
            if (at % kRowsBetweenScales == 0) columns.rescale();
            if (!is_last && lane_id() == kWarpLanes - 1) {
                edges[at] = {columns.incoming, columns.deletion, columns.exponent};
            }
        }
        columns.pass_on(edge, at + 1 >= 0 && at + 1 < rows);
        row = next;
    }
    if (__any_sync(kAllLanes, columns.is_lossy)) sum.value = nan("");
    const double weight = qualities.probabilities
        [qualities.reads.columns.insertion_qualities[pair.end - 1]];
    columns.add_to(sum, columns_left, lanes, weight);
    __syncwarp();  // the first lane reads what the last one has written
}

}  // namespace

// Computes the likelihoods of the pairs in `exact_pairs`. One warp per block; the warps take the
// entries of the list in turn. `scratch` has three numbers for each of `longest` rows per warp, if
// a haplotype does not fit the registers.
extern "C" __global__ void __launch_bounds__(kWarpLanes, 8) exact(
    Reads reads, Haplotypes haplotypes, const double* probabilities, const int4* pairs,
    ExactPairs exact_pairs, double* scratch, double* likelihoods, int* too_small, int longest) {
    __shared__ double table[kQualities];
    for (int k = lane_id(); k < kQualities; k += kWarpLanes) table[k] = probabilities[k];
    __syncwarp();
    const Qualities qualities = {reads, table};
    Edge* edges = (Edge*)scratch + (long long)blockIdx.x * longest;
    for (int entry = blockIdx.x; entry < *exact_pairs.count; entry += gridDim.x) {
        const int4 listed = pairs[2 * exact_pairs.pairs[entry] + 1];
        const int* offsets = haplotypes.offsets + listed.y;
        Pair pair = {reads.offsets[listed.x], reads.offsets[listed.x + 1],
                     haplotypes.bases + offsets[0], offsets[1] - offsets[0]};
        Scaled sum = {0.0, kNoExponent};
        if (pair.width <= kFewColumns * kWarpLanes) {
            add_strip<kFewColumns>(qualities, pair, 0, edges, sum);
        } else {
            for (int first = 0; first < pair.width; first += kManyColumns * kWarpLanes) {
                add_strip<kManyColumns>(qualities, pair, first, edges, sum);
            }
        }
        if (lane_id() == 0) {
            bool is_known = sum.value > 0.0 && isfinite(sum.value);
            likelihoods[listed.z] =
                is_known ? fmin(0.0, log10_scaled(sum.value, kStep * sum.exponent)) : nan("");
            if (!is_known) *too_small = 1;
        }
    }
}
