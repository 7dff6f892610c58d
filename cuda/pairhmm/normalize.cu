// GATK's limits on likelihoods: the same as hapgpu/pairhmm/normalize.py.

#include "common/grid.cuh"

// Raises likelihoods far below the best of their row to best + worst_difference, and tells whether
// the best is high enough. A row is a read at a locus, with at least one likelihood and
// lengths[row] bases. A thread per row.
extern "C" __global__ void __launch_bounds__(128) normalize_likelihoods(
    double* likelihoods, const long long* offsets, const long long* lengths,
    unsigned char* is_explained, int rows, double worst_difference, double errors_per_base,
    double max_errors, double log10_of_error
) {
    for (int row = first_thread(); row < rows; row += all_threads()) {
        double best = likelihoods[offsets[row]];
        for (long long k = offsets[row] + 1; k < offsets[row + 1]; ++k) {
            best = fmax(best, likelihoods[k]);
        }
        const double lowest = best + worst_difference;
        for (long long k = offsets[row]; k < offsets[row + 1]; ++k) {
            likelihoods[k] = fmax(likelihoods[k], lowest);
        }
        const double errors = fmin(max_errors, ceil(lengths[row] * errors_per_base));
        is_explained[row] = best >= log10_of_error * errors;
    }
}
