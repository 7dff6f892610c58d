// The masks of haplotypes in the pair-HMM: a bit per column that says where a letter differs.

#include "common/warp.cuh"

constexpr int kLetters = 4;  // A, C, G, T; no other letter of a read needs a mask
constexpr int kBitsPerByte = 7;  // one instruction turns 7 bits of a byte into predicates
constexpr int kColumnsPerWord = 4 * kBitsPerByte;
constexpr int kMaskStride = kWarpLanes * 4;  // bytes from letter to letter in the table of a warp

__host__ __device__ constexpr int words_for(int columns) {
    return (columns + kColumnsPerWord - 1) / kColumnsPerWord;
}

// Where the bit of a column lies in its word.
__device__ constexpr int bit_of(int column) {
    int within = column % kColumnsPerWord;
    return within / kBitsPerByte * 8 + within % kBitsPerByte;
}
