// Haplotypes with flanks of the reference (hapgpu/haplotypes/pairing/cuda.py).

#include "common/grid.cuh"
#include "common/rows.cuh"

// Columns of DeviceExtended of hapgpu/haplotypes/pairing/cuda.py: a haplotype, the window of the
// reference that it is in, and the bases of the window before and after it.
struct Extended {
    const int* haplotypes;
    const int* windows;
    const long long* left_flanks;
    const long long* right_flanks;
    int count;
};

__device__ inline void copy(const unsigned char* from, unsigned char* to, long long length) {
    for (long long k = lane_id(); k < length; k += kWarpLanes) to[k] = from[k];
}

// Writes each haplotype between its flanks; a warp per extended haplotype.
extern "C" __global__ void join_haplotypes(
    Rows<unsigned char> sequences, Rows<unsigned char> references, Extended extended,
    const long long* offsets, unsigned char* out
) {
    for (int row = first_warp(); row < extended.count; row += all_warps()) {
        const int haplotype = extended.haplotypes[row], window = extended.windows[row];
        const long long left = extended.left_flanks[row], right = extended.right_flanks[row];
        const long long core_size = sequences.size(haplotype);
        unsigned char* to = out + offsets[row];
        copy(references.at(window), to, left);
        copy(sequences.at(haplotype), to + left, core_size);
        copy(references.at(window + 1) - right, to + left + core_size, right);
    }
}
