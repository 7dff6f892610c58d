// Hashes of the names of reads: the same as name_hash of hapgpu/realign/projection/moves.py.

#include "common/grid.cuh"
#include "io/bam/record.cuh"
#include "io/bam/records.cuh"

// FNV-1a, with well-mixed leading bits; a thread per name.
extern "C" __global__ void __launch_bounds__(128) name_hashes(
    Records records, unsigned long long* hashes
) {
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        const unsigned char* name = records.data + records.starts[row] + kFixedBytes;
        unsigned long long value = 0xCBF29CE484222325ull;
        for (int k = 0; k < records.name_lengths[row]; ++k) {
            value = (value ^ name[k]) * 0x100000001B3ull;
        }
        value ^= value >> 32;
        hashes[row] = value * 0x9E3779B97F4A7C15ull;
    }
}
