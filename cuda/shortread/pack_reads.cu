// Reads packed into bit planes, both strands: one warp per read, one ballot per plane and 32 bases.
// Same as hapgpu/shortread/search/packed_reads.py.

#include "common/warp.cuh"
#include "shortread/fm_index.cuh"
#include "shortread/packed_reads.cuh"

// Returns 0 to 3 for A, C, G, T of either case, 4 for every other byte.
__device__ inline int base_code(unsigned letter) {
    switch (letter & ~0x20u) {
        case 'A': return 0;
        case 'C': return 1;
        case 'G': return 2;
        case 'T': return 3;
        default: return 4;
    }
}

extern "C" __global__ void __launch_bounds__(256) count_words(
    const int* lengths, long long* word_counts, int reads
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read == 0) word_counts[0] = 0;
    if (read < reads) word_counts[read + 1] = (lengths[read] + kWordBits - 1) / kWordBits;
}

extern "C" __global__ void __launch_bounds__(256) pack_reads(
    const unsigned char* text, const int* starts, const int* lengths, const long long* word_ends,
    int* word_offsets, Word* words, int reads
) {
    const int read = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    const int lane = lane_id();
    if (read >= reads) return;
    const int length = lengths[read];
    const int first_word = (int)word_ends[read];
    const int count = (int)word_ends[read + 1] - first_word;
    if (lane == 0) {
        word_offsets[read] = first_word;
        if (read == reads - 1) word_offsets[reads] = first_word + count;
    }
    const unsigned char* bases = text + starts[read];
    Word* target = words + kPlanes * 2ll * first_word;
    for (int strand = 0; strand < 2; ++strand) {
        for (int word = 0; word < count; ++word) {
            Word planes[kPlanes] = {};
            for (int half = 0; half < 2; ++half) {
                const int offset = word * kWordBits + half * kWarpLanes + lane;
                const bool is_used = offset < length;
                int code = 0;
                if (is_used) code = base_code(bases[strand ? length - 1 - offset : offset]);
                if (is_used && strand) code ^= 3;
                for (int plane = 0; plane < kPlanes; ++plane) {
                    const Word bits = __ballot_sync(kAllLanes, code >> plane & 1);
                    planes[plane] |= bits << half * kWarpLanes;
                }
            }
            if (lane < kPlanes) {
                target[lane] = lane == 0 ? planes[0] : lane == 1 ? planes[1] : planes[2];
            }
            target += kPlanes;
        }
    }
}
