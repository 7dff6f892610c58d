// Seeds: rows of the pieces of reads. Same as hapgpu/shortread/search/seeds.py.

#include "shortread/fm_index.cuh"
#include "shortread/packed_reads.cuh"

// With kFewRows left, a comparison with the reference is cheaper than further search. kSomeRows
// after kManySteps are copies of a repeat, and will hardly become fewer.
constexpr unsigned kFewRows = 1, kSomeRows = 8;
constexpr int kManySteps = 4;

__device__ inline bool has_others(const Word* read, int start, int end) {
    for (int word = start / kWordBits; word * kWordBits < end; ++word) {
        const Word span = span_mask(start - word * kWordBits, end - word * kWordBits);
        if (read[kPlanes * word + 2] & span) return true;
    }
    return false;
}

// Returns up to 32 bases of a plane, the first one in the highest bit.
__device__ inline unsigned reversed_plane(const Word* read, int plane, int start, int length) {
    const Word* word = read + kPlanes * (start / kWordBits) + plane;
    const int shift = start % kWordBits;
    Word bits = word[0] >> shift;
    if (shift + length > kWordBits) bits |= word[kPlanes] << (kWordBits - shift);
    return __brev((unsigned)bits) >> (32 - length);
}

// Moves bit i of 16 to bit 2 i.
__device__ inline unsigned spread(unsigned bits) {
    bits = (bits | bits << 8) & 0x00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f;
    bits = (bits | bits << 2) & 0x33333333;
    return (bits | bits << 1) & 0x55555555;
}
