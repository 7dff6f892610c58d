// Hashes that break ties between chains: hapgpu/longread/mappings/mappings.py.

namespace {

using Word = unsigned long long;

// Thomas Wang's hashes of 32 and 64 bits.
__device__ inline unsigned mixed(unsigned key) {
    key += ~(key << 15);
    key ^= key >> 10;
    key += key << 3;
    key ^= key >> 6;
    key += ~(key << 11);
    return key ^ key >> 16;
}

__device__ inline Word mixed(Word key) {
    key = ~key + (key << 21);
    key ^= key >> 24;
    key *= 265;
    key ^= key >> 14;
    key *= 21;
    key ^= key >> 28;
    return key + (key << 31);
}

// Hash of the first anchor of a chain and of the name of its read.
__device__ inline unsigned tie_breaker(Word first_x, Word first_y, unsigned name_hash) {
    return (unsigned)mixed(mixed(first_x) + mixed(first_y) ^ name_hash);
}

}  // namespace
