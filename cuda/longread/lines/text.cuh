// Text of lines: counted, or written by one lane or by a whole warp.

#include "common/grid.cuh"

__device__ inline int digits_of(unsigned value) {
    int digits = 1;
    for (; value >= 10; value /= 10) ++digits;
    return digits;
}

__device__ inline int digits_of(unsigned long long value) {
    int digits = 1;
    for (; value >> 32; value /= 10) ++digits;
    return digits - 1 + digits_of((unsigned)value);
}

// Writes a number so that its last digit is before `end`.
__device__ inline void write_digits(unsigned char* end, unsigned long long value) {
    for (; value >> 32; value /= 10) *--end = '0' + value % 10;
    unsigned rest = (unsigned)value;
    do {
        *--end = '0' + rest % 10;
        rest /= 10;
    } while (rest);
}

// Text of one lane that is only counted.
struct Counter {
    static constexpr bool kWrites = false;
    long long size = 0;

    __device__ void put(unsigned char) { ++size; }
    __device__ void number(unsigned value) { size += digits_of(value); }
    __device__ void copy(const unsigned char*, long long bytes) { size += bytes; }
};

// Text that one lane writes.
struct Writer {
    static constexpr bool kWrites = true;
    unsigned char* at;

    __device__ void put(unsigned char byte) { *at++ = byte; }
    __device__ void number(unsigned value) {
        at += digits_of(value);
        write_digits(at, value);
    }
    __device__ void copy(const unsigned char* source, long long bytes) {
        for (long long k = 0; k < bytes; ++k) at[k] = source[k];
        at += bytes;
    }
};

// Text of a warp, whose lanes all hold the same size; it is only counted.
struct WarpCounter {
    static constexpr bool kWrites = false;
    long long size = 0;

    __device__ void put(unsigned char) { ++size; }
    __device__ void number(unsigned long long value) { size += digits_of(value); }
    __device__ void copy(const unsigned char*, long long bytes) { size += bytes; }
    __device__ void skip(long long bytes) { size += bytes; }
};

// Text that a warp writes, lane 0 all but copies; other kernels write what is skipped.
struct WarpWriter {
    static constexpr bool kWrites = true;
    unsigned char* text;
    long long size = 0;

    __device__ explicit WarpWriter(unsigned char* text) : text(text) {}
    __device__ void put(unsigned char byte) {
        if (lane_id() == 0) text[size] = byte;
        ++size;
    }
    __device__ void number(unsigned long long value) {
        size += digits_of(value);
        if (lane_id() == 0) write_digits(text + size, value);
    }
    __device__ void copy(const unsigned char* source, long long bytes) {
        for (long long k = lane_id(); k < bytes; k += kWarpLanes) text[size + k] = source[k];
        size += bytes;
    }
    __device__ void skip(long long bytes) { size += bytes; }
};

template <typename Out, int kSize>
__device__ inline void put_text(Out& out, const char (&text)[kSize]) {
#pragma unroll
    for (int k = 0; k < kSize - 1; ++k) out.put(text[k]);
}

template <typename Out, int kSize>
__device__ inline void put_tag(Out& out, const char (&head)[kSize], long long value) {
    put_text(out, head);
    if (value < 0) out.put('-');
    out.number((unsigned long long)(value < 0 ? -value : value));
}

// A fraction as put_four_decimals of hapgpu/io/text/builder.py writes it.
template <typename Out>
__device__ inline void put_four_decimals(Out& out, double value) {
    if (value == 0.0) return out.put('0');
    constexpr int kShift = 49;  // 2^53, the unit of the fraction, over 10^4 / 625
    constexpr unsigned long long kHalf = 1ull << (kShift - 1), kRest = (1ull << kShift) - 1;
    const unsigned long long scaled = (unsigned long long)(value * 0x1p53) * 625;
    const unsigned long long whole = scaled >> kShift, rest = scaled & kRest;
    unsigned units = (unsigned)(whole + (rest > kHalf || (rest == kHalf && (whole & 1))));
    out.put('0' + units / 10000);
    out.put('.');
    for (unsigned power = 1000; power; power /= 10) out.put('0' + units / power % 10);
}

// Sums of the values of lower lanes; `total` gets the sum of all.
template <typename Value>
__device__ inline Value sum_before(Value value, Value& total) {
    const Value sum = sum_to_lane(value);
    total = __shfl_sync(kAllLanes, sum, kWarpLanes - 1);
    return sum - value;
}
