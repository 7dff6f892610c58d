// CRC-32 of gzip: the remainder of the bytes as a polynomial, bits reflected.

typedef unsigned char u8;
typedef unsigned int u32;

constexpr int kWarps = 4;
constexpr u32 kPolynomial = 0xedb88320u;
constexpr u32 kOne = 0x80000000u;   // the polynomial 1
constexpr u32 kByte = 0x00800000u;  // the polynomial x^8

// a * b modulo the polynomial.
__device__ inline u32 product(u32 a, u32 b) {
    u32 sum = 0;
    for (int k = 31; k >= 0; --k) {
        if (a >> k & 1) sum ^= b;
        b = b & 1 ? b >> 1 ^ kPolynomial : b >> 1;
    }
    return sum;
}

// x to the power of 8 * bytes.
__device__ inline u32 power(u32 bytes) {
    u32 result = kOne;
    for (u32 square = kByte; bytes; bytes >>= 1) {
        if (bytes & 1) result = product(result, square);
        square = product(square, square);
    }
    return result;
}

// tables[j][k]: the remainder of the byte k with j bytes behind it.
__device__ inline void make_tables(u32 (*tables)[256]) {
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        u32 value = k;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ kPolynomial : value >> 1;
        tables[0][k] = value;
    }
    __syncthreads();
    for (int j = 1; j < 4; ++j) {
        for (int k = threadIdx.x; k < 256; k += blockDim.x) {
            const u32 before = tables[j - 1][k];
            tables[j][k] = before >> 8 ^ tables[0][before & 255];
        }
        __syncthreads();
    }
}

__device__ inline u32 with_byte(u32 sum, u8 byte, const u32 (*tables)[256]) {
    return sum >> 8 ^ tables[0][(sum ^ byte) & 255];
}

__device__ inline u32 remainder(const u8* at, const u8* stop, u32 sum, const u32 (*tables)[256]) {
    for (; at < stop && ((unsigned long long)at & 3); ++at) sum = with_byte(sum, *at, tables);
    for (; at + 4 <= stop; at += 4) {
        sum ^= *(const u32*)at;
        sum = tables[3][sum & 255] ^ tables[2][sum >> 8 & 255] ^ tables[1][sum >> 16 & 255]
            ^ tables[0][sum >> 24];
    }
    for (; at < stop; ++at) sum = with_byte(sum, *at, tables);
    return sum;
}

// Compare the CRC-32 of inflated blocks, block k at data[offsets[k]] to data[offsets[k + 1]], with
// the right ones. A warp a block: each lane takes a 32nd, and multiplies by what lies behind it.
extern "C" __global__ void __launch_bounds__(32 * kWarps) check_sums(
    const u8* data,
    const long long* offsets,
    const u32* sums,
    int* verdicts,
    int* fault,
    int blocks
) {
    __shared__ u32 tables[4][256];
    make_tables(tables);
    const int block = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (block >= blocks) return;
    const long long begin = offsets[block];
    const u32 size = (u32)(offsets[block + 1] - begin);
    const u32 share = size / 32 & ~3u;
    const u32 first = lane * share, end = lane == 31 ? size : first + share;
    u32 sum = remainder(data + begin + first, data + begin + end, lane ? 0 : ~0u, tables);
    sum = product(power(size - end), sum);
    for (int k = 16; k; k /= 2) sum ^= __shfl_xor_sync(~0u, sum, k);
    if (lane == 0 && ~sum != sums[block]) {
        verdicts[block] = 1;
        *fault = 1;
    }
}
