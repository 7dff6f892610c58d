// Reads clipped to intervals of the reference by their alignments: the same as
// hapgpu/cigar/read_parts.py. A thread per part.

#include "cigar/operations.cuh"
#include "cigar/record_cigars.cuh"
#include "common/grid.cuh"

namespace {

// Columns of DeviceReadParts of hapgpu/cigar/cuda.py.
struct ReadParts {
    const long long* reads;
    long long* starts;
    long long* ends;
    int count;
};

// The last element of a CIGAR that starts at a position or before: where it starts and ends on the
// reference, its bases, and the bases before it. Without such an element all counts are 0.
struct ElementAt {
    long long start = 0, end = 0, before = 0, length = 0;

    // Counts the bases before the base at a position, or before the deletion there.
    __device__ long long bases_before(long long position) const {
        return before + (length > 0 && position < end ? position - start : length);
    }
    // Counts the bases up to the base at a position, or before the deletion there.
    __device__ long long bases_up_to(long long position) const {
        return bases_before(position) + (length > 0 && position < end);
    }
};

// What a CIGAR consumes, and the elements between its outer clips.
struct Extent {
    int first, last;  // the first and the last element on the reference
    long long clipped = 0, bases = 0, aligned = 0;

    __device__ Extent(const RecordCigars& cigars, int row) {
        const int size = cigars.sizes[row];
        first = size;
        last = -1;
        for (int k = 0; k < size; ++k) {
            const unsigned element = cigars.element(row, k), operation = operation_of(element);
            const long long length = length_of(element);
            if (length > 0 && consumes_reference(operation)) {
                first = min(first, k);
                last = k;
            } else if (operation == kS && first == size) {
                clipped += length;
            }
            if (consumes_query(operation)) bases += length;
            if (is_alignment(operation)) aligned += length;
        }
    }
};

}  // namespace

// Finds the bases of the read of each part k in the interval from starts[k] to ends[k]. Soft clips
// outside of the alignment are treated as aligned.
extern "C" __global__ void __launch_bounds__(128) clip_reads(
    Records records, const long long* starts, const long long* ends, ReadParts parts
) {
    const RecordCigars cigars(records);
    for (int part = first_thread(); part < parts.count; part += all_threads()) {
        const int row = (int)parts.reads[part];
        const long long before = starts[part] - 1, end = ends[part];
        const Extent extent(cigars, row);
        ElementAt at_start, at_end;
        if (extent.aligned > 0 && extent.bases == records.base_counts[row]) {
            long long position = records.positions[row] - extent.clipped, bases = 0;
            for (int k = 0; k < cigars.sizes[row] && position <= max(before, end); ++k) {
                const unsigned element = cigars.element(row, k), operation = operation_of(element);
                const long long length = length_of(element), start = position;
                const bool is_outer = k < extent.first || k > extent.last;
                if (consumes_reference(operation) || (operation == kS && is_outer)) {
                    position += length;
                }
                const long long on_read = consumes_query(operation) ? length : 0;
                const ElementAt here = {start, position, bases, on_read};
                if (start <= before) at_start = here;
                if (start <= end) at_end = here;
                bases += on_read;
            }
        }
        parts.starts[part] = at_start.bases_up_to(before);
        parts.ends[part] = at_end.bases_before(end);
    }
}

// Raises the length of each read to that of its longest part.
extern "C" __global__ void __launch_bounds__(128) measure_longest_parts(
    ReadParts parts, int* longest
) {
    for (int part = first_thread(); part < parts.count; part += all_threads()) {
        atomicMax(&longest[parts.reads[part]], (int)(parts.ends[part] - parts.starts[part]));
    }
}
