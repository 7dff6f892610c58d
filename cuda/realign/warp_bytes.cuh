// Output of the bytes of a record by a warp: all lanes call each function with the same values.

#include "common/bytes.cuh"
#include "common/warp.cuh"

// Copies bytes: a word per lane and step, at the alignment of the target. No byte outside `length`
// is read, except in the aligned words of its first and last byte.
__device__ inline void warp_copy(const unsigned char* from, unsigned char* to, long long length) {
    const long long head = min(length, (long long)(-(unsigned long long)to & 3));
    const long long words = max(length - head - 3, 0ll) / 4;
    if (lane_id() < head) to[lane_id()] = from[lane_id()];
    for (long long k = lane_id(); k < words; k += kWarpLanes) {
        ((unsigned*)(to + head))[k] = load_u32(from, head + 4 * k);
    }
    for (long long k = head + 4 * words + lane_id(); k < length; k += kWarpLanes) to[k] = from[k];
}

__device__ inline int digits_of(unsigned value) {
    int digits = 1;
    for (; value >= 10; value /= 10) ++digits;
    return digits;
}

// A CIGAR in BAM encoding at any byte.
struct Cigar {
    const unsigned char* bytes;
    long long count;

    __device__ unsigned element(long long k) const { return load_u32(bytes, 4 * k); }
};

// Counts bytes, and writes them if kWrites: a record is measured and written by the same code.
template <bool kWrites>
struct WarpBytes {
    unsigned char* out;
    long long at;

    __device__ void put(unsigned char byte) {
        if (kWrites && lane_id() == 0) out[at] = byte;
        ++at;
    }

    template <int kSize>
    __device__ void text(const char (&text)[kSize]) {
#pragma unroll
        for (int k = 0; k < kSize - 1; ++k) put(text[k]);
    }

    __device__ void word(unsigned value) {
        if (kWrites && lane_id() < 4) out[at + lane_id()] = (unsigned char)(value >> 8 * lane_id());
        at += 4;
    }

    __device__ void copy(const unsigned char* from, long long length) {
        if (kWrites) warp_copy(from, out + at, length);
        at += length;
    }

    __device__ void copy_reversed(const unsigned char* from, long long length) {
        if (kWrites) {
            for (long long k = lane_id(); k < length; k += kWarpLanes) {
                out[at + k] = from[length - 1 - k];
            }
        }
        at += length;
    }

    __device__ void fill(unsigned char byte, long long length) {
        if (kWrites) {
            for (long long k = lane_id(); k < length; k += kWarpLanes) out[at + k] = byte;
        }
        at += length;
    }

    // Packed bases; the unused half of the last byte becomes 0.
    __device__ void bases(const unsigned char* packed, long long count) {
        copy(packed, count / 2);
        if (count % 2) put(packed[count / 2] & 0xf0);
    }

    // Packed bases, reverse-complemented. The code of a complement has the bits of the code in
    // reverse order: reversing the bits of a byte swaps its two bases and complements them.
    __device__ void complement(const unsigned char* packed, long long count) {
        const long long size = (count + 1) / 2;
        if (kWrites) {
            for (long long k = lane_id(); k < size; k += kWarpLanes) {
                const long long from = size - 1 - k;
                unsigned pair = packed[from];
                if (count % 2) pair = (from ? packed[from - 1] << 4 & 0xf0 : 0) | pair >> 4;
                out[at + k] = (unsigned char)(__brev(pair) >> 24);
            }
        }
        at += size;
    }

    __device__ void number(unsigned value) {
        const int digits = digits_of(value);
        if (kWrites && lane_id() < digits) {
            for (int k = lane_id() + 1; k < digits; ++k) value /= 10;
            out[at + lane_id()] = (unsigned char)('0' + value % 10);
        }
        at += digits;
    }

    __device__ void signed_number(long long value) {
        if (value < 0) put('-');
        number((unsigned)(value < 0 ? -value : value));
    }

    // A CIGAR as text, an element per lane and step; `*` without elements.
    __device__ void cigar_text(const Cigar& cigar) {
        if (cigar.count == 0) put('*');
        for (long long first = 0; first < cigar.count; first += kWarpLanes) {
            const long long k = first + lane_id();
            unsigned element = 0;
            int size = 0;
            if (k < cigar.count) {
                element = cigar.element(k);
                size = digits_of(element >> 4) + 1;
            }
            int end = size;
            for (int distance = 1; distance < kWarpLanes; distance *= 2) {
                const int lower = __shfl_up_sync(kAllLanes, end, distance);
                if (lane_id() >= distance) end += lower;
            }
            if (kWrites && size) element_text(out + at + end - size, element, size);
            at += __shfl_sync(kAllLanes, end, kWarpLanes - 1);
        }
    }

    // One element, by the calling lane only.
    __device__ static void element_text(unsigned char* to, unsigned element, int size) {
        // The letters of the operations 0 to 7 and 8 to 15, the first in the lowest byte.
        const unsigned long long letters = element & 8 ? 0x3f3f3f3f3f3f3f58ull
                                                       : 0x3d5048534e44494dull;
        to[size - 1] = (unsigned char)(letters >> 8 * (element & 7));
        unsigned length = element >> 4;
        for (int k = size - 2; k >= 0; --k) {
            to[k] = (unsigned char)('0' + length % 10);
            length /= 10;
        }
    }
};
