// Masks of haplotypes in the pair-HMM: a bit per column, set where a letter differs.

#include "common/warp.cuh"

constexpr int kLetters = 4;  // A, C, G, T; other letters of a read need no mask
constexpr int kBitsPerByte = 7;  // one instruction turns 7 bits of a byte into predicates
constexpr int kColumnsPerWord = 4 * kBitsPerByte;
constexpr int kMaskStride = kWarpLanes * 4;  // bytes from letter to letter in the table of a warp

__host__ __device__ constexpr int words_for(int columns) {
    return (columns + kColumnsPerWord - 1) / kColumnsPerWord;
}

// Returns the bit of a column in its word.
__device__ constexpr int bit_of(int column) {
    int within = column % kColumnsPerWord;
    return within / kBitsPerByte * 8 + within % kBitsPerByte;
}
