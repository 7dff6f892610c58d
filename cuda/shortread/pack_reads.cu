// Reads packed into bit planes, both strands.

#include "shortread/packing.cuh"

extern "C" __global__ void __launch_bounds__(256) count_words(
    const int* lengths, long long* word_counts, int reads
) {
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read == 0) word_counts[0] = 0;
    if (read < reads) word_counts[read + 1] = (lengths[read] + kWordBits - 1) / kWordBits;
}

// Eight lanes per read.
extern "C" __global__ void __launch_bounds__(256) pack_reads(
    Text text, const int* starts, const int* lengths, const long long* word_ends,
    int* word_offsets, Word* words, int reads
) {
    const int read = (blockIdx.x * blockDim.x + threadIdx.x) / kGroup;
    int start = 0, length = 0, count = 0;
    Word* target = words;
    if (read < reads) {
        length = lengths[read];
        start = starts[read];
        const int first_word = (int)word_ends[read];
        count = (int)word_ends[read + 1] - first_word;
        target += kPlanes * 2ll * first_word;
        if (lane_id() % kGroup == 0) {
            word_offsets[read] = first_word;
            if (read == reads - 1) word_offsets[reads] = first_word + count;
        }
    }
    pack_read(text, start, length, count, target);
}
