// Soft and hard clips of reads: the same as hapgpu/cigar/clips.py. A thread per read.

#include "cigar/operations.cuh"
#include "cigar/record_cigars.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"

namespace {

constexpr unsigned kUnmapped = 4;

// Columns of Clips of hapgpu/cigar/clips.py.
struct Clips {
    int* leading;
    int* trailing;
    int* leading_hard;
    int* trailing_hard;
};

}  // namespace

// Measures the clips of mapped reads with bases; 0 for other reads. `first_fault` becomes the first
// read with fewer bases than its CIGAR clips.
extern "C" __global__ void __launch_bounds__(128) measure_clips(
    Records records, Clips clips, int* first_fault
) {
    const RecordCigars cigars(records);
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        unsigned soft_before = 0, soft_after = 0, hard_before = 0, hard_after = 0;
        if (!(records.flags[row] & kUnmapped) && records.base_counts[row] > 0) {
            int first = 0, last = cigars.sizes[row] - 1;
            unsigned element = first <= last ? cigars.element(row, first) : 0;
            while (first <= last && operation_of(element) == kH) {
                hard_before += element >> 4;
                ++first;
                if (first <= last) element = cigars.element(row, first);
            }
            if (first <= last && operation_of(element) == kS) soft_before = element >> 4;
            if (last > first) element = cigars.element(row, last);
            while (last > first && operation_of(element) == kH) {
                hard_after += element >> 4;
                --last;
                element = cigars.element(row, last);
            }
            if (last > first && operation_of(element) == kS) soft_after = element >> 4;
        }
        clips.leading[row] = (int)soft_before;
        clips.trailing[row] = (int)soft_after;
        clips.leading_hard[row] = (int)hard_before;
        clips.trailing_hard[row] = (int)hard_after;
        const long long clipped = (long long)soft_before + soft_after;
        if (clipped > records.base_counts[row]) atomicMin(first_fault, row);
    }
}

// Adds hard clips to the CIGARs that have elements.
extern "C" __global__ void __launch_bounds__(128) add_hard_clips(
    Rows<unsigned> cigars, const int* leading, const int* trailing, const long long* out_offsets,
    unsigned* out
) {
    for (int row = first_thread(); row < cigars.count; row += all_threads()) {
        const long long size = cigars.size(row);
        if (size == 0) continue;
        unsigned* to = out + out_offsets[row];
        const unsigned* cigar = cigars.at(row);
        if (leading[row] > 0) *to++ = cigar_run(leading[row], kH);
        for (long long k = 0; k < size; ++k) *to++ = cigar[k];
        if (trailing[row] > 0) *to = cigar_run(trailing[row], kH);
    }
}
