// Operations of CIGARs as text; same as hapgpu/longread/output/cigars.py.

#include "longread/lines/chunk.cuh"

namespace {

constexpr int kThreads = 128;

// Writes an operation as in CIGAR, or as in the tag CG.
template <typename Out>
__device__ inline void put_operation(Out& out, unsigned word, bool is_number) {
    if (is_number) {
        out.put(',');
        out.number(word);
    } else {
        out.number(word >> 4);
        out.put(operation_letter(word & 15));
    }
}

}  // namespace

// Measures the bases and the text of each chunk; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads) measure_operations(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form,
    const __grid_constant__ Chunks chunks, const Slot* slots
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        const Mapping& mapping = mapping_of(block, chunks, slots, chunk);
        const LaneOperation operation = operation_of(block, chunks, mapping, chunk);
        const int length = block.spans.lengths[slots[chunks.slots[chunk]].read];
        Counter counter;
        if (operation.is_any && form.has_cigar) {
            put_operation(counter, operation.word, is_moved(mapping, length, form));
        }
        int queries, targets, bytes;
        sum_before(operation.query_bases(), queries);
        sum_before(operation.target_bases(), targets);
        sum_before((int)counter.size, bytes);
        if (lane_id() == 0) {
            chunks.queries[chunk] = queries;
            chunks.targets[chunk] = targets;
            chunks.operations[chunk] = bytes;
        }
    }
}

// Sums over the chunks of each slot; one warp per slot.
extern "C" __global__ void __launch_bounds__(kThreads) sum_operations(
    const __grid_constant__ Chunks chunks, Slot* slots, long long slot_count
) {
    for (long long slot = first_warp(); slot < slot_count; slot += all_warps()) {
        const long long end = chunks.offsets[slot + 1];
        int query = 0, target = 0;
        long long bytes = 0;
        for (long long first = chunks.offsets[slot]; first < end; first += kWarpLanes) {
            const long long chunk = first + lane_id();
            const bool is_any = chunk < end;
            int queries, targets;
            long long all_bytes;
            const int queries_before = sum_before(is_any ? chunks.queries[chunk] : 0, queries);
            const int targets_before = sum_before(is_any ? chunks.targets[chunk] : 0, targets);
            const long long bytes_before =
                sum_before(is_any ? chunks.operations[chunk] : 0ll, all_bytes);
            if (is_any) {
                chunks.queries[chunk] = query + queries_before;
                chunks.targets[chunk] = target + targets_before;
                chunks.operations[chunk] = bytes + bytes_before;
            }
            query += queries;
            target += targets;
            bytes += all_bytes;
        }
        if (lane_id() == 0) slots[slot].operation_bytes = bytes;
    }
}

// Writes the text of each chunk; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads) write_operations(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form,
    const __grid_constant__ Chunks chunks, const Slot* slots, const long long* line_offsets,
    unsigned char* lines
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        const long long slot = chunks.slots[chunk];
        const Mapping& mapping = mapping_of(block, chunks, slots, chunk);
        const LaneOperation operation = operation_of(block, chunks, mapping, chunk);
        const bool moved = is_moved(mapping, block.spans.lengths[slots[slot].read], form);
        Counter counter;
        if (operation.is_any) put_operation(counter, operation.word, moved);
        int total;
        const int before = sum_before((int)counter.size, total);
        Writer writer{
            lines + line_offsets[slot] + slots[slot].operations + chunks.operations[chunk] + before
        };
        if (operation.is_any) put_operation(writer, operation.word, moved);
    }
}
