// Reads found and checked in a text of FASTQ or FASTA; a fault only raises a flag.

#include "common/warp.cuh"

namespace {

constexpr unsigned kTileBytes = 1024;  // of a warp

// Place of this warp, and the number of warps, in the whole grid.
__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int warp_count() { return gridDim.x * (blockDim.x / kWarpLanes); }

__device__ inline bool is_newline(const unsigned char* text, unsigned at, unsigned size) {
    return at < size && text[at] == '\n';
}

__device__ inline bool is_white(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

__device__ inline bool is_printable(unsigned char byte) { return byte > ' ' && byte < 127; }

// The bytes that are bases, bit i of `low` for byte i and of `high` for byte 64 + i.
struct Bases {
    unsigned long long low, high;

    __device__ bool contain(unsigned char byte) const {
        return byte < 128 && ((byte < 64 ? low : high) >> (byte % 64) & 1);
    }
};

// A line without its newline and a carriage return before that.
struct Line {
    unsigned start, end;

    __device__ unsigned size() const { return end - start; }
};

struct Text {
    const unsigned char* bytes;
    const int* newlines;

    __device__ Line line(unsigned number) const {
        unsigned start = number ? newlines[number - 1] + 1 : 0;
        unsigned end = newlines[number];
        if (end > start && bytes[end - 1] == '\r') --end;
        return {start, end};
    }
};

// The following are called by all lanes of a warp with the same arguments.

// First place of a line that holds no printable character, or its end.
__device__ unsigned printable_end(const unsigned char* text, unsigned start, unsigned end) {
    for (unsigned base = start; base < end; base += kWarpLanes) {
        const unsigned at = base + lane_id();
        const unsigned stops = __ballot_sync(kAllLanes, at >= end || !is_printable(text[at]));
        if (stops) return base + __ffs(stops) - 1;
    }
    return end;
}

// Of a lane: whether its bytes are in order; of the warp they are if those of all lanes are.
template <typename Predicate>
__device__ bool all_in_order(Line line, Predicate is_in_order) {
    bool good = true;
    for (unsigned at = line.start + lane_id(); at < line.end; at += kWarpLanes) {
        good &= is_in_order(at);
    }
    return good;
}

}  // namespace

// Newlines of each tile of 1,024 bytes; a warp a tile.
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

// Places of the newlines, of which there are `ends` up to the end of each tile; a warp a tile.
extern "C" __global__ void __launch_bounds__(256) list_newlines(
    const unsigned char* text, const int* ends, int* newlines, int size, int tiles,
    int newline_count
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

// Spans of the reads, a warp a read; `is_faulty` is set if any is at fault. What is accepted is
// what `parse_block` of hapgpu/io/fastx/cpu.py accepts.
extern "C" __global__ void __launch_bounds__(256) find_reads(
    const unsigned char* text, const int* newlines, int* name_starts, int* name_lengths,
    int* base_starts, int* quality_starts, int* lengths, int* is_faulty, int size,
    int newline_count, int reads, int one, int is_fasta, int longest_name, int max_bases,
    int for_sam, unsigned long long low_bases, unsigned long long high_bases
) {
    const Text lines{text, newlines};
    const Bases known{low_bases, high_bases};
    const int lines_per_read = is_fasta ? 2 : 4;
    bool good = true;  // so far as this lane has seen

    for (int read = warp_id(); read < reads; read += warp_count()) {
        const Line header = lines.line(lines_per_read * read);
        const Line bases = lines.line(lines_per_read * read + 1);
        Line qualities = bases;

        const unsigned name = header.start + 1;
        const unsigned stop = printable_end(text, name, header.end);
        int name_length = stop - name;
        if (for_sam && name_length > 2 && text[stop - 2] == '/' &&
            (text[stop - 1] == '1' || text[stop - 1] == '2')) {
            name_length -= 2;
        }
        good &= header.size() && text[header.start] == (is_fasta ? '>' : '@');
        good &= stop == header.end || text[stop] == ' ' || text[stop] == '\t';
        good &= name_length > 0 && name_length <= longest_name;
        good &= !for_sam || text[name] != '@';
        good &= bases.size() <= max_bases;
        good &= all_in_order(bases, [=](unsigned at) { return known.contain(text[at]); });

        if (!is_fasta) {
            const Line plus = lines.line(lines_per_read * read + 2);
            qualities = lines.line(lines_per_read * read + 3);
            good &= plus.size() && text[plus.start] == '+';
            if (plus.size() > 1) {
                good &= plus.size() == header.size();
                const unsigned shift = header.start - plus.start;  // modulo 2**32
                const Line rest{plus.start + 1, plus.start + min(plus.size(), header.size())};
                good &= all_in_order(
                    rest, [=](unsigned at) { return text[at] == text[at + shift]; });
            }
            good &= qualities.size() == bases.size();
            good &= all_in_order(qualities, [=](unsigned at) { return is_printable(text[at]); });
        }

        if (lane_id() == 0) {
            name_starts[read] = name;
            name_lengths[read] = name_length;
            base_starts[read] = bases.start;
            quality_starts[read] = qualities.start;
            lengths[read] = bases.size();
        }
    }

    // Behind the last read there may be blank lines.
    const unsigned end = reads ? newlines[lines_per_read * reads - 1] + 1 : 0;
    for (unsigned at = end + blockIdx.x * blockDim.x + threadIdx.x; at < size;
         at += gridDim.x * blockDim.x) {
        good &= is_white(text[at]);
    }

    if (!good) *is_faulty = 1;
}
