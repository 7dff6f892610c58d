// Bases and qualities of records of SAM: copied, or reversed; same as hapgpu/longread/output/sam.py.

#include "longread/lines/records.cuh"

namespace {

constexpr int kThreads = 128;

// Returns the slot of a piece: the last one whose pieces start at it or before.
__device__ inline long long slot_of(const long long* pieces, long long slots, long long piece) {
    long long low = 0, high = slots - 1;
    while (low < high) {
        const long long middle = low + (high - low + 1) / 2;
        if (pieces[middle] <= piece) low = middle; else high = middle - 1;
    }
    return low;
}

// Returns a base as it is written on the forward strand: T for U.
__device__ inline unsigned char forward_base(unsigned char letter) {
    return letter - ((letter & 0xdf) == 'U');
}

}  // namespace

// Copies pieces of bases and qualities to their lines; one warp per piece.
extern "C" __global__ void __launch_bounds__(kThreads) copy_bases(
    const __grid_constant__ LineBlock block, const __grid_constant__ LineForm form,
    const Slot* slots, const long long* pieces, const unsigned char* complements,
    const long long* line_offsets, unsigned char* lines, long long slot_count,
    long long piece_count
) {
    for (long long piece = first_warp(); piece < piece_count; piece += all_warps()) {
        const long long number = slot_of(pieces, slot_count, piece);
        const long long read = slots[number].read;
        const int read_length = block.spans.lengths[read];
        const long long row = mapping_row(block, number, read);
        Parts parts{0, kS, 0, 0, 0, read_length};
        if (row >= 0) parts = parts_of(block.mappings[row], read_length, form);
        const long long per_text = (parts.length + kPieceBytes - 1) / kPieceBytes;
        long long part = piece - pieces[number];
        const bool are_qualities = part >= per_text;
        if (are_qualities) part -= per_text;
        const long long first = part * kPieceBytes;
        const int size = (int)min((long long)kPieceBytes, parts.length - first);
        unsigned char* out = lines + line_offsets[number] + slots[number].bases + first;
        if (are_qualities) out += parts.length + 1;
        const int* starts = are_qualities ? block.spans.quality_starts : block.spans.base_starts;
        const unsigned char* source = block.text + starts[read] + parts.start;
        if (parts.flag & kReverse) {
            const unsigned char* last = source + parts.length - 1 - first;
            for (int k = lane_id(); k < size; k += kWarpLanes) {
                out[k] = are_qualities ? last[-k] : complements[last[-k]];
            }
        } else {
            for (int k = lane_id(); k < size; k += kWarpLanes) {
                out[k] = are_qualities ? source[first + k] : forward_base(source[first + k]);
            }
        }
    }
}
