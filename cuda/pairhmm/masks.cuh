// Masks of haplotypes in the pair-HMM: a bit per column, set where a letter differs.

#include "common/warp.cuh"

constexpr int kLetters = 4;  // A, C, G, T; other letters of a read need no mask
constexpr int kBitsPerByte = 7;  // one instruction turns 7 bits of a byte into predicates
constexpr int kBitsPerWord = 4 * kBitsPerByte;
constexpr int kMaskStride = kWarpLanes * 4;  // bytes from letter to letter in the table of a warp

__host__ __device__ constexpr int words_for(int columns) {
    return (columns + kBitsPerWord - 1) / kBitsPerWord;
}

// Returns how many columns of a lane share a word. The lowest bit is unused, unless that needs one
// more word: the compiler tests it by two instructions of its own.
__device__ constexpr int columns_per_word(int columns) {
    return kBitsPerWord - (words_for(columns) * (kBitsPerWord - 1) >= columns);
}

// Returns the bit of a column in its word.
__device__ constexpr int bit_of(int column, int columns) {
    int within = column % columns_per_word(columns) + kBitsPerWord - columns_per_word(columns);
    return within / kBitsPerByte * 8 + within % kBitsPerByte;
}
