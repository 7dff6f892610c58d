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

// Reads in a text; `ends[i]` is the number of bases of the reads up to read i.
struct TextReads {
    const unsigned char* text;
    const int* base_starts;
    const int* lengths;
    const long long* ends;
    int reads;

    __device__ long long start(int read) const {
        return kStored + 2 * (ends[read] - lengths[read]);
    }
    // The read of a code; not a read without bases.
    __device__ int at(long long code) const {
        return count_at_most(ends, reads, (code - kStored) >> 1);
    }
};

// One read of them.
struct TextRead {
    const unsigned char* bases;
    long long start, length;

    __device__ TextRead(const TextReads& all, int read)
        : bases(all.text + all.base_starts[read]), start(all.start(read)),
          length(all.lengths[read]) {}

    // The code at `at` among the codes of all reads.
    __device__ unsigned char code(long long at) const {
        const long long k = at - start;
        const unsigned base = k < length ? bases[k] : bases[2 * length - 1 - k];
        const unsigned code = codes_of(base) & 0xff;
        return (unsigned char)(k < length || code == kAmbiguous ? code : 3 - code);
    }
};

}  // namespace

// Codes of the reads and of their reverse complements, and where they start; one thread per 16
// codes.
extern "C" __global__ void __launch_bounds__(128) code_strands(
    const __grid_constant__ TextReads texts, long long* starts, unsigned char* codes,
    long long size
) {
    for (int read = first_thread(); read < texts.reads; read += all_threads()) {
        starts[read] = texts.start(read);
    }
    const long long stride = (long long)all_threads() * kStored;
    for (long long at = (long long)first_thread() * kStored; at < size; at += stride) {
        if (at < kStored) {
            for (int k = 0; k < kStored; ++k) codes[k] = kAmbiguous;
            continue;
        }
        TextRead read(texts, texts.at(at));
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
            if (own - read.start >= 2 * read.length) read = TextRead(texts, texts.at(own));
            codes[own] = read.code(own);
        }
    }
}
