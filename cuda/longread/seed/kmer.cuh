// K-mers as in minimap2 (Li 2018): the smaller strand, hashed. Same as
// hapgpu/longread/index/kmers.py.

using Entry = unsigned long long;

// A k-mer in a slot: (hash << 8 | span) - 1, so that the following values are never a k-mer's.
constexpr Entry kBroken = ~0ull;      // fewer than k bases since an ambiguous base or the start
constexpr Entry kUnused = ~0ull - 1;  // a k-mer that spans more than kLongestSpan bases
constexpr int kSpanBits = 8;
constexpr int kLongestSpan = 255;
constexpr int kAmbiguous = 4;
// As in hapgpu/longread/index/minimizer_index.py.
constexpr unsigned long long kMix = 0x9e3779b97f4a7c15;

// 0 to 3 for A, C, G, T or U of either case, 4 for every other byte.
__device__ inline int base_code(unsigned byte) {
    constexpr unsigned kLetters = 1u << ('A' - 'A') | 1u << ('C' - 'A') | 1u << ('G' - 'A') |
                                  1u << ('T' - 'A') | 1u << ('U' - 'A');
    const unsigned letter = (byte & ~0x20u) - 'A';
    const bool is_base = letter < 26 && (kLetters >> letter & 1);
    return is_base ? (byte >> 1 & 3) ^ (byte >> 2 & 1) : kAmbiguous;
}

// T. Wang's hash, invertible on numbers below 2**(2k).
__device__ inline unsigned long long mixed(unsigned long long kmer, unsigned long long mask) {
    kmer = (~kmer + (kmer << 21)) & mask;
    kmer ^= kmer >> 24;
    kmer = kmer * 265 & mask;
    kmer ^= kmer >> 14;
    kmer = kmer * 21 & mask;
    kmer ^= kmer >> 28;
    return (kmer + (kmer << 31)) & mask;
}

__device__ inline Entry entry_of(unsigned long long kmer, int k, int span) {
    return (mixed(kmer, (1ull << 2 * k) - 1) << kSpanBits | span) - 1;
}
