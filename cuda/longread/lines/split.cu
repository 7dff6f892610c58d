// Operations M split into = and X; same as split_matches of hapgpu/longread/output/cigars.py.

#include "longread/lines/codes.cuh"

namespace {

constexpr int kThreads = 128;

// Calls `use` with the operations into which one is split.
template <typename Use>
__device__ inline void for_each_split(const LaneOperation& operation, Use use) {
    if (!operation.is_any) return;
    if (operation.kind() != kM) return use(operation.word);
    const unsigned char* queries = operation.queries + operation.query;
    const unsigned char* targets = operation.targets + operation.target;
    const int length = (int)operation.length();
    for (int k = 0; k < length;) {
        const int equal = (int)match_length(queries + k, targets + k, length - k);
        if (equal) use(cigar_run(equal, kEqual));
        k += equal;
        const int start = k;
        while (k < length && queries[k] != targets[k]) ++k;
        if (k > start) use(cigar_run(k - start, kDifferent));
    }
}

}  // namespace

// Counts the split operations of each chunk: counts[c + 1] is that of chunk c; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads) count_splits(
    const __grid_constant__ LineBlock block, const __grid_constant__ Chunks chunks,
    const Slot* slots, long long* counts
) {
    if (first_thread() == 0) counts[0] = 0;
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        long long count = 0, total;
        for_each_split(
            placed_operation(block, chunks, slots, chunk), [&](unsigned) { ++count; }
        );
        sum_before(count, total);
        if (lane_id() == 0) counts[chunk + 1] = total;
    }
}

// Writes the split operations, those of each chunk at its offset; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads) write_splits(
    const __grid_constant__ LineBlock block, const __grid_constant__ Chunks chunks,
    const Slot* slots, const long long* offsets, unsigned* operations
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        const LaneOperation operation = placed_operation(block, chunks, slots, chunk);
        long long count = 0, total;
        for_each_split(operation, [&](unsigned) { ++count; });
        unsigned* out = operations + offsets[chunk] + sum_before(count, total);
        for_each_split(operation, [&](unsigned word) { *out++ = word; });
    }
}

// Gives the mappings that are printed their split operations; one thread per slot.
extern "C" __global__ void __launch_bounds__(kThreads) use_splits(
    const long long* chunk_offsets, const Slot* slots, const long long* offsets, Mapping* mappings,
    long long slot_count
) {
    for (long long slot = first_thread(); slot < slot_count; slot += all_threads()) {
        const long long start = chunk_offsets[slot], end = chunk_offsets[slot + 1];
        if (start == end) continue;
        Mapping& mapping = mappings[slot - slots[slot].read - 1];
        mapping.first_operation = offsets[start];
        mapping.operations = (int)(offsets[end] - offsets[start]);
    }
}
