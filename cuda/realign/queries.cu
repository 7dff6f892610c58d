// Bases of BAM records as letters, in one orientation or both (hapgpu/realign/selection/cuda.py).

#include "common/warp.cuh"
#include "io/bam/bases.cuh"

// Writes the bases of query k, those of read reads[k], to out[offsets[k]]; a warp per query. The
// queries from `n_reads` on are reversed and complemented.
extern "C" __global__ void unpack_queries(
    const unsigned char* data,
    const long long* base_starts,
    const long long* reads,
    const long long* offsets,
    long long size,
    int n_reads,
    int queries,
    long long total,
    unsigned char* out
) {
    const int warps = gridDim.x * blockDim.x / kWarpLanes;
    int query = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    for (; query < queries; query += warps) {
        const long long to = offsets[query];
        const int count = (int)(offsets[query + 1] - to);
        const unsigned char* bases = data + base_starts[reads[query]];
        const bool is_reversed = query >= n_reads;
        for (int k = lane_id(); k < count; k += kWarpLanes) {
            const int base = is_reversed ? count - 1 - k : k;
            const unsigned code = base_code(bases, base);
            out[to + k] = letter_of(is_reversed ? complement_of(code) : code);
        }
    }
}
