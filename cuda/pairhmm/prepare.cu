// Inputs of the forward kernel of the pair-HMM (pairhmm/forward.cu): masks of haplotypes,
// coefficients of read rows, and the list of pairs by size.

#include "common/warp.cuh"
#include "pairhmm/masks.cuh"
#include "pairhmm/piece.cuh"

namespace {

constexpr int kOther = 4;
constexpr float kMaxExtending = 0.34f, kMaxDeletionExtending = 0.5f, kMinField = 1e-37f;
constexpr double kMinProduct = 1e-200;  // times an accurate sum, it is no subnormal number
constexpr double kMoreThanLog2E = 1.442696, kLargestExponent = 1000.0;
constexpr int kLengthBins = 1024;
constexpr int kExactBins = 512;  // shorter read lengths have a bin each

__device__ inline int letter_code(unsigned char base) {
    return base == 'A' ? 0 : base == 'C' ? 1 : base == 'G' ? 2 : base == 'T' ? 3 : kOther;
}

// Returns the row that holds the element `value`, where row k has elements offsets[k] to
// offsets[k + 1].
__device__ inline int row_holding(const int* offsets, int n, int value) {
    int low = 0, high = n;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (offsets[middle] <= value) low = middle; else high = middle;
    }
    return low;
}

// Returns the bin of a read length; long reads are first, so that short ones fill the gaps at the
// end.
__device__ inline int length_bin(int length) {
    int bin = length;
    if (length >= kExactBins) {
        int octave = 31 - __clz(length / kExactBins);
        int within = (length >> octave) / (kExactBins / 16) - 16;  // 16 bins an octave
        bin = min(kExactBins + octave * 16 + within, kLengthBins - 1);
    }
    return kLengthBins - 1 - bin;
}

// Runs of haplotypes of a group with the same layout; `forced`, if not negative, is the layout of
// all.
struct Runs {
    const int* layouts;
    int end, forced;

    __device__ Runs(const int* layouts, int end, int forced)
        : layouts(layouts), end(end), forced(forced) {}

    __device__ int layout_of(int haplotype) const {
        return forced < 0 ? layouts[haplotype] : forced;
    }
    __device__ int end_of_run(int first) const {
        int last = first + 1;
        while (last < end && layout_of(last) == layout_of(first)) ++last;
        return last;
    }
};

// Probabilities of one read row. Only `gain` is double, because the gains of all rows are
// multiplied. hapgpu/pairhmm/forward/coefficients.py has the same operations in the same order, also
// of all sums and products over rows.
struct RowModel {
    float insertion, deletion, extend, error, correct, alpha, beta;
    double gain;

    __device__ RowModel(const Reads& reads, const double* probabilities, int row) {
        double open_insertion = probabilities[reads.columns.insertion_qualities[row]];
        double open_deletion = probabilities[reads.columns.deletion_qualities[row]];
        double wrong = probabilities[reads.columns.base_qualities[row]];
        double stay = fmax(0.0, 1.0 - (open_insertion + open_deletion));
        insertion = (float)open_insertion;
        deletion = (float)open_deletion;
        extend = (float)probabilities[reads.gap_continuation(row)];
        error = (float)wrong;
        correct = (float)(1.0 - wrong);
        alpha = (float)stay;
        beta = 1.0f - extend;
        gain = stay * (1.0 - wrong);
    }
};

// Values of a row that the coefficients of the next row need.
struct RowAbove {
    float opened_insertion, deletion, extend;  // delta / g, zeta, eps

    // Returns the values of the lane to the left; lane 0 gets `before`, which becomes the values of
    // the last lane.
    __device__ RowAbove from_left(RowAbove& before) const {
        RowAbove left = {__shfl_up_sync(kAllLanes, opened_insertion, 1),
                         __shfl_up_sync(kAllLanes, deletion, 1),
                         __shfl_up_sync(kAllLanes, extend, 1)};
        if (lane_id() == 0) left = before;
        before = {__shfl_sync(kAllLanes, opened_insertion, kWarpLanes - 1),
                  __shfl_sync(kAllLanes, deletion, kWarpLanes - 1),
                  __shfl_sync(kAllLanes, extend, kWarpLanes - 1)};
        return left;
    }
};

// Upper bound of the growth of a normalised probability up to the final sum. A unit of M becomes
// at most the product over the rows below of r' (1 + c / (1 - eps) + k delta / g), r' = max(1, r),
// where k is a bound of the contribution of a unit of I, in units of M. The logarithm of a factor
// is at most the factor - 1.
struct Growth {
    bool is_regular = true;
    float rises = 0.0f, openings = 0.0f;
    float max_insertion = 0.0f, max_opening = 1.0f, max_extending = 0.0f;

    __device__ void add(float4 coefficient, float mismatch, float insertion, const RowModel& model,
                        float entering, float extending, bool is_first_row) {
        float rise = fmaxf(1.0f, mismatch);
        float smallest = fminf(coefficient.x, mismatch);
        if (!is_first_row) {
            smallest = fminf(smallest, fminf(coefficient.y, fminf(coefficient.z, coefficient.w)));
        }
        is_regular &= (float)model.gain > 0.0f && model.extend <= kMaxDeletionExtending
                      && smallest >= kMinField;
        rises += rise - 1.0f;
        rises += 2.0f * coefficient.z;  // because eps is at most 1/2
        openings += insertion;
        max_insertion = fmaxf(max_insertion, insertion);
        max_opening = fmaxf(max_opening, rise * entering);
        max_extending = fmaxf(max_extending, extending * insertion);
    }

    // Returns the bound over all lanes of the warp.
    __device__ double bound() const {
        float rise = rises, opened = openings;
        float insertion = max_insertion, opening = max_opening, extending = max_extending;
        for (int distance = kWarpLanes / 2; distance; distance /= 2) {
            rise += __shfl_xor_sync(kAllLanes, rise, distance);
            opened += __shfl_xor_sync(kAllLanes, opened, distance);
            insertion = fmaxf(insertion, __shfl_xor_sync(kAllLanes, insertion, distance));
            opening = fmaxf(opening, __shfl_xor_sync(kAllLanes, opening, distance));
            extending = fmaxf(extending, __shfl_xor_sync(kAllLanes, extending, distance));
        }
        // Above kMaxExtending, too many rounding errors add up along an insertion.
        bool is_bounded = __all_sync(kAllLanes, is_regular) && extending <= kMaxExtending;
        const double worth = opening / (1.0 - extending);
        const double exponent = (rise + worth * opened) * kMoreThanLog2E;
        if (!is_bounded || exponent > kLargestExponent) {
            return __int_as_float(0x7f800000);
        }
        const double whole = floor(exponent);
        return ldexp(1.0 + (exponent - whole), (int)whole) * fmax(1.0, worth * insertion);
    }
};

}  // namespace

// Writes one bit per column, letter and haplotype: set where the letter differs from the
// haplotype. The masks of a haplotype are [word][letter][lane]. One warp per haplotype.
extern "C" __global__ void prepare_haplotypes(
    Haplotypes haplotypes, Layouts layouts, unsigned* masks) {
    int haplotype = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    if (haplotype >= haplotypes.count) return;
    int start = haplotypes.offsets[haplotype];
    int length = haplotypes.offsets[haplotype + 1] - start;
    int layout = haplotypes.layouts[haplotype];
    int columns = layouts.columns[layout], lanes = layouts.lanes[layout], lane = lane_id();
    if (lane >= lanes) return;
    unsigned* out = masks + haplotypes.mask_starts[haplotype] + lane;
    const int per_word = columns_per_word(columns);
    for (int first = 0; first < columns; first += per_word) {
        unsigned differs[kLetters] = {};
        for (int k = first; k < min(first + per_word, columns); ++k) {
            int column = lane * columns + k;
            unsigned char base = column < length ? haplotypes.bases[start + column] : 'N';
            if (base == 'N') continue;
            int own = letter_code(base);
            for (int letter = 0; letter < kLetters; ++letter) {
                differs[letter] |= (unsigned)(letter != own) << bit_of(k, columns);
            }
        }
        for (int letter = 0; letter < kLetters; ++letter, out += lanes) *out = differs[letter];
    }
}

// Writes the coefficients of each row (`Row` in pairhmm/forward.cu) and the values of each read:
// the product of g, the factor of I in the final sum, and the smallest sum that is accurate,
// infinite where the normalised recurrence cannot be used. One warp per read.
extern "C" __global__ void prepare_reads(
    Reads reads, const double* probabilities, Coefficients coefficients, int longest_read,
    double threshold, double trusted_growth) {
    int read = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    if (read >= reads.count) return;
    int start = reads.offsets[read], end = reads.offsets[read + 1];
    if (end - start > longest_read) return;  // `exact` computes its pairs
    Growth growth;
    double product = 1.0;
    // D of row 0 is stored in I (pairhmm/forward.cu), so the first row needs opened_insertion = 1.
    RowAbove before = {1.0f, 0.0f, 0.0f};
    for (int first = start; first < end; first += kWarpLanes) {
        int row = min(first + lane_id(), end - 1);
        RowModel model(reads, probabilities, row);
        float entering = model.beta / model.alpha;
        RowAbove own = {model.insertion / (float)model.gain, model.deletion, model.extend};
        RowAbove above = own.from_left(before);
        if (first + lane_id() >= end) break;
        float extending = model.extend / model.insertion;
        float4 coefficient = {entering * above.opened_insertion,
                              row == start ? 0.0f : extending * above.opened_insertion,
                              entering * above.deletion, above.extend};
        unsigned char base = reads.columns.bases[row];
        float mismatch = base == 'N' ? 1.0f : model.error / (3.0f * model.correct);
        int letter = letter_code(base);
        int offset = letter % kLetters * kMaskStride;
        // The order of `Row` in pairhmm/ring.cuh: a, b, c, r; the letter, eps.
        coefficients.rows[row] = {coefficient.x, coefficient.y, coefficient.z, mismatch};
        coefficients.emissions[row] = {__int_as_float(offset), coefficient.w};
        if (row == end - 1) coefficients.last_insertions[read] = own.opened_insertion;
        growth.add(coefficient, mismatch, own.opened_insertion, model, entering, extending,
                   row == start);
        growth.is_regular &= letter != kOther || base == 'N';
        product *= model.gain;
    }
    __syncwarp();
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        product *= __shfl_xor_sync(kAllLanes, product, distance);
    }
    growth.is_regular &= product > kMinProduct;
    double max_growth = growth.bound();
    if (lane_id() == 0) {
        coefficients.products[read] = product;
        coefficients.thresholds[read] = threshold * fmax(1.0, max_growth / trusted_growth);
    }
}

// Counts the pairs of each layout and bin of read lengths. One thread per read.
extern "C" __global__ void count_pairs(
    Reads reads, Haplotypes haplotypes, Groups groups, int* bins, int longest_read,
    int exact_layout) {
    int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= reads.count) return;
    int group = row_holding(groups.reads, groups.count, read);
    int length = reads.offsets[read + 1] - reads.offsets[read], bin = length_bin(length);
    const int forced = length > longest_read ? exact_layout : -1;
    const Runs all(haplotypes.layouts, groups.haplotypes[group + 1], forced);
    for (int haplotype = groups.haplotypes[group]; haplotype < all.end;) {
        int first = haplotype, layout = all.layout_of(first);
        haplotype = all.end_of_run(first);
        atomicAdd(&bins[layout * kLengthBins + bin], haplotype - first);
    }
}

// Replaces the counts of all bins by their offsets in the list, layout by layout, and writes the
// offset and the number of pairs of each layout. One block; each thread has neighbouring bins.
extern "C" __global__ void __launch_bounds__(kLengthBins)
    scan_bins(int* bins, Layouts layouts) {
    __shared__ int totals[kWarpLanes];
    const int warp = threadIdx.x / kWarpLanes, first = threadIdx.x * layouts.count;
    int count = 0;
    for (int bin = first; bin < first + layouts.count; ++bin) count += bins[bin];
    int sum = count;
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        int left = __shfl_up_sync(kAllLanes, sum, distance);
        if (lane_id() >= distance) sum += left;
    }
    if (lane_id() == kWarpLanes - 1) totals[warp] = sum;
    __syncthreads();
    int offset = sum - count;
    for (int k = 0; k < warp; ++k) offset += totals[k];
    for (int bin = first; bin < first + layouts.count; ++bin) {
        int bin_pairs = bins[bin];
        bins[bin] = offset;
        offset += bin_pairs;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int end = 0;
        for (int k = 0; k < kWarpLanes; ++k) end += totals[k];
        for (int layout = layouts.count - 1; layout >= 0; --layout) {
            layouts.starts[layout] = bins[layout * kLengthBins];
            layouts.pairs[layout] = end - layouts.starts[layout];
            end = layouts.starts[layout];
        }
    }
}

// Lists the pairs by layout and read length: first row, rows, masks and columns; read, haplotype
// and offset of the result. Pairs of the last layout are added to the list for `exact`.
extern "C" __global__ void list_pairs(
    Reads reads, Haplotypes haplotypes, Groups groups, int* bins, int4* pairs,
    ExactPairs exact_pairs, int longest_read, int exact_layout) {
    int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= reads.count) return;
    int group = row_holding(groups.reads, groups.count, read);
    int length = reads.offsets[read + 1] - reads.offsets[read], bin = length_bin(length);
    int start = groups.haplotypes[group];
    const int forced = length > longest_read ? exact_layout : -1;
    const Runs all(haplotypes.layouts, groups.haplotypes[group + 1], forced);
    int result = groups.pairs[group] + (read - groups.reads[group]) * (all.end - start);
    for (int haplotype = start; haplotype < all.end;) {
        int first = haplotype, layout = all.layout_of(first);
        haplotype = all.end_of_run(first);
        int offset = atomicAdd(&bins[layout * kLengthBins + bin], haplotype - first);
        for (int k = first; k < haplotype; ++k, ++offset) {
            int width = haplotypes.offsets[k + 1] - haplotypes.offsets[k];
            pairs[2 * offset] = {reads.offsets[read], length, haplotypes.mask_starts[k], width};
            pairs[2 * offset + 1] = {read, k, result + k - start, 0};
            if (layout != exact_layout) continue;
            exact_pairs.pairs[atomicAdd(exact_pairs.count, 1)] = offset;
        }
    }
}
