// Parts of BAM records, with every check of `hapgpu/io/bam/record_layout.py`. A thread a record.

#include "io/bam/records.cuh"
#include "io/bam/tags.cuh"

struct Parts {
    long long cigar, tags, long_cigar;
    int name, operations, bases, tag_bytes;
};

// Whether the numbers of contigs and the positions can be right.
__device__ inline bool are_places(const unsigned char* data, long long at, int contigs) {
    for (int field = 4; field <= 24; field += 20) {
        if (!is_contig(load_i32(data, at + field), contigs)) return false;
        if (load_i32(data, at + field + 4) < -1) return false;
    }
    return true;
}

// Whether a CIGAR is `<bases>S<reference bases>N`, the placeholder for a tag CG.
__device__ inline bool is_placeholder(const unsigned char* data, const Parts& parts) {
    if (parts.operations != 2) return false;
    const unsigned long long first = load_u32(data, parts.cigar);
    const unsigned second = load_u32(data, parts.cigar + 4);
    return first == ((unsigned long long)parts.bases << 4 | kSoftClip) && (second & 15) == kSkip;
}

// Whether a CIGAR has known operations and consumes as many bases as the read has.
__device__ inline bool is_cigar(const unsigned char* data, const Parts& parts) {
    long long total = 0;
    for (int k = 0; k < parts.operations; ++k) {
        const unsigned element = load_u32(data, parts.cigar + 4ll * k);
        if ((element & 15) > kLastOperation) return false;
        if (kQueryOperations >> (element & 15) & 1) total += element >> 4;
    }
    return parts.operations == 0 || parts.bases == 0 || total == parts.bases;
}

__device__ inline bool measure(
    const unsigned char* data, long long at, int contigs, Parts& parts
) {
    const long long end = at + 4 + load_i32(data, at);
    const int name_bytes = data[at + 12];
    parts.name = name_bytes - 1;
    parts.operations = (int)load_u16(data, at + 16);
    parts.bases = load_i32(data, at + 20);
    parts.cigar = at + kFixedBytes + name_bytes;
    const long long bases = parts.bases;
    parts.tags = parts.cigar + 4ll * parts.operations + (bases + 1) / 2 + bases;
    if (bases < 0 || parts.tags > end) return false;
    if (name_bytes == 0 || data[parts.cigar - 1] != 0) return false;
    if (!are_places(data, at, contigs)) return false;
    if (!find_long_cigar(data, parts.tags, end, parts.long_cigar)) return false;
    parts.tag_bytes = (int)(end - parts.tags);
    if (parts.long_cigar >= 0 && is_placeholder(data, parts)) {
        parts.operations = load_i32(data, parts.long_cigar + 4);
        parts.cigar = parts.long_cigar + 8;
        parts.tag_bytes -= 8 + 4 * parts.operations;
    } else {
        parts.long_cigar = -1;
    }
    return is_cigar(data, parts);
}

// Fill the columns of a layout and the fixed fields; set `fault` if a record is damaged.
extern "C" __global__ void __launch_bounds__(128) measure_records(
    const __grid_constant__ Records records, int* fault, int contigs
) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= records.count) return;
    const long long at = records.starts[row];
    Parts parts;
    if (!measure(records.data, at, contigs, parts)) {
        *fault = 1;
        return;
    }
    records.name_lengths[row] = parts.name;
    records.cigar_lengths[row] = parts.operations;
    records.base_counts[row] = parts.bases;
    records.tag_lengths[row] = parts.tag_bytes;
    records.cigar_starts[row] = parts.cigar;
    records.tag_starts[row] = parts.tags;
    records.long_cigars[row] = parts.long_cigar;
    records.flags[row] = (unsigned short)load_u16(records.data, at + 18);
    records.reference_ids[row] = load_i32(records.data, at + 4);
    records.positions[row] = load_i32(records.data, at + 8);
    records.mapping_qualities[row] = records.data[at + 13];
}
