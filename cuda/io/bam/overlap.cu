// Which records overlap intervals, as `hapgpu/io/bam/overlap.py`. One thread per record.

#include "io/bam/record.cuh"
#include "io/bam/records.cuh"

// Intervals of contigs, by their starts; contig r has the intervals offsets[r] to offsets[r + 1].
struct Intervals {
    const long long* offsets;
    const long long* starts;
    const long long* ends;
};

// The first interval of `low` to `high` that ends after a position, or `high`.
__device__ inline long long first_ending_after(
    const long long* ends, long long low, long long high, int position
) {
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (ends[middle] > position) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Bases of the contig that an alignment spans.
__device__ inline long long span_of(
    const unsigned char* data, long long cigar, int operations
) {
    long long span = 0;
    for (int k = 0; k < operations; ++k) {
        const unsigned element = load_u32(data, cigar + 4ll * k);
        if (kReferenceOperations >> (element & 15) & 1) span += element >> 4;
    }
    return span;
}

extern "C" __global__ void __launch_bounds__(128) mark_overlaps(
    const __grid_constant__ Records records, const __grid_constant__ Intervals intervals,
    unsigned char* marks
) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= records.count) return;
    const int contig = records.reference_ids[row], position = records.positions[row];
    unsigned char mark = 0;
    const long long* offsets = intervals.offsets;
    if (contig >= 0 && offsets[contig] < offsets[contig + 1]) {
        long long span = 0;
        if (!(records.flags[row] & kUnmapped)) {
            span = span_of(records.data, records.cigar_starts[row], records.cigar_lengths[row]);
        }
        const long long high = offsets[contig + 1];
        const long long first = first_ending_after(
            intervals.ends, offsets[contig], high, position);
        mark = first < high && intervals.starts[first] < position + (span > 1 ? span : 1);
    }
    marks[row] = mark;
}
