// Records gathered by row: all columns of DeviceRecords of hapgpu/io/bam/cuda/device_records.py.

#include "common/grid.cuh"

// Copies row rows[k] of every column to row k. A thread per row.
extern "C" __global__ void __launch_bounds__(128) take_records(
    const long long* rows, const long long* starts, const int* name_lengths,
    const int* cigar_lengths, const int* base_counts, const int* tag_lengths,
    const long long* cigar_starts, const long long* tag_starts, const long long* long_cigars,
    const unsigned short* flags, const int* reference_ids, const int* positions,
    const unsigned char* mapping_qualities, long long* out_starts, int* out_name_lengths,
    int* out_cigar_lengths, int* out_base_counts, int* out_tag_lengths,
    long long* out_cigar_starts, long long* out_tag_starts, long long* out_long_cigars,
    unsigned short* out_flags, int* out_reference_ids, int* out_positions,
    unsigned char* out_mapping_qualities, int count, int /* records */
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        const long long row = rows[k];
        out_starts[k] = starts[row];
        out_name_lengths[k] = name_lengths[row];
        out_cigar_lengths[k] = cigar_lengths[row];
        out_base_counts[k] = base_counts[row];
        out_tag_lengths[k] = tag_lengths[row];
        out_cigar_starts[k] = cigar_starts[row];
        out_tag_starts[k] = tag_starts[row];
        out_long_cigars[k] = long_cigars[row];
        out_flags[k] = flags[row];
        out_reference_ids[k] = reference_ids[row];
        out_positions[k] = positions[row];
        out_mapping_qualities[k] = mapping_qualities[row];
    }
}
