// CIGARs copied from records, and their lengths (hapgpu/cigar/cuda.py).

#include "cigar/operations.cuh"
#include "cigar/record_cigars.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"

// A warp per record: a long read may have tens of thousands of elements.
extern "C" __global__ void __launch_bounds__(128) copy_cigars(
    Records records, const long long* offsets, unsigned* out
) {
    const RecordCigars cigars(records);
    for (int row = first_warp(); row < records.count; row += all_warps()) {
        for (int k = lane_id(); k < cigars.sizes[row]; k += kWarpLanes) {
            out[offsets[row] + k] = cigars.element(row, k);
        }
    }
}

// Sums the lengths of some operations, a bit each, of the CIGAR of each record; a thread per record.
extern "C" __global__ void __launch_bounds__(128) record_lengths(
    Records records, int operations, long long* lengths
) {
    const RecordCigars cigars(records);
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        long long sum = 0;
        for (int k = 0; k < cigars.sizes[row]; ++k) {
            const unsigned element = cigars.element(row, k);
            if (operations >> operation_of(element) & 1) sum += length_of(element);
        }
        lengths[row] = sum;
    }
}

// Sums the bases of the reference that each CIGAR spans; CIGARs end to end in an array.
extern "C" __global__ void __launch_bounds__(128) reference_lengths(
    Rows<unsigned> cigars, long long* lengths
) {
    for (int row = first_thread(); row < cigars.count; row += all_threads()) {
        const unsigned* cigar = cigars.at(row);
        long long sum = 0;
        for (long long k = 0; k < cigars.size(row); ++k) {
            if (consumes_reference(operation_of(cigar[k]))) sum += length_of(cigar[k]);
        }
        lengths[row] = sum;
    }
}
