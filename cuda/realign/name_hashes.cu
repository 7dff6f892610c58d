// Hashes of the names of reads: the same as name_hash of hapgpu/realign/projection/moves.py.

#include "common/grid.cuh"

// FNV-1a, with well-mixed leading bits; a thread per name.
extern "C" __global__ void __launch_bounds__(128) name_hashes(
    const unsigned char* data, const long long* starts, const int* lengths,
    unsigned long long* hashes, long long /* bytes of data */, int count
) {
    for (int row = first_thread(); row < count; row += all_threads()) {
        const unsigned char* name = data + starts[row];
        unsigned long long value = 0xCBF29CE484222325ull;
        for (int k = 0; k < lengths[row]; ++k) value = (value ^ name[k]) * 0x100000001B3ull;
        value ^= value >> 32;
        hashes[row] = value * 0x9E3779B97F4A7C15ull;
    }
}
