// Canonical Huffman codes of DEFLATE: tables for short codes, and a search for long ones.
// All functions are called by all lanes together, with the same arguments but for the lane.

#include "io/bgzf/bits.cuh"

// One lane when the host compiles this for a test.
#ifndef INFLATE_LANES
#define INFLATE_LANES 32
#endif
constexpr int kLanes = INFLATE_LANES;

constexpr int kLiteralBits = 10, kDistanceBits = 8, kLengthBits = 7;
constexpr int kMaxCodeBits = 15;
constexpr int kLiterals = 288, kDistances = 32, kLengthSymbols = 19;

// Codes by their length, for those that are longer than a table's index.
struct Code {
    u16 first[kMaxCodeBits + 1];  // the first code of a length
    u16 count[kMaxCodeBits + 1];
    u16 at[kMaxCodeBits + 1];  // place of its symbol among the sorted symbols
};

// In shared memory, one for each warp. An entry is symbol << 4 | bits, or 0 if the code is longer.
struct Tables {
    u16 literal[1 << kLiteralBits];
    u16 distance[1 << kDistanceBits];
    u16 length[1 << kLengthBits];  // the code of the code lengths
    u16 literal_sorted[kLiterals];
    u16 distance_sorted[kDistances];
    Code literal_code, distance_code;
    u8 lengths[kLiterals + kDistances];
};

// DEFLATE wants codes that use all combinations of bits, but one symbol or none is legal too.
enum Completeness { kComplete, kMayBeSingle };

__device__ inline void count_lengths(const u8* lengths, int symbols, Code& code, int lane) {
    for (int length = lane; length <= kMaxCodeBits; length += kLanes) {
        int count = 0;
        for (int s = 0; s < symbols; ++s) count += lengths[s] == length;
        code.count[length] = (u16)(length ? count : 0);
    }
    __syncwarp();
    if (lane == 0) {
        u32 first = 0, at = 0;
        for (int length = 1; length <= kMaxCodeBits; ++length) {
            first = (first + code.count[length - 1]) << 1;
            code.first[length] = (u16)first;
            code.at[length] = (u16)at;
            at += code.count[length];
        }
    }
    __syncwarp();
}

// Whether there are as many codes as their lengths allow. A code that some decoder refuses is
// refused: the block is then read again on the CPU, which decides.
__device__ inline bool is_code(const Code& code, Completeness completeness) {
    int left = 1, used = 0;
    for (int length = 1; length <= kMaxCodeBits; ++length) {
        left = 2 * left - code.count[length];
        used += code.count[length];
        if (left < 0) return false;
    }
    if (left == 0) return true;
    return completeness == kMayBeSingle && used == code.count[1];
}

// Tables of a code with the given lengths; false if there is no such code. A lane has a length.
__device__ inline bool build(
    const u8* lengths, int symbols, int bits, Completeness completeness, u16* table, u16* sorted,
    Code& code, int lane
) {
    for (int k = lane; k < 1 << bits; k += kLanes) table[k] = 0;
    count_lengths(lengths, symbols, code, lane);
    if (!is_code(code, completeness)) return false;
    for (int length = lane; length <= kMaxCodeBits; length += kLanes) {
        if (length == 0) continue;
        u32 next = code.first[length], place = code.at[length];
        for (int s = 0; s < symbols; ++s) {
            if (lengths[s] != length) continue;
            sorted[place++] = (u16)s;
            if (length <= bits) {
                const u16 entry = (u16)(s << 4 | length);
                const u32 start = __brev(next) >> (32 - length);
                for (u32 k = start; k < 1u << bits; k += 1u << length) table[k] = entry;
            }
            ++next;
        }
    }
    __syncwarp();
    return true;
}

// The symbol of a code of more than `bits` bits; rare, so it stays a loop.
__device__ inline int long_symbol(Bits& in, int bits, const Code& code, const u16* sorted) {
    u32 value = __brev((u32)in.buffer) >> (32 - bits);
#pragma unroll 1
    for (int length = bits + 1; length <= kMaxCodeBits; ++length) {
        value = value << 1 | (u32)(in.buffer >> (length - 1) & 1);
        const int place = (int)value - code.first[length];
        if (place >= 0 && place < code.count[length]) {
            in.drop(length);
            return sorted[code.at[length] + place];
        }
    }
    return -1;
}

__device__ inline u32 entry_of(const Bits& in, const u16* table, int bits) {
    return table[(u32)in.buffer & ((1u << bits) - 1)];
}

__device__ inline bool is_literal(u32 entry) { return entry - 1 < (256u << 4) - 1; }

// The symbol of an entry, whose bits are taken; -1 if the bits are no code.
__device__ inline int taken_symbol(
    Bits& in, u32 entry, int bits, const Code& code, const u16* sorted
) {
    if (entry == 0) return long_symbol(in, bits, code, sorted);
    in.drop((int)(entry & 15));
    return (int)(entry >> 4);
}

__device__ inline int next_symbol(
    Bits& in, const u16* table, int bits, const Code& code, const u16* sorted
) {
    return taken_symbol(in, entry_of(in, table, bits), bits, code, sorted);
}
