#include "io/bgzf/inflate.cuh"

constexpr int kWarps = 4;

// Inflate BGZF blocks; a warp a block. Block k goes to out[offsets[k]] to out[offsets[k + 1]];
// `verdicts` gets 1 for a block that is damaged, and `fault` is set.
// 40 registers let 12 thread blocks share a multiprocessor: more do not gain, fewer lose.
extern "C" __global__ void __launch_bounds__(32 * kWarps, 12) inflate_blocks(
    const u8* packed,
    const long long* starts,
    const int* sizes,
    const long long* offsets,
    u8* out,
    int* verdicts,
    int* fault,
    int blocks
) {
    __shared__ Tables tables[kWarps];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int block = blockIdx.x * kWarps + warp;
    if (block >= blocks) return;
    const long long to = offsets[block];
    const u32 size = (u32)(offsets[block + 1] - to);
    const bool is_sound = inflate(packed + starts[block], (u32)sizes[block], out + to, size,
                                  tables[warp], lane);
    if (lane == 0) {
        verdicts[block] = !is_sound;
        if (!is_sound) *fault = 1;
    }
}
