// Reads packed into bit planes; for the layout see hapgpu/shortread/search/packed_reads.py.

constexpr int kPlanes = 3;

struct PackedReads {
    const Word* words;
    const int* word_offsets;
    const int* lengths;
};

// Returns the start of a piece of a read. There is one piece more than allowed errors, so that one
// piece has no error.
template <int kPieces>
__device__ inline int piece_start(int piece, int length) {
    return length * piece / kPieces;
}

// Returns the first word of a strand of a read.
__device__ inline const Word* strand_words(const PackedReads& reads, int read, int strand) {
    const int start = reads.word_offsets[read], count = reads.word_offsets[read + 1] - start;
    return reads.words + kPlanes * (2ll * start + (long long)strand * count);
}

__device__ inline int base_at(const Word* read, int offset) {
    const Word* word = read + kPlanes * (offset / kWordBits);
    const int bit = offset % kWordBits;
    return (int)(word[0] >> bit & 1) | (int)(word[1] >> bit & 1) << 1;
}
