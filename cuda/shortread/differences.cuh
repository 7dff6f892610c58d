// Short reads compared with the reference on a diagonal, all words at once.

#include "shortread/fm_index.cuh"
#include "shortread/packed_reads.cuh"
#include "shortread/reference.cuh"
#include "shortread/shifted.cuh"

// Two bases are between the words: a read with a gap and any shift has them in one word more.
__device__ constexpr int max_bases(int words) { return words * kWordBits - 2; }

// Differences of a short read from the reference: a bit per base.
template <int kWords>
struct Differences {
    Word words[kWords];

    __device__ int count() const {
        int sum = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k) sum += __popcll(words[k]);
        return sum;
    }

    // The offset of the first difference, and of the last one; there is at least one.
    __device__ int first() const {
        int offset = 0;
#pragma unroll
        for (int k = kWords - 1; k >= 0; --k) {
            if (words[k]) offset = k * kWordBits + __ffsll(words[k]) - 1;
        }
        return offset;
    }
    __device__ int last() const {
        int offset = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            if (words[k]) offset = (k + 1) * kWordBits - 1 - __clzll(words[k]);
        }
        return offset;
    }

    // Whether a difference is within a piece of the read.
    template <int kPieces>
    __device__ bool is_in(int piece, int length) const {
        Word found = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const int start = k * kWordBits, half = length / 2 - start;
            Word left = kAllBits;
            if (kPieces == 2) left = start < max_bases(kWords) / 2 ? span_mask(0, half) : 0;
            found |= words[k] & (piece == 0 ? left : ~left);
        }
        return found;
    }
};

// Compares a short read with the bases of the reference on a diagonal, which is `start` - 1; other
// letters of the reference are any bases. No bit of `start` is lost, as the reference has 2**20 bases
// less than 2**32.
template <int kWords>
__device__ inline Differences<kWords> differences(
    const Reference& reference, unsigned start, const Word* read, int length
) {
    const unsigned bit = start + (kWordBits - 1), block = bit / kWordBits;
    const int shift = bit % kWordBits, end = shift + length;
    Word low[kWords + 1], high[kWords + 1];
#pragma unroll
    for (int k = 0; k <= kWords; ++k) {
        TextWord word{0, 0, 0};
        if (k == 0 || end > k * kWordBits) word = reference.word(block + k, false);
        low[k] = word.low;
        high[k] = word.high;
    }
    const Shifted<kWords> shifted_low(low, shift), shifted_high(high, shift);
    Differences<kWords> differs;
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
        const int used = length - k * kWordBits;
        differs.words[k] = 0;
        if (used <= 0) continue;
        differs.words[k] = (shifted_low.words[k] ^ read[kPlanes * k])
            | (shifted_high.words[k] ^ read[kPlanes * k + 1]) | read[kPlanes * k + 2];
        differs.words[k] &= kAllBits >> max(kWordBits - used, 0);
    }
    return differs;
}

// Adds the other letters of the reference to the differences of a read on a diagonal.
template <int kWords>
__device__ inline void add_others(
    const Reference& reference, unsigned start, int length, Differences<kWords>& differs
) {
    const unsigned bit = start + (kWordBits - 1), block = bit / kWordBits;
    if (!reference.has_others(block, kWords)) return;
    const int shift = bit % kWordBits;
    Word others[kWords + 1];
#pragma unroll
    for (int k = 0; k <= kWords; ++k) {
        others[k] = 0;
        if (k == 0 || shift + length > k * kWordBits) others[k] = reference.others[block + k];
    }
    const Shifted<kWords> shifted(others, shift);
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
        const int used = length - k * kWordBits;
        if (used <= 0) continue;
        differs.words[k] |= shifted.words[k] & kAllBits >> max(kWordBits - used, 0);
    }
}
