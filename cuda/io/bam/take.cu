// Records gathered by row.

#include "common/grid.cuh"
#include "io/bam/records.cuh"

// Copies row rows[k] of every column to row k. A thread per row.
extern "C" __global__ void __launch_bounds__(128) take_records(
    const long long* rows, const __grid_constant__ Records from, const __grid_constant__ Records to
) {
    for (int k = first_thread(); k < to.count; k += all_threads()) {
        const long long row = rows[k];
        to.starts[k] = from.starts[row];
        to.name_lengths[k] = from.name_lengths[row];
        to.cigar_lengths[k] = from.cigar_lengths[row];
        to.base_counts[k] = from.base_counts[row];
        to.tag_lengths[k] = from.tag_lengths[row];
        to.cigar_starts[k] = from.cigar_starts[row];
        to.tag_starts[k] = from.tag_starts[row];
        to.long_cigars[k] = from.long_cigars[row];
        to.flags[k] = from.flags[row];
        to.reference_ids[k] = from.reference_ids[row];
        to.positions[k] = from.positions[row];
        to.mapping_qualities[k] = from.mapping_qualities[row];
    }
}
