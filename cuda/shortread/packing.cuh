// Packing of the letters of reads into bit planes, both strands. Same as
// hapgpu/shortread/search/packed_reads.py.
//
// Eight lanes pack a read, 128 bytes of text at a time: each lane loads 16 bytes at a multiple of 16
// and makes 16 bits of each plane. The bits move to the offsets of the read when four lanes have
// exchanged them: then lane k of the four has 64 bits of plane k, and the fourth lane has none.

#include "common/warp.cuh"
#include "shortread/fm_index.cuh"
#include "shortread/packed_reads.cuh"

constexpr int kGroup = 8, kHalf = kGroup / 2, kChunk = 16, kPassBytes = kGroup * kChunk;

struct Text {
    const unsigned char* bytes;
    long long size;
};

// Returns 16 bits, the lowest ones of the bytes of four words. The products move the bits of the
// bytes of two words to their highest byte; no two bits of a product meet.
__device__ inline unsigned gathered(unsigned first, unsigned second, unsigned third, unsigned last) {
    constexpr unsigned kLowest = 0x01010101, kMoves = 0x01020408;
    const unsigned low = (first & kLowest) | (second & kLowest) * 16;
    const unsigned high = (third & kLowest) | (last & kLowest) * 16;
    return low * kMoves >> 24 | (high * kMoves >> 24) << 8;
}

// 16 bits of each plane.
struct Bits {
    unsigned low, high, others;
};

// Returns the codes of 16 letters of either case. Bit 2 of A, C, G and T is the high bit of their
// codes; the low bit is set if bits 1 and 2 differ. The other bits but that of the case are those of
// 0x41, or of 0x50 for T.
__device__ inline Bits codes_of(int4 text) {
    constexpr unsigned kLowest = 0x01010101;
    const unsigned words[4] = {
        (unsigned)text.x, (unsigned)text.y, (unsigned)text.z, (unsigned)text.w
    };
    unsigned others[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned is_t = (words[k] >> 2) & ~(words[k] >> 1) & kLowest;
        const unsigned differs = (words[k] & 0x59595959u) ^ (is_t * 15 + 0x41414141u);
        others[k] = ((differs + 0x7f7f7f7fu) | words[k]) >> 7;  // the highest bit of letters is 0
    }
    const unsigned bit_1 = gathered(words[0] >> 1, words[1] >> 1, words[2] >> 1, words[3] >> 1);
    const unsigned bit_2 = gathered(words[0] >> 2, words[1] >> 2, words[2] >> 2, words[3] >> 2);
    const unsigned other = gathered(others[0], others[1], others[2], others[3]);
    return {(bit_1 ^ bit_2) & ~other, bit_2 & ~other, other};
}

// Loads 16 bytes at a multiple of 16; bytes outside the text, of less than 2**31 bytes, are 0.
__device__ inline int4 load_chunk(Text text, int start) {
    if ((unsigned)start < (unsigned)max((int)text.size - kChunk + 1, 0)) {
        return *(const int4*)(text.bytes + start);
    }
    unsigned words[4] = {};
#pragma unroll 1
    for (int k = 0; k < kChunk; ++k) {
        const bool is_inside = start + k >= 0 && start + k < text.size;
        words[0] = words[0] >> 8 | words[1] << 24;
        words[1] = words[1] >> 8 | words[2] << 24;
        words[2] = words[2] >> 8 | words[3] << 24;
        words[3] = words[3] >> 8 | (is_inside ? (unsigned)text.bytes[start + k] << 24 : 0);
    }
    return {(int)words[0], (int)words[1], (int)words[2], (int)words[3]};
}

// Returns 64 bits of plane k in lane k of four lanes, each of which has 16 bits of all planes.
__device__ inline Word transposed(Bits bits) {
    const int lane = lane_id();
    const bool is_odd = lane & 1, is_upper = lane & 2;
    // Lanes 0 and 2 get planes 0 and 2 of two lanes, lanes 1 and 3 plane 1.
    const unsigned sent = is_odd ? bits.low | bits.others << 16 : bits.high;
    const unsigned got = __shfl_xor_sync(kAllLanes, sent, 1);
    const unsigned own = is_odd ? got | bits.high << 16 : bits.low | got << 16;
    const unsigned others = is_odd ? 0 : bits.others | (got & 0xffff0000u);
    // Lanes 0 and 1 get planes 0 and 1 of four lanes, lanes 2 and 3 plane 2 and nothing.
    const unsigned other_half = __shfl_xor_sync(kAllLanes, is_upper ? own : others, 2);
    return is_upper ? (Word)others << 32 | other_half : (Word)other_half << 32 | own;
}

__device__ inline Word reversed(Word bits) {
    return (Word)__brev((unsigned)bits) << 32 | __brev((unsigned)(bits >> 32));
}

__device__ inline Word of_other_half(Word bits) {
    return __shfl_xor_sync(kAllLanes, bits, kHalf);
}

// Returns how many bytes before a read its first 16 bytes start.
__device__ inline int shift_of(Text text, int start) {
    return (int)((unsigned long long)(text.bytes + start) % kChunk);
}

// Packs a read of `count` words from `start` on in a text, by eight lanes; all lanes of a warp call
// this, some of them maybe with no bases.
__device__ inline void pack_read(Text text, int start, int length, int count, Word* target) {
    const int lane = lane_id() % kGroup, plane = lane % kHalf;
    // Bit `shift` of the first pass is the first base.
    const int shift = shift_of(text, start);
    const int bits = shift + length;
    const auto load = [&](int pass) -> Word {
        const int chunk = pass * kGroup + lane;
        Bits found = {0, 0, 0};
        if (length && chunk * kChunk < bits) {
            found = codes_of(load_chunk(text, start - shift + chunk * kChunk));
        }
        return transposed(found);
    };
    const int unused = count * kWordBits - length;
    Word own = load(0), before = 0;
    for (int pass = 0; __any_sync(kAllLanes, pass * kPassBytes < length); ++pass) {
        Word next = 0;
        if (__any_sync(kAllLanes, (pass + 1) * kPassBytes < bits)) next = load(pass + 1);
        // The first half of the lanes has the first 64 bits of the pass, the second half the others.
        const Word beside = of_other_half(own), after = of_other_half(next);
        const Word following = lane < kHalf ? beside : after;
        Word word = shift ? own >> shift | following << (kWordBits - shift) : own;
        const int number = 2 * pass + lane / kHalf, left = length - number * kWordBits;
        if (left < kWordBits) word &= left > 0 ? (1ull << left) - 1 : 0;
        const Word word_beside = of_other_half(word);
        const Word preceding = lane < kHalf ? before : word_beside;
        before = word_beside;
        own = next;
        if (number >= count || plane == kPlanes) continue;
        target[(long long)number * kPlanes + plane] = word;
        Word reverse = reversed(word) >> unused;
        if (unused) reverse |= reversed(preceding) << (kWordBits - unused);
        if (plane < 2) reverse = ~reverse;
        if (number == 0) reverse &= kAllBits >> unused;
        target[(long long)(2 * count - 1 - number) * kPlanes + plane] = reverse;
    }
}
