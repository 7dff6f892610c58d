// Codes of the bases of reads: same as hapgpu/longread/align/start.py.

#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "longread/align/rows.cuh"

namespace {

constexpr int kStored = 16;  // bytes of a store; also of the padding
constexpr unsigned kOnes = 0x01010101u;

// Four words of bases.
struct Bases {
    unsigned words[kStored / 4];
};

// Loads 16 bytes from anywhere; the words that they lie in are of the same allocation.
__device__ inline Bases load_bases(const unsigned char* bytes) {
    const unsigned long long address = (unsigned long long)bytes;
    const unsigned* from = (const unsigned*)(address & ~3ull);
    const unsigned shift = 8 * (address & 3);
    unsigned aligned[5] = {from[0], from[1], from[2], from[3], 0};
    if (shift) aligned[4] = from[4];
    Bases bases;
    for (int k = 0; k < 4; ++k) {
        bases.words[k] = __funnelshift_r(aligned[k], aligned[k + 1], shift);
    }
    return bases;
}

// Codes of 4 bases, as `CODES` has them: A, C, G and T or U of either case as 0 to 3, others as 4.
__device__ inline unsigned codes_of(unsigned bases) {
    const unsigned codes = (bases >> 1 ^ bases >> 2) & 3 * kOnes;
    const unsigned low = codes & kOnes, high = codes >> 1 & kOnes, both = low & high;
    // Letters with these codes; the lowest bit of T is cleared in U.
    const unsigned letters = 'A' * kOnes + 2 * low + 6 * high + ('T' - 'A' - 8) * both;
    const unsigned others = (bases & 0xdfdfdfdfu & ~both) ^ letters;
    const unsigned is_other = (((others & 0x7f7f7f7fu) + 0x7f7f7f7fu | others) >> 7) & kOnes;
    return (codes & ~(3 * is_other)) | is_other * kAmbiguous;
}

// Codes of the complements of 4 bases, in reverse order.
__device__ inline unsigned reverse_complement(unsigned codes) {
    const unsigned is_base = ~(codes >> 2) & kOnes;
    const unsigned complement = codes ^ 3 * is_base;
    return complement >> 24 | (complement >> 8 & 0xff00u) | (complement & 0xff00u) << 8
        | complement << 24;
}

// A read in the text.
struct TextRead {
    const unsigned char* bases;
    long long start;
    int length;

    // The code at `at` among the codes of all reads.
    __device__ unsigned char code(long long at) const {
        const long long k = at - start;
        const bool is_forward = k < length;
        const unsigned code = codes_of(bases[is_forward ? k : 2ll * length - 1 - k]) & 0xff;
        return (unsigned char)(is_forward || code == kAmbiguous ? code : 3 - code);
    }
};

}  // namespace

// Codes of the reads and of their reverse complements; one thread per 16 codes.
extern "C" __global__ void __launch_bounds__(128) code_strands(
    const unsigned char* text, const int* base_starts, const int* lengths, const long long* starts,
    unsigned char* codes, long long size, int reads
) {
    const long long stride = (long long)all_threads() * kStored;
    for (long long at = (long long)first_thread() * kStored; at < size; at += stride) {
        if (at < kStored) {
            for (int k = 0; k < kStored; ++k) codes[at + k] = kAmbiguous;
            continue;
        }
        // Of reads without bases, which start where the next one does, none is found.
        int number = count_at_most(starts, reads, at) - 1;
        TextRead read{text + base_starts[number], starts[number], lengths[number]};
        const long long k = at - read.start, length = read.length;
        const bool is_forward = k + kStored <= length;
        if (is_forward || (k >= length && k + kStored <= 2 * length)) {
            const Bases bases =
                load_bases(read.bases + (is_forward ? k : 2 * length - k - kStored));
            int words[4];
            for (int word = 0; word < 4; ++word) {
                words[word] = is_forward ? codes_of(bases.words[word])
                                         : reverse_complement(codes_of(bases.words[3 - word]));
            }
            *(int4*)(codes + at) = {words[0], words[1], words[2], words[3]};
            continue;
        }
        const long long end = min(at + kStored, size);
        for (long long own = at; own < end; ++own) {
            while (own - read.start >= 2ll * read.length) {
                ++number;
                read = {text + base_starts[number], starts[number], lengths[number]};
            }
            codes[own] = read.code(own);
        }
    }
}
