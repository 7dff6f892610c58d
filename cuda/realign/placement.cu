// CIGARs of extended haplotypes: the same as hapgpu/realign/projection/placement.py. A thread per
// haplotype.

#include "cigar/operations.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"

namespace {

struct Placed {
    Rows<unsigned> cigars;
    const int* haplotypes;    // of cigars, for each extended haplotype
    const long long* before;  // matches to add before the CIGAR
    const long long* after;   // and after it
    int count;
};

// Adds matches before and after a CIGAR; returns its number of elements. Writes unless `out` is
// null.
__device__ long long lengthen(const Placed& placed, int row, unsigned* out) {
    const int haplotype = placed.haplotypes[row];
    const unsigned* cigar = placed.cigars.at(haplotype);
    const long long size = placed.cigars.size(haplotype);
    long long count = 0;
    long long pending = placed.before[row];  // matches that the next element may still add to
    const auto put = [&](unsigned element) {
        if (out) out[count] = element;
        ++count;
    };
    for (long long k = 0; k < size; ++k) {
        if (operation_of(cigar[k]) == kM) {
            pending += length_of(cigar[k]);
            continue;
        }
        if (pending > 0) put((unsigned)(pending << 4 | kM));
        put(cigar[k]);
        pending = 0;
    }
    pending += placed.after[row];
    if (pending > 0) put((unsigned)(pending << 4 | kM));
    return count;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128, 8) measure_lengthened(
    Placed placed, long long* sizes
) {
    for (int row = first_thread(); row < placed.count; row += all_threads()) {
        sizes[row] = lengthen(placed, row, nullptr);
    }
}

extern "C" __global__ void __launch_bounds__(128, 8) write_lengthened(
    Placed placed, const long long* out_offsets, unsigned* out
) {
    for (int row = first_thread(); row < placed.count; row += all_threads()) {
        lengthen(placed, row, out + out_offsets[row]);
    }
}
