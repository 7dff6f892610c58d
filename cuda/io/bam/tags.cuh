// Optional fields (tags) of BAM records: their sizes, checked.

#include "io/bam/record.cuh"

constexpr unsigned kLongCigarTag = 'C' | 'G' << 8 | 'B' << 16 | 'I' << 24;
constexpr int kTagHead = 3, kArrayHead = 8;

// Bytes of a value by its type; 0 for types of variable size and unknown types.
__device__ inline int value_width(unsigned char type) {
    switch (type) {
        case 'A': case 'c': case 'C': return 1;
        case 's': case 'S': return 2;
        case 'i': case 'I': case 'f': return 4;
        default: return 0;
    }
}

// The first NUL from `at` on, or `end`. Four bytes at a time: it may read up to 3 behind `end`.
__device__ inline long long text_end(const unsigned char* data, long long at, long long end) {
    for (; at < end; at += 4) {
        const unsigned word = load_u32(data, at);
        const unsigned zeros = (word - 0x01010101u) & ~word & 0x80808080u;
        if (zeros) return min(at + (__ffs((int)zeros) - 1) / 8, end);
    }
    return end;
}

// The size of the field at `at`; 0 if it is malformed or ends after `end`.
__device__ inline long long field_bytes(const unsigned char* data, long long at, long long end) {
    if (at + kTagHead >= end) return 0;
    const unsigned char type = data[at + 2];
    long long size = 0;
    if (type == 'Z' || type == 'H') {
        size = text_end(data, at + kTagHead, end) + 1 - at;
    } else if (type == 'B') {
        if (at + kArrayHead > end) return 0;
        const int count = load_i32(data, at + 4), width = value_width(data[at + kTagHead]);
        if (count < 0 || width == 0 || data[at + kTagHead] == 'A') return 0;
        size = kArrayHead + (long long)count * width;
    } else {
        const int width = value_width(type);
        if (width == 0) return 0;
        size = kTagHead + width;
    }
    return at + size <= end ? size : 0;
}

// Check all tags between two places; `found` gets the last CG:B,I, or -1.
__device__ inline bool find_long_cigar(
    const unsigned char* data, long long at, long long end, long long& found
) {
    found = -1;
    while (at < end) {
        const long long size = field_bytes(data, at, end);
        if (size == 0) return false;
        if (load_u32(data, at) == kLongCigarTag) found = at;
        at += size;
    }
    return true;
}
