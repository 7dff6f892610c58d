// Which records overlap intervals, as `hapgpu/io/bam/overlap.py`. A thread a record.

#include "io/bam/record.cuh"

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

// The intervals of contig r are offsets[r] to offsets[r + 1].
extern "C" __global__ void __launch_bounds__(128) mark_overlaps(
    const unsigned char* data,
    const long long* cigar_starts,
    const int* cigar_lengths,
    const unsigned short* flags,
    const int* reference_ids,
    const int* positions,
    const long long* offsets,
    const long long* starts,
    const long long* ends,
    unsigned char* marks,
    long long size,
    int records,
    int contigs,
    int intervals
) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= records) return;
    const int contig = reference_ids[row], position = positions[row];
    unsigned char mark = 0;
    if (contig >= 0 && offsets[contig] < offsets[contig + 1]) {
        long long span = 0;
        if (!(flags[row] & kUnmapped)) span = span_of(data, cigar_starts[row], cigar_lengths[row]);
        const long long high = offsets[contig + 1];
        const long long first = first_ending_after(ends, offsets[contig], high, position);
        mark = first < high && starts[first] < position + (span > 1 ? span : 1);
    }
    marks[row] = mark;
}
