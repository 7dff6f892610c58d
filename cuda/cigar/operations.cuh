// What the operations of CIGARs consume (hapgpu/cigar/encoding.py).

#include "common/cigar.cuh"

constexpr unsigned kOnQuery = 1u << kM | 1u << kI | 1u << kS | 1u << kEqual | 1u << kDifferent;
constexpr unsigned kOnReference = 1u << kM | 1u << kD | 1u << kN | 1u << kEqual | 1u << kDifferent;

// Lengths are sums of elements in some places, and then exceed those of BAM: 64 bits.
__device__ inline long long length_of(long long element) { return element >> 4; }
__device__ inline unsigned operation_of(long long element) { return element & 15; }

__device__ inline bool consumes_query(unsigned operation) { return kOnQuery >> operation & 1; }
__device__ inline bool consumes_reference(unsigned operation) {
    return kOnReference >> operation & 1;
}
__device__ inline bool is_alignment(unsigned operation) {
    return (kOnQuery & kOnReference) >> operation & 1;
}
__device__ inline bool is_clip(unsigned operation) { return operation == kS || operation == kH; }
