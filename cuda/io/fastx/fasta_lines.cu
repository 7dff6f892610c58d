// FASTA with sequences over several lines to two lines per record.
// Same as LineJoiner of hapgpu/io/fastx/read_blocks.py, for text that ends with a newline.

#include "common/warp.cuh"

namespace {

constexpr int kTileBytes = 1024;  // per warp; same as _TILE_BYTES in hapgpu/io/fastx/cuda.py

__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }

// A line of the text, without its newline.
struct Line {
    int start, end;
    bool is_header;

    __device__ Line(const unsigned char* text, const int* newlines, int number)
        : start(number ? newlines[number - 1] + 1 : 0), end(newlines[number]),
          is_header(text[start] == '>') {}

    // End of what is kept: a line of a sequence loses a carriage return.
    __device__ int kept_end(const unsigned char* text) const {
        return !is_header && end > start && text[end - 1] == '\r' ? end - 1 : end;
    }
};

}  // namespace

// Counts the records that start after a newline, and finds the start of the last of them: starts[0]
// and starts[1]. One thread per newline.
extern "C" __global__ void __launch_bounds__(256) find_record_starts(
    const unsigned char* text, const int* newlines, int* starts, int size, int newline_count
) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    const int at = k < newline_count ? newlines[k] + 1 : size;
    const bool is_start = at < size && text[at] == '>';
    const unsigned lanes = __ballot_sync(kAllLanes, is_start);
    if (lanes == 0) return;
    const int last = warp_max(is_start ? at : 0);
    if (lane_id() == 0) {
        atomicAdd(&starts[0], __popc(lanes));
        atomicMax(&starts[1], last);
    }
}

// sizes[k + 1] is the number of bytes that line k becomes: a header ends the sequence before it.
// One thread per line.
extern "C" __global__ void __launch_bounds__(256) measure_fasta_lines(
    const unsigned char* text, const int* newlines, int* sizes, int newline_count
) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k == 0) sizes[0] = 0;
    if (k >= newline_count) return;
    const Line line(text, newlines, k);
    sizes[k + 1] = line.kept_end(text) - line.start + (line.is_header ? 1 + (k > 0) : 0);
}

// Writes the lines to their offsets, and the newline after the last sequence; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) join_fasta_lines(
    const unsigned char* text, const int* newlines, const int* offsets, unsigned char* joined,
    int size, int newline_count, int joined_size
) {
    if (warp_id() > (size - 1) / kTileBytes) return;
    const int tile_start = warp_id() * kTileBytes;
    const int tile_end = size - tile_start > kTileBytes ? tile_start + kTileBytes : size;

    // The line of the first byte: the first that does not end before it.
    int number = 0;
    for (int high = newline_count; number < high;) {
        const int middle = number + (high - number) / 2;
        if (newlines[middle] < tile_start) {
            number = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int at = tile_start; at < tile_end && number < newline_count; ++number) {
        const Line line(text, newlines, number);
        const bool ends_record = line.is_header && number > 0;
        const int shift = offsets[number] + ends_record - line.start;
        const int end = min(tile_end, line.kept_end(text));
        for (int from = at + lane_id(); from < end; from += kWarpLanes) {
            joined[from + shift] = text[from];
        }
        if (lane_id() == 0 && line.is_header) {
            if (ends_record && at == line.start) joined[offsets[number]] = '\n';
            if (line.end < tile_end) joined[line.end + shift] = '\n';
        }
        at = line.end + 1;
    }
    if (tile_end == size && lane_id() == 0) joined[joined_size - 1] = '\n';
}
