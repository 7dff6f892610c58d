// Reads as bit planes; hapgpu/mapping/search/packed_reads.py says how they lie in memory.

constexpr int kPlanes = 3;

// Pieces of a read, one more than errors are allowed: one of them is without any.
template <int kPieces>
__device__ inline int piece_begin(int piece, int length) {
    return length * piece / kPieces;
}

// Where the words of a strand of a read begin.
__device__ inline const Word* strand_words(
    const Word* words, const int* word_offsets, int read, int strand
) {
    const int begin = word_offsets[read], count = word_offsets[read + 1] - begin;
    return words + kPlanes * (2ll * begin + (long long)strand * count);
}

__device__ inline int base_at(const Word* read, int place) {
    const Word* word = read + kPlanes * (place / kWordBits);
    const int bit = place % kWordBits;
    return (int)(word[0] >> bit & 1) | (int)(word[1] >> bit & 1) << 1;
}
