// The reference in bit planes; see hapgpu/shortread/index/fm_index.py.

#include "shortread/fm_index.cuh"

// 64 positions of the reference: low bits and high bits of the bases, and positions of other letters.
struct TextWord {
    Word low, high, others;
};

// The 64 positions from `shift` on in two successive words.
__device__ inline TextWord shifted(const TextWord& word, const TextWord& next, int shift) {
    const int carry = kWordBits - 1 - shift;
    return {word.low >> shift | next.low << 1 << carry, word.high >> shift | next.high << 1 << carry,
            word.others >> shift | next.others << 1 << carry};
}

struct Reference {
    const Word* planes;
    const Word* others;
    const unsigned* other_blocks;  // see other_blocks.cu
    const long long* contig_offsets;
    int contigs;

    __device__ TextWord word(long long block, bool has_others = true) const {
        const ulonglong2 bases = ((const ulonglong2*)planes)[block];
        return {bases.x, bases.y, has_others ? others[block] : 0};
    }

    // Whether a block, or one of the next `more`, at least 2, has letters other than bases.
    __device__ bool has_others(unsigned long long block, int more) const {
        bool found = false;
        for (int k = 0; k <= more - 2; ++k) {
            found |= other_blocks[(block + k) / 32] >> (block + k) % 32 & 1;
        }
        return found;
    }
};
