// Bases and qualities of records of SAM: copied, or reversed; same as hapgpu/longread/output/sam.py.

#include "common/bytes.cuh"
#include "longread/lines/records.cuh"

namespace {

constexpr int kThreads = 128;
constexpr int kWords = 4;  // per lane and step

// Returns the slot of a piece: the last one whose pieces start at it or before.
__device__ inline long long slot_of(const long long* pieces, long long slots, long long piece) {
    long long low = 0, high = slots - 1;
    while (low < high) {
        const long long middle = low + (high - low + 1) / 2;
        if (pieces[middle] <= piece) low = middle; else high = middle - 1;
    }
    return low;
}

// Bases or qualities of a line, as they are in the file or reversed; `source` is the first one that
// is written. All lanes of a warp hold the same.
struct Letters {
    const unsigned char* source;
    const unsigned char* complements;
    bool is_reverse, are_qualities;

    __device__ unsigned char byte_at(int k) const {
        const unsigned char letter = is_reverse ? source[-k] : source[k];
        return are_qualities ? letter : (unsigned char)written(letter);
    }

    // Four letters of the file, the first in the lowest bits.
    __device__ unsigned word_at(int k) const {
        if (!is_reverse) return load_u32(source, k);
        const unsigned word = load_u32(source, -k - 3);
        return word << 24 | (word & 0xff00) << 8 | (word >> 8 & 0xff00) | word >> 24;
    }

    // Letters as they are written: complements, or T for U.
    __device__ unsigned written(unsigned letters) const {
        if (are_qualities) return letters;
        if (is_reverse) {
            return complements[letters & 0xff] | complements[letters >> 8 & 0xff] << 8 |
                   complements[letters >> 16 & 0xff] << 16 |
                   (unsigned)complements[letters >> 24] << 24;
        }
        constexpr unsigned kLow = 0x7f7f7f7f, kUpper = 0xdfdfdfdf, kU = 0x55555555;
        const unsigned others = (letters & kUpper) ^ kU;  // 0 for U
        const unsigned is_u = ~(((others & kLow) + kLow) | others | kLow);
        return letters - (is_u >> 7);
    }
};

// Copies letters: words that are aligned where they are written, and single bytes around them.
__device__ inline void copy_letters(const Letters& letters, unsigned char* out, int size) {
    const int before = min(size, (int)(-(unsigned long long)out & 3)), words = (size - before) / 4;
    unsigned* out_words = (unsigned*)(out + before);
    if (lane_id() < before) out[lane_id()] = letters.byte_at(lane_id());
    for (int first = lane_id(); first < words; first += kWords * kWarpLanes) {
        unsigned found[kWords];  // loaded first: the compiler cannot move loads before stores
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const int word = first + k * kWarpLanes;
            if (word < words) found[k] = letters.word_at(before + 4 * word);
        }
#pragma unroll
        for (int k = 0; k < kWords; ++k) {
            const int word = first + k * kWarpLanes;
            if (word < words) out_words[word] = letters.written(found[k]);
        }
    }
    const int last = before + 4 * words + lane_id();
    if (last < size) out[last] = letters.byte_at(last);
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
        const bool is_reverse = parts.flag & kReverse;
        source += is_reverse ? parts.length - 1 - first : first;
        copy_letters(Letters{source, complements, is_reverse, are_qualities}, out, size);
    }
}
