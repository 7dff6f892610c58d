// Likelihoods of fragments: the same as hapgpu/genotyping/reads/fragment_likelihoods.py, with
// the same operations in float64.

#include "common/grid.cuh"
#include "genotyping/impossible.cuh"

namespace {

constexpr double kWorstDifference = -4.5, kWorstIfPoor = -1.5, kWorstIfFar = -1.0, kFar = -24.0;
constexpr double kErrorsPerBase = 0.02, kMaxErrors = 2.0, kLog10OfError = -4.0;

__device__ inline bool is_well_modelled(double best, long long bases) {
    const double errors = fmin(kMaxErrors, ceil(__dmul_rn((double)bases, kErrorsPerBase)));
    return best >= __dmul_rn(kLog10OfError, errors);
}

__device__ inline double largest(const double* values, int count) {
    double best = values[0];
    for (int k = 1; k < count; ++k) best = fmax(best, values[k]);
    return best;
}

}  // namespace

// Caps the likelihoods of clipped reads, multiplies those of a fragment, and caps the products. The
// products replace the likelihoods of the first clipped read of each fragment. A thread per
// fragment.
extern "C" __global__ void __launch_bounds__(128) combine_fragments(
    const long long* fragment_offsets, const long long* likelihood_offsets,
    const long long* base_starts, const long long* base_ends, double* likelihoods, double* lowest,
    unsigned char* is_explained, int fragments
) {
    for (int row = first_thread(); row < fragments; row += all_threads()) {
        const long long first = fragment_offsets[row], end = fragment_offsets[row + 1];
        double* products = likelihoods + likelihood_offsets[first];
        const int count = (int)(likelihood_offsets[first + 1] - likelihood_offsets[first]);
        double widest = 0.0;
        bool explained = false;
        for (long long part = first; part < end; ++part) {
            const double best = largest(likelihoods + likelihood_offsets[part], count);
            const bool is_well = is_well_modelled(best, base_ends[part] - base_starts[part]);
            const double poor = best < kFar ? kWorstIfFar : kWorstIfPoor;
            const double cap = is_well ? kWorstDifference : poor;
            lowest[part] = isfinite(best) ? __dadd_rn(best, cap) : 0.0;
            widest = fmin(widest, cap);
            explained |= is_well;
        }
        double best = impossible();
        for (int k = 0; k < count; ++k) {
            double sum = 0.0;
            for (long long part = first; part < end; ++part) {
                const double value = likelihoods[likelihood_offsets[part] + k];
                sum = __dadd_rn(sum, fmax(value, lowest[part]));
            }
            products[k] = sum;
            best = fmax(best, sum);
        }
        const double floor_of_products = __dadd_rn(best, widest);
        for (int k = 0; k < count; ++k) products[k] = fmax(products[k], floor_of_products);
        is_explained[row] = explained;
    }
}
