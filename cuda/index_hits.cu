// Minimizers of a reference as its index keeps them.

#include "minimizer.cuh"

constexpr int kSequenceShift = 32;

// Sort key and hit of each minimizer; the first of n sequences has the number `first`. A thread a
// minimizer.
extern "C" __global__ void __launch_bounds__(256) make_hits(
    const unsigned long long* keys, const unsigned* places, const long long* offsets,
    unsigned long long* mixed, unsigned long long* hits, long long minimizers, int sequences,
    int first
) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < minimizers;
         k += stride) {
        int low = 0, high = sequences;  // the last sequence that begins up to k
        while (high - low > 1) {
            const int middle = low + (high - low) / 2;
            if (offsets[middle] <= k) {
                low = middle;
            } else {
                high = middle;
            }
        }
        mixed[k] = (keys[k] >> kSpanBits) * kMix;
        hits[k] = (unsigned long long)(first + low) << kSequenceShift | places[k];
    }
}
