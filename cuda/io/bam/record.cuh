// Fields of BAM records, as `hapgpu/io/bam/{constants,tags}.py` have them.

#include "common/bytes.cuh"

constexpr int kFixedBytes = 36;  // before the name, `block_size` included
constexpr unsigned kQueryOperations = 0b110010011;
constexpr unsigned kReferenceOperations = 0b110001101;
constexpr unsigned kLastOperation = 8, kSoftClip = 4, kSkip = 3;
constexpr int kUnmapped = 4;

__device__ inline bool is_contig(int number, int contigs) {
    return number >= -1 && number < contigs;
}
