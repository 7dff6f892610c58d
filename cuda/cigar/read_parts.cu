// BAM records clipped to intervals of the reference: the same as hapgpu/cigar/read_parts.py.

#include "cigar/operations.cuh"
#include "cigar/record_cigars.cuh"
#include "common/grid.cuh"

namespace {

// The element at a position: the last that starts at most there.
struct Found {
    unsigned element = 0;
    long long start = 0, end = 0, bases = 0;
    bool is_any = false;

    // Counts the bases before the base at a position, or before the deletion there.
    __device__ long long bases_before(long long position) const {
        if (!is_any) return 0;
        if (!consumes_query(operation_of(element))) return bases;
        return bases + (position >= end ? length_of(element) : position - start);
    }
    // Counts the bases up to the base at a position, or before the deletion there.
    __device__ long long bases_up_to(long long position) const {
        const bool is_aligned = is_any && position < end && consumes_query(operation_of(element));
        return bases_before(position) + is_aligned;
    }
};

// First and last element on the reference, and the bases soft-clipped before them.
struct Aligned {
    int first, last;
    long long clipped = 0;

    __device__ Aligned(const RecordCigars& cigars, int row) : first(cigars.sizes[row]), last(-1) {
        const int count = cigars.sizes[row];
        for (int k = 0; k < count; ++k) {
            const unsigned element = cigars.element(row, k);
            if (length_of(element) && consumes_reference(operation_of(element))) {
                first = min(first, k);
                last = k;
            } else if (operation_of(element) == kS && first == count) {
                clipped += length_of(element);
            }
        }
    }
};

}  // namespace

// Clips reads to intervals; a thread per part. A part is the bases starts[k] to ends[k] of the
// record reads[k]; a part of a record without an alignment is empty. On input, starts and ends
// hold the interval.
extern "C" __global__ void clip_parts(
    const unsigned char* data,
    const long long* cigar_starts,
    const int* cigar_sizes,
    const int* positions,
    const int* base_counts,
    const long long* reads,
    long long* starts,
    long long* ends,
    long long /* size */,
    int /* records */,
    int parts
) {
    const RecordCigars cigars = {data, cigar_starts, cigar_sizes};
    for (int part = first_thread(); part < parts; part += all_threads()) {
        const int row = (int)reads[part];
        const long long before = starts[part] - 1, after = ends[part];
        const Aligned aligned(cigars, row);
        Found at_start, at_end;
        long long position = positions[row] - aligned.clipped, bases = 0, matched = 0;
        for (int k = 0; k < cigars.sizes[row]; ++k) {
            const unsigned element = cigars.element(row, k);
            const long long length = length_of(element), start = position, on_read = bases;
            const bool is_outer_clip =
                operation_of(element) == kS && (k < aligned.first || k > aligned.last);
            if (is_outer_clip || consumes_reference(operation_of(element))) position += length;
            if (consumes_query(operation_of(element))) bases += length;
            if (is_alignment(operation_of(element))) matched += length;
            if (start <= before) at_start = {element, start, position, on_read, true};
            if (start <= after) at_end = {element, start, position, on_read, true};
        }
        const bool is_sound = matched > 0 && bases == base_counts[row];
        starts[part] = is_sound ? at_start.bases_up_to(before) : 0;
        ends[part] = is_sound ? at_end.bases_before(after) : 0;
    }
}
