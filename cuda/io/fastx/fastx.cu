// Parser of a block of FASTQ or FASTA; a fault only sets a flag.
// Same as hapgpu/io/fastx/cpu.py, which also names the fault.

#include "common/warp.cuh"
#include "io/fastx/spans.cuh"

namespace {

constexpr unsigned kTileBytes = 1024;  // per warp; same as _TILE_BYTES in hapgpu/io/fastx/cuda.py

// Number of this warp in the grid, and number of warps in the grid.
__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int warp_count() { return gridDim.x * (blockDim.x / kWarpLanes); }

__device__ inline bool is_newline(const unsigned char* text, unsigned at, unsigned size) {
    return at < size && text[at] == '\n';
}

__device__ inline bool is_white(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

__device__ inline bool is_printable(unsigned char byte) { return byte > ' ' && byte < 127; }

// Set of the bytes that are bases: bit i of `low` is byte i, bit i of `high` is byte 64 + i.
struct BaseSet {
    unsigned long long low, high;

    __device__ bool contains(unsigned char byte) const {
        return byte < 128 && ((byte < 64 ? low : high) >> (byte % 64) & 1);
    }
};

// Range of a line, without its newline and a carriage return before the newline.
struct Line {
    unsigned start, end;

    __device__ unsigned size() const { return end - start; }
};

struct Text {
    const unsigned char* bytes;
    const int* newlines;
    int size;

    __device__ Line line(unsigned number) const {
        unsigned start = number ? newlines[number - 1] + 1 : 0;
        unsigned end = newlines[number];
        if (end > start && bytes[end - 1] == '\r') --end;
        return {start, end};
    }
};

struct ReadLimits {
    int max_name, max_bases, for_sam;
    unsigned long long low_bases, high_bases;  // see `BaseSet`
};

// All lanes of a warp call the following functions with the same arguments.

// Offset of the first character of a line that is not printable, or the end of the line.
__device__ unsigned printable_end(const unsigned char* text, unsigned start, unsigned end) {
    for (unsigned base = start; base < end; base += kWarpLanes) {
        const unsigned at = base + lane_id();
        const unsigned lanes = __ballot_sync(kAllLanes, at >= end || !is_printable(text[at]));
        if (lanes) return base + __ffs(lanes) - 1;
    }
    return end;
}

// Whether the bytes of this lane are valid; the line is valid if the bytes of all lanes are.
template <typename Predicate>
__device__ bool all_valid(Line line, Predicate is_valid) {
    bool good = true;
    for (unsigned at = line.start + lane_id(); at < line.end; at += kWarpLanes) {
        good &= is_valid(at);
    }
    return good;
}

}  // namespace

// Counts the newlines of each tile of 1,024 bytes; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) count_newlines(
    const unsigned char* text, int* counts, int size, int tiles
) {
    const int tile = warp_id();
    if (tile >= tiles) return;
    const unsigned start = tile * kTileBytes;
    int count = 0;
    for (unsigned at = start + lane_id(); at < start + kTileBytes; at += kWarpLanes) {
        count += __popc(__ballot_sync(kAllLanes, is_newline(text, at, size)));
    }
    if (lane_id() == 0) counts[tile] = count;
}

// Lists the offsets of the newlines; `ends` counts them up to the end of each tile; one warp per
// tile.
extern "C" __global__ void __launch_bounds__(256) list_newlines(
    const unsigned char* text, const int* ends, int* newlines, int size, int tiles
) {
    const int tile = warp_id();
    if (tile >= tiles) return;
    const unsigned start = tile * kTileBytes;
    const unsigned lower_lanes = (1u << lane_id()) - 1;
    int before = tile ? ends[tile - 1] : 0;
    for (unsigned at = start + lane_id(); at < start + kTileBytes; at += kWarpLanes) {
        const bool found = is_newline(text, at, size);
        const unsigned lanes = __ballot_sync(kAllLanes, found);
        if (found) newlines[before + __popc(lanes & lower_lanes)] = at;
        before += __popc(lanes);
    }
}

// Finds the spans of the reads, one warp per read; sets `is_faulty` if a read is malformed.
// Same as `parse_block` of hapgpu/io/fastx/cpu.py.
extern "C" __global__ void __launch_bounds__(256) find_reads(
    const __grid_constant__ Text text, const __grid_constant__ ReadSpans spans,
    const __grid_constant__ ReadLimits limits, int* is_faulty, int is_fasta
) {
    const unsigned char* bytes = text.bytes;
    const BaseSet known{limits.low_bases, limits.high_bases};
    const int lines_per_read = is_fasta ? 2 : 4;
    bool good = true;  // of the bytes of this lane

    for (int read = warp_id(); read < spans.reads; read += warp_count()) {
        const Line header = text.line(lines_per_read * read);
        const Line sequence = text.line(lines_per_read * read + 1);
        Line qualities = sequence;

        const unsigned name = header.start + 1;
        const unsigned name_end = printable_end(bytes, name, header.end);
        int name_length = name_end - name;
        if (limits.for_sam && name_length > 2 && bytes[name_end - 2] == '/' &&
            (bytes[name_end - 1] == '1' || bytes[name_end - 1] == '2')) {
            name_length -= 2;
        }
        good &= header.size() && bytes[header.start] == (is_fasta ? '>' : '@');
        good &= name_end == header.end || bytes[name_end] == ' ' || bytes[name_end] == '\t';
        good &= name_length > 0 && name_length <= limits.max_name;
        good &= !limits.for_sam || bytes[name] != '@';
        good &= sequence.size() <= limits.max_bases;
        good &= all_valid(sequence, [=](unsigned at) { return known.contains(bytes[at]); });

        if (!is_fasta) {
            const Line plus = text.line(lines_per_read * read + 2);
            qualities = text.line(lines_per_read * read + 3);
            good &= plus.size() && bytes[plus.start] == '+';
            if (plus.size() > 1) {
                good &= plus.size() == header.size();
                const unsigned shift = header.start - plus.start;  // modulo 2**32
                const Line rest{plus.start + 1, plus.start + min(plus.size(), header.size())};
                good &= all_valid(
                    rest, [=](unsigned at) { return bytes[at] == bytes[at + shift]; });
            }
            good &= qualities.size() == sequence.size();
            good &= all_valid(qualities, [=](unsigned at) { return is_printable(bytes[at]); });
        }

        if (lane_id() == 0) {
            spans.name_starts[read] = name;
            spans.name_lengths[read] = name_length;
            spans.base_starts[read] = sequence.start;
            spans.quality_starts[read] = qualities.start;
            spans.lengths[read] = sequence.size();
        }
    }

    // Blank lines may follow the last read.
    const unsigned end = spans.reads ? text.newlines[lines_per_read * spans.reads - 1] + 1 : 0;
    for (unsigned at = end + blockIdx.x * blockDim.x + threadIdx.x; at < text.size;
         at += gridDim.x * blockDim.x) {
        good &= is_white(bytes[at]);
    }

    if (!good) *is_faulty = 1;
}
