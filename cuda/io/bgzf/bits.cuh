// Bits of a DEFLATE stream, lowest first.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// A reader keeps 33 to 64 bits; the next word is loaded before it is needed, to hide the latency.
// It reads whole words: up to 7 bytes behind the stream, whose values have no effect on a stream
// that `is_past_end` does not refuse.
struct Bits {
    const u32* words;
    const u8* stop;  // end of the stream
    u32 next;        // number of the word behind `ahead`
    u32 end;         // the first word outside the stream
    u64 buffer;
    int count;
    u32 ahead;

    __device__ inline Bits(const u8* data, u32 size) {
        const u64 address = (u64)data;
        const int skip = (int)(address & 3);
        words = (const u32*)(address & ~3ull);
        stop = data + size;
        end = (skip + size + 3) / 4;
        buffer = (u64)words[0] >> (8 * skip);
        count = 32 - 8 * skip;
        ahead = words[1];
        next = 2;
    }
    __device__ inline void fill() {
        if (count <= 32) {
            buffer |= (u64)ahead << count;
            count += 32;
            ahead = next < end ? words[next] : 0;
            ++next;
        }
    }
    __device__ inline void drop(int bits) {
        buffer >>= bits;
        count -= bits;
    }
    __device__ inline u32 take(int bits) {
        const u32 value = (u32)buffer & ((1u << bits) - 1);
        drop(bits);
        return value;
    }
    // The first byte of which no bit was taken.
    __device__ inline const u8* position() const {
        return (const u8*)(words + (next - 1)) - count / 8;
    }
    // Cheap test that ends a loop: true only some words behind the stream.
    __device__ inline bool is_far_past_end() const { return next > end + 3; }
    __device__ inline bool is_past_end() const { return position() > stop; }
};
