// Soft and hard clips of reads: the same as hapgpu/cigar/clips.py. A thread per read.

#include "cigar/operations.cuh"
#include "cigar/record_cigars.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"

namespace {

constexpr unsigned kUnmapped = 4;

}  // namespace

// Measures the clips of mapped reads with bases; 0 for other reads. `first_fault` becomes the first
// read with fewer bases than its CIGAR clips.
extern "C" __global__ void __launch_bounds__(128) measure_clips(
    const unsigned char* data, const unsigned short* flags, const int* base_counts,
    const long long* starts, const int* sizes, int* leading, int* trailing, int* leading_hard,
    int* trailing_hard, int* first_fault, long long /* bytes of data */, int count, int /* 1 */
) {
    const RecordCigars cigars = {data, starts, sizes};
    for (int row = first_thread(); row < count; row += all_threads()) {
        unsigned soft_before = 0, soft_after = 0, hard_before = 0, hard_after = 0;
        if (!(flags[row] & kUnmapped) && base_counts[row] > 0) {
            int first = 0, last = sizes[row] - 1;
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
        leading[row] = (int)soft_before;
        trailing[row] = (int)soft_after;
        leading_hard[row] = (int)hard_before;
        trailing_hard[row] = (int)hard_after;
        if ((long long)soft_before + soft_after > base_counts[row]) atomicMin(first_fault, row);
    }
}

// Adds hard clips to the CIGARs that have elements.
extern "C" __global__ void __launch_bounds__(128) add_hard_clips(
    const unsigned* elements, const long long* offsets, const int* leading, const int* trailing,
    const long long* out_offsets, unsigned* out, long long /* elements */, int count,
    long long /* elements written */
) {
    const Rows<unsigned> cigars = {elements, offsets};
    for (int row = first_thread(); row < count; row += all_threads()) {
        const long long size = cigars.size(row);
        if (size == 0) continue;
        unsigned* to = out + out_offsets[row];
        const unsigned* cigar = cigars.at(row);
        if (leading[row] > 0) *to++ = cigar_run(leading[row], kH);
        for (long long k = 0; k < size; ++k) *to++ = cigar[k];
        if (trailing[row] > 0) *to = cigar_run(trailing[row], kH);
    }
}
