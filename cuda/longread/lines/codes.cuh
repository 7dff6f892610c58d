// Runs of equal codes, and codes as letters; same as hapgpu/longread/output/cigars.py.

#include "longread/lines/chunk.cuh"

constexpr int kLongStep = 32;
constexpr unsigned char kUpperCase = 0, kLowerCase = 0x20;

__device__ inline unsigned char letter_of(unsigned char code, unsigned char letter_case) {
    return (unsigned char)(0x4e54474341ull >> 8 * code) | letter_case;  // ACGTN
}

// Reads eight bytes at any address: whole words, each of which has one of the bytes.
__device__ inline unsigned long long load_8(const unsigned char* at) {
    const unsigned long long address = (unsigned long long)at;
    const unsigned long long* words = (const unsigned long long*)(address & ~7ull);
    const unsigned shift = 8 * (address & 7);
    return shift ? words[0] >> shift | words[1] << (64 - shift) : words[0];
}

// Returns the number of equal bytes before the first difference.
__device__ inline long long match_length(
    const unsigned char* one, const unsigned char* other, long long length
) {
    long long same = 0;
    // Independent loads, because a single lane compares the bases of a long operation.
    for (; same + kLongStep <= length; same += kLongStep) {
        unsigned long long differences = 0;
#pragma unroll
        for (int k = 0; k < kLongStep; k += 8) {
            differences |= load_8(one + same + k) ^ load_8(other + same + k);
        }
        if (differences) break;
    }
    for (; same + 8 <= length; same += 8) {
        const unsigned long long differences = load_8(one + same) ^ load_8(other + same);
        if (differences) return same + (__ffsll(differences) - 1) / 8;
    }
    while (same < length && one[same] == other[same]) ++same;
    return same;
}

// Returns the number of equal bytes at and before two addresses, up to a difference.
__device__ inline long long backward_match_length(
    const unsigned char* one, const unsigned char* other, long long length
) {
    long long same = 0;
    for (; same + 8 <= length; same += 8) {
        const unsigned long long differences = load_8(one - same - 7) ^ load_8(other - same - 7);
        if (differences) return same + __clzll(differences) / 8;
    }
    while (same < length && one[-same] == other[-same]) ++same;
    return same;
}

template <typename Out>
__device__ inline void put_letters(
    Out& out, const unsigned char* codes, long long length, unsigned char letter_case
) {
    if constexpr (Out::kWrites) {
        for (long long k = 0; k < length; ++k) out.at[k] = letter_of(codes[k], letter_case);
        out.at += length;
    } else {
        out.size += length;
    }
}
