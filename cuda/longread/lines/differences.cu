// Values of the tags MD, cs and ds; same as hapgpu/longread/output/tags.py.

#include "longread/lines/codes.cuh"

namespace {

constexpr int kThreads = 128;

// Writes aligned bases as cs has them.
template <typename Out>
__device__ void put_aligned(
    Out& out, const unsigned char* queries, const unsigned char* targets, int length, bool is_long
) {
    for (int k = 0; k < length;) {
        const int run = (int)match_length(queries + k, targets + k, length - k);
        if (run && is_long) {
            out.put('=');
            put_letters(out, queries + k, run, kUpperCase);
        } else if (run) {
            out.put(':');
            out.number((unsigned)run);
        }
        k += run;
        for (; k < length && queries[k] != targets[k]; ++k) {
            out.put('*');
            out.put(letter_of(targets[k], kLowerCase));
            out.put(letter_of(queries[k], kLowerCase));
        }
    }
}

template <typename Out>
__device__ void put_bracketed(Out& out, const unsigned char* codes, long long length) {
    if (length == 0) return;
    out.put('[');
    put_letters(out, codes, length, kLowerCase);
    out.put(']');
}

// Writes the bases of a gap at `start` of `size` aligned codes, with those that it can move over in
// brackets.
template <typename Out>
__device__ void put_gap(
    Out& out, const unsigned char* codes, long long size, long long start, long long length
) {
    const long long end = start + length;
    const unsigned char* gap = codes + start;
    const long long left = backward_match_length(gap - 1, codes + end - 1, start);
    const long long right = match_length(gap, codes + end, size - end);
    if (left + right >= length) {
        out.put('[');
        put_letters(out, gap, length, kLowerCase);
        return out.put(']');
    }
    put_bracketed(out, gap, right);
    put_letters(out, gap + right, length - left - right, kLowerCase);
    put_bracketed(out, gap + length - left, left);
}

// Writes an operation as cs or ds has it.
template <typename Out>
__device__ void put_cs(Out& out, const LaneOperation& operation, int tag) {
    const int length = (int)operation.length();
    const bool is_insertion = operation.kind() == kI;
    const unsigned char* queries = operation.queries + operation.query;
    const unsigned char* targets = operation.targets + operation.target;
    if (!operation.is_any) return;
    if (!is_insertion && operation.kind() != kD) {
        return put_aligned(out, queries, targets, length, tag == kTagLongCs);
    }
    out.put(is_insertion ? '+' : '-');
    if (tag != kTagDs) {
        put_letters(out, is_insertion ? queries : targets, length, kLowerCase);
    } else if (is_insertion) {
        put_gap(out, operation.queries, operation.query_size, operation.query, length);
    } else {
        put_gap(out, operation.targets, operation.target_size, operation.target, length);
    }
}

// Some operations in MD: bytes without the number before the first difference, equal bases before
// it, and equal bases after the last difference. Without a difference, `trail` is -1 and `lead` has
// all equal bases.
struct MdPart {
    long long bytes;
    int lead, trail;

    __device__ bool has_any() const { return trail >= 0; }

    // Bytes after a number of equal bases.
    __device__ long long bytes_after(int run) const {
        return has_any() ? bytes + digits_of((unsigned)(run + lead)) : 0;
    }
};

__device__ MdPart md_part(const LaneOperation& operation) {
    MdPart part{0, 0, -1};
    if (!operation.is_any || operation.kind() == kI) return part;
    const int length = (int)operation.length();
    if (operation.kind() == kD) return MdPart{1 + length, 0, 0};
    const unsigned char* queries = operation.queries + operation.query;
    const unsigned char* targets = operation.targets + operation.target;
    for (int k = 0; k < length;) {
        const int run = (int)match_length(queries + k, targets + k, length - k);
        k += run;
        if (k == length) {
            (part.has_any() ? part.trail : part.lead) = run;
            break;
        }
        if (part.has_any()) {
            part.bytes += digits_of((unsigned)run);
        } else {
            part.lead = run;
        }
        part.trail = 0;
        ++part.bytes;
        ++k;
    }
    return part;
}

// Writes an operation in MD, after a number of equal bases.
__device__ void put_md(Writer& out, const LaneOperation& operation, int run) {
    const unsigned char* queries = operation.queries + operation.query;
    const unsigned char* targets = operation.targets + operation.target;
    const int length = (int)operation.length();
    if (!operation.is_any || operation.kind() == kI) return;
    if (operation.kind() == kD) {
        out.number((unsigned)run);
        out.put('^');
        return put_letters(out, targets, length, kUpperCase);
    }
    for (int k = 0; k < length; ++k) {
        const int equal = (int)match_length(queries + k, targets + k, length - k);
        run += equal;
        k += equal;
        if (k == length) break;
        out.number((unsigned)run);
        out.put(letter_of(targets[k], kUpperCase));
        run = 0;
    }
}

// Equal bases since the last difference, before the part of each lane and after all parts.
struct MdRuns {
    int before, after;
    bool has_any_before;  // a difference in a lower lane
    bool has_any;         // in any lane
};

__device__ MdRuns runs_of(const MdPart& part, int carried) {
    int run = part.has_any() ? part.trail : part.lead;
    bool has_any = part.has_any();
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        const int other = __shfl_up_sync(kAllLanes, run, distance);
        const bool has_other = __shfl_up_sync(kAllLanes, (int)has_any, distance);
        if (lane_id() >= distance && !has_any) {
            run += other;
            has_any = has_other;
        }
    }
    if (!has_any) run += carried;
    MdRuns runs;
    runs.before = __shfl_up_sync(kAllLanes, run, 1);
    runs.has_any_before = __shfl_up_sync(kAllLanes, (int)has_any, 1);
    if (lane_id() == 0) {
        runs.before = carried;
        runs.has_any_before = false;
    }
    runs.after = __shfl_sync(kAllLanes, run, kWarpLanes - 1);
    runs.has_any = __shfl_sync(kAllLanes, (int)has_any, kWarpLanes - 1);
    return runs;
}

}  // namespace

// Measures cs or ds of each chunk; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads) measure_cs(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form,
    const __grid_constant__ Chunks chunks, const Slot* slots
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        Counter counter;
        put_cs(counter, placed_operation(block, chunks, slots, chunk), form.difference);
        long long bytes;
        sum_before(counter.size, bytes);
        if (lane_id() == 0) chunks.differences[chunk] = bytes;
    }
}

// Measures MD of each chunk; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads) measure_md(
    const __grid_constant__ LineBlock block, const __grid_constant__ Chunks chunks,
    const Slot* slots
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        const MdPart part = md_part(placed_operation(block, chunks, slots, chunk));
        const MdRuns runs = runs_of(part, 0);
        const unsigned differing = __ballot_sync(kAllLanes, part.has_any());
        const int first = differing ? __ffs(differing) - 1 : 0;
        const int lead = __shfl_sync(kAllLanes, runs.before + part.lead, first);
        long long bytes;
        sum_before(runs.has_any_before ? part.bytes_after(runs.before) : part.bytes, bytes);
        if (lane_id() == 0) {
            chunks.differences[chunk] = bytes;
            chunks.leads[chunk] = runs.has_any ? lead : runs.after;
            chunks.trails[chunk] = runs.has_any ? runs.after : -1;
        }
    }
}

// Sums over the chunks of each slot; one warp per slot.
extern "C" __global__ void __launch_bounds__(kThreads) sum_differences(
    const __grid_constant__ Chunks chunks, Slot* slots, int is_md, long long slot_count
) {
    for (long long slot = first_warp(); slot < slot_count; slot += all_warps()) {
        const long long end = chunks.offsets[slot + 1];
        long long bytes = 0;
        int run = 0;
        for (long long first = chunks.offsets[slot]; first < end; first += kWarpLanes) {
            const long long chunk = first + lane_id();
            const bool is_any = chunk < end;
            long long size = is_any ? chunks.differences[chunk] : 0;
            if (is_md) {
                MdPart part{size, 0, -1};
                if (is_any) {
                    part.lead = chunks.leads[chunk];
                    part.trail = chunks.trails[chunk];
                }
                const MdRuns runs = runs_of(part, run);
                size = part.bytes_after(runs.before);
                run = runs.after;
                if (is_any) chunks.leads[chunk] = runs.before;
            }
            long long all_bytes;
            const long long before = sum_before(size, all_bytes);
            if (is_any) chunks.differences[chunk] = bytes + before;
            bytes += all_bytes;
        }
        if (lane_id() == 0) {
            slots[slot].difference_bytes = bytes;
            slots[slot].run = run;
        }
    }
}

// Writes cs or ds of each chunk; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads, 5) write_cs(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form,
    const __grid_constant__ Chunks chunks, const Slot* slots, const long long* line_offsets,
    unsigned char* lines
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        const long long slot = chunks.slots[chunk];
        const LaneOperation operation = placed_operation(block, chunks, slots, chunk);
        Counter counter;
        put_cs(counter, operation, form.difference);
        long long total;
        const long long before = sum_before(counter.size, total) + chunks.differences[chunk];
        Writer writer{lines + line_offsets[slot] + slots[slot].differences + before};
        put_cs(writer, operation, form.difference);
    }
}

// Writes MD of each chunk; one warp per chunk.
extern "C" __global__ void __launch_bounds__(kThreads, 6) write_md(
    const __grid_constant__ LineBlock block, const __grid_constant__ Chunks chunks,
    const Slot* slots, const long long* line_offsets, unsigned char* lines
) {
    for (long long chunk = first_warp(); chunk < chunks.count; chunk += all_warps()) {
        const long long slot = chunks.slots[chunk];
        const LaneOperation operation = placed_operation(block, chunks, slots, chunk);
        const MdPart part = md_part(operation);
        const MdRuns runs = runs_of(part, chunks.leads[chunk]);
        long long total;
        const long long before = sum_before(part.bytes_after(runs.before), total);
        Writer writer{
            lines + line_offsets[slot] + slots[slot].differences + chunks.differences[chunk] + before
        };
        put_md(writer, operation, runs.before);
    }
}
