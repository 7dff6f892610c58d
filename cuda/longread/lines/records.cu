// Lines of PAF and records of SAM, except texts of operations and bases; same as
// hapgpu/longread/output/{aligned_paf,sam,tags}.py.

#include "longread/lines/records.cuh"

namespace {

constexpr int kThreads = 128;

// Rows of counts: COUNT_NAMES of hapgpu/longread/output/parts.py, then bases.
enum Count { kMapped, kRecords, kSecondaries, kSupplementaries, kAlignedBases, kBases, kCounts };

struct LineCounts {
    long long values[kCounts] = {};

    __device__ void add_read(bool is_mapped, int length) {
        values[kMapped] += is_mapped;
        values[kBases] += length;
    }
    __device__ void add_mapping(const Mapping& mapping, const LineForm& form) {
        const bool primary = is_primary(mapping);
        values[kRecords] += 1;
        values[kSecondaries] += !primary;
        values[kSupplementaries] += form.is_sam && primary && !mapping.is_first_primary;
        if (primary) {
            values[kAlignedBases] += (long long)mapping.query_end - mapping.query_start;
        }
    }
};

}  // namespace

// Finds the read of each slot and counts its chunks: counts[s + 1] is that of slot s; one thread
// per slot.
extern "C" __global__ void __launch_bounds__(kThreads) start_slots(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form, Slot* slots,
    long long* counts, long long slot_count
) {
    if (first_thread() == 0) counts[0] = 0;
    for (long long slot = first_thread(); slot < slot_count; slot += all_threads()) {
        int low = 0, high = block.spans.reads - 1;  // the last read whose slots start here or before
        while (low < high) {
            const int middle = low + (high - low + 1) / 2;
            if (block.offsets[middle] + middle <= slot) low = middle; else high = middle - 1;
        }
        slots[slot] = Slot{low, 0, 0, 0, 0, 0, 0};
        const long long row = mapping_row(block, slot, low);
        long long chunks = 0;
        if (row >= 0 && is_printed(block.mappings[row], form)) {
            chunks = ((long long)block.mappings[row].operations + kWarpLanes - 1) / kWarpLanes;
        }
        counts[slot + 1] = chunks;
    }
}

// Measures lines, and counts their pieces of bases and qualities: sizes[s + 1] and pieces[s + 1]
// are those of slot s. Adds to `counts`. One warp per slot.
extern "C" __global__ void __launch_bounds__(kThreads, 4) measure_lines(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form, Slot* slots,
    long long* sizes, long long* pieces, unsigned long long* counts, long long slot_count
) {
    LineCounts found;
    if (first_thread() == 0) sizes[0] = pieces[0] = 0;
    for (long long number = first_warp(); number < slot_count; number += all_warps()) {
        Slot slot = slots[number];
        const long long row = mapping_row(block, number, slot.read);
        const long long start = block.offsets[slot.read], end = block.offsets[slot.read + 1];
        WarpCounter counter;
        long long bases = 0;
        if (row < 0) {
            found.add_read(start < end, block.spans.lengths[slot.read]);
            if (start == end && form.prints_unmapped) {
                found.values[kRecords] += form.is_sam;
                bases = put_unmapped(counter, block, form, slot);
            }
        } else if (is_printed(block.mappings[row], form)) {
            found.add_mapping(block.mappings[row], form);
            bases = put_line(counter, block, form, slot, row);
        }
        if (lane_id() == 0) {
            slots[number] = slot;
            sizes[number + 1] = counter.size;
            const long long parts = (bases + kPieceBytes - 1) / kPieceBytes;
            pieces[number + 1] = block.has_qualities ? 2 * parts : parts;
        }
    }
    if (lane_id() == 0) {
        for (int k = 0; k < kCounts; ++k) {
            if (found.values[k]) atomicAdd(&counts[k], (unsigned long long)found.values[k]);
        }
    }
}

// Writes lines, except what other kernels write; one warp per slot.
extern "C" __global__ void __launch_bounds__(kThreads, 4) write_lines(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form,
    const Slot* slots, const long long* line_offsets, unsigned char* lines, long long slot_count
) {
    for (long long number = first_warp(); number < slot_count; number += all_warps()) {
        if (line_offsets[number + 1] == line_offsets[number]) continue;
        Slot slot = slots[number];
        const long long row = mapping_row(block, number, slot.read);
        WarpWriter writer(lines + line_offsets[number]);
        if (row < 0) {
            put_unmapped(writer, block, form, slot);
        } else {
            put_line(writer, block, form, slot, row);
        }
    }
}
