// Little-endian integers at any byte, as in BAM records.

// Reads up to 3 bytes behind the value: arrays of bytes end with some bytes of padding.
__device__ inline unsigned load_u32(const unsigned char* data, long long at) {
    const unsigned long long address = (unsigned long long)(data + at);
    const unsigned* words = (const unsigned*)(address & ~3ull);
    const unsigned shift = 8 * (address & 3);
    return shift ? __funnelshift_r(words[0], words[1], shift) : words[0];
}

__device__ inline int load_i32(const unsigned char* data, long long at) {
    return (int)load_u32(data, at);
}

__device__ inline unsigned load_u16(const unsigned char* data, long long at) {
    return data[at] | (unsigned)data[at + 1] << 8;
}

__device__ inline void store_u32(unsigned char* out, long long at, unsigned value) {
    for (int k = 0; k < 4; ++k) out[at + k] = (unsigned char)(value >> 8 * k);
}
