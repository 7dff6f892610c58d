// Bases of BAM records as letters, in one orientation or both (hapgpu/realign/selection/cuda.py).

#include "common/grid.cuh"
#include "io/bam/bases.cuh"
#include "io/bam/records.cuh"

// Writes the bases of query k, those of read reads[k], to out[offsets[k]]; a warp per query. The
// queries after those of all records are reversed and complemented.
extern "C" __global__ void unpack_queries(
    Records records, const long long* reads, const long long* offsets, unsigned char* out,
    int queries
) {
    for (int query = first_warp(); query < queries; query += all_warps()) {
        const long long to = offsets[query], read = reads[query];
        const int count = records.base_counts[read];
        // The bases are followed by as many qualities, and these by the tags.
        const unsigned char* bases =
            records.data + records.tag_starts[read] - count - (count + 1ll) / 2;
        const bool is_reversed = query >= records.count;
        for (int k = lane_id(); k < count; k += kWarpLanes) {
            const int base = is_reversed ? count - 1 - k : k;
            const unsigned code = base_code(bases, base);
            out[to + k] = letter_of(is_reversed ? complement_of(code) : code);
        }
    }
}
