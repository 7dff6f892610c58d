// Parser of text batches (hapgpu/pairhmm/text_batches/lines.py, which also names a fault): lines
// are found and checked by themselves, then against the counts of their text batch. A fault only
// sets a flag.

#include "common/grid.cuh"
#include "pairhmm/read_columns.cuh"

namespace {

constexpr int kHeaderFields = 2, kReadFields = 5, kHaplotypeFields = 1;
constexpr int kMaxDigits = 10;
constexpr long long kMaxRows = 0x7fffffff;
constexpr int kPhredOffset = 33;

// Entries of `found`, before the headers, which have three entries each: line, reads, haplotypes.
enum Found { kIsFaulty, kMinContinuation, kMaxContinuation, kHeaders, kFoundFields };

__device__ inline bool is_blank(unsigned char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

__device__ inline bool is_printable(unsigned char byte) { return byte > ' ' && byte < 127; }

// Text batches: the lines of the headers, and the numbers of their first rows.
struct Headers {
    const int* lines;
    const int* first_reads;
    const int* first_haplotypes;
    int count;
};

// Rows to copy from the text: the line of each, and the offsets of the copies.
struct LineRows {
    const int* lines;
    const long long* offsets;
    int count;
};

// Returns a number of rows, or -1.
__device__ long long row_count(const unsigned char* text, int start, int length) {
    if (length > kMaxDigits) return -1;
    long long number = 0;
    for (int at = start; at < start + length; ++at) {
        if (text[at] < '0' || text[at] > '9') return -1;
        number = 10 * number + text[at] - '0';
    }
    return number <= kMaxRows ? number : -1;
}

// The fields of a line, and the offsets of the first five. All lanes of a warp have the same.
struct Fields {
    int count = 0, first_start = 0, last_start = 0, first_length = 0, last_length = 0;
    bool are_equal = true;  // in length

    // Lane 0 writes the start of field k to starts[k * stride].
    __device__ Fields(const unsigned char* text, int start, int end, int* starts, int stride) {
        bool is_inside = false, is_clean = true;
        unsigned before = 0;  // whether the byte before is of a field
        for (int base = start; base <= end; base += kWarpLanes) {
            const int at = base + lane_id();
            const unsigned char byte = at < end ? text[at] : ' ';
            const bool is_field = !is_blank(byte);
            is_clean &= !is_field || is_printable(byte);
            const unsigned inside = __ballot_sync(kAllLanes, is_field);
            unsigned borders = inside ^ (inside << 1 | before);
            before = inside >> (kWarpLanes - 1);
            for (; borders; borders &= borders - 1) {
                const int border = base + __ffs(borders) - 1;
                if (is_inside) close(border); else open(border, starts, stride);
                is_inside = !is_inside;
            }
        }
        has_only_printable = __all_sync(kAllLanes, is_clean);
    }

    bool has_only_printable;

  private:
    __device__ void open(int at, int* starts, int stride) {
        if (count < kReadFields && lane_id() == 0) starts[count * stride] = at;
        if (count == 0) first_start = at;
        last_start = at;
        ++count;
    }
    __device__ void close(int at) {
        last_length = at - last_start;
        if (count == 1) first_length = last_length;
        are_equal &= last_length == first_length;
    }
};

// Notes the smallest and the largest gap continuation of a read.
__device__ void note_continuations(const unsigned char* text, int start, int length, int* found) {
    int low = 255, high = 0;
    for (int k = lane_id(); k < length; k += kWarpLanes) {
        const int value = text[start + k];
        low = min(low, value);
        high = max(high, value);
    }
    low = warp_min(low);
    high = warp_max(high);
    if (lane_id() != 0) return;
    // Atomic operations on one address are slow, and nearly all reads would change nothing.
    volatile int* seen = found;
    if (low < seen[kMinContinuation]) atomicMin(&found[kMinContinuation], low);
    if (high > seen[kMaxContinuation]) atomicMax(&found[kMaxContinuation], high);
}

// Returns the last of ascending values that is at most `value`, or -1.
__device__ inline int last_at_most(const int* values, int size, int value) {
    int low = -1, high = size;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (values[middle] <= value) low = middle; else high = middle;
    }
    return low;
}

}  // namespace

// Finds the fields of each line, lists the headers, in any order, and checks what a line shows by
// itself. `starts` is [field][line]. One warp per line.
extern "C" __global__ void __launch_bounds__(256) measure_lines(
    const unsigned char* text, const int* newlines, int* fields, int* starts, int* lengths,
    int* found, int lines) {
    for (int line = first_warp(); line < lines; line += all_warps()) {
        const int start = line ? newlines[line - 1] + 1 : 0;
        const Fields own(text, start, newlines[line], starts + line, lines);
        bool is_good = own.count == 0;
        long long reads = 0, haplotypes = 0;
        if (own.count == kReadFields) {
            is_good = own.are_equal && own.has_only_printable;
            note_continuations(text, own.last_start, own.last_length, found);
        } else if (own.count == kHaplotypeFields) {
            is_good = own.has_only_printable;
        } else if (own.count == kHeaderFields) {
            reads = row_count(text, own.first_start, own.first_length);
            haplotypes = row_count(text, own.last_start, own.last_length);
            is_good = reads >= 0 && haplotypes >= 0;
        }
        if (lane_id() != 0) continue;
        fields[line] = own.count;
        lengths[line] = own.first_length;
        if (!is_good) found[kIsFaulty] = 1;
        if (own.count == kHeaderFields && is_good) {
            int* header = found + kFoundFields + 3 * atomicAdd(&found[kHeaders], 1);
            header[0] = line;
            header[1] = (int)reads;
            header[2] = (int)haplotypes;
        }
    }
}

// Lists the lines of the reads and of the haplotypes, and their lengths, by the counts of the text
// batches; checks that each line has the fields that it should have. One thread per line.
extern "C" __global__ void __launch_bounds__(256) assign_lines(
    const int* fields, const int* lengths, Headers headers, int* read_lines, int* read_lengths,
    int* haplotype_lines, int* haplotype_lengths, int* found, int lines) {
    for (int line = first_thread(); line < lines; line += all_threads()) {
        const int group = last_at_most(headers.lines, headers.count, line);
        int expected = 0;
        if (group >= 0) {
            const int row = line - headers.lines[group] - 1;
            const int first_read = headers.first_reads[group];
            const int first_haplotype = headers.first_haplotypes[group];
            const int group_reads = headers.first_reads[group + 1] - first_read;
            const int group_haplotypes = headers.first_haplotypes[group + 1] - first_haplotype;
            const int haplotype = row - group_reads;
            if (row < 0) {
                expected = kHeaderFields;
            } else if (haplotype < 0) {
                expected = kReadFields;
                read_lines[first_read + row] = line;
                read_lengths[first_read + row] = lengths[line];
            } else if (haplotype < group_haplotypes) {
                expected = kHaplotypeFields;
                haplotype_lines[first_haplotype + haplotype] = line;
                haplotype_lengths[first_haplotype + haplotype] = lengths[line];
            }
        }
        if (fields[line] != expected) found[kIsFaulty] = 1;
    }
}

// Copies the fields of the reads, qualities as Phred, and the haplotypes. `continuations` is empty
// if all gap continuations are equal. One warp per row.
extern "C" __global__ void __launch_bounds__(256) copy_rows(
    const unsigned char* text, const int* starts, LineRows reads, LineRows haplotypes,
    ReadColumns columns, unsigned char* continuations, unsigned char* haplotype_bases, int lines,
    int continuation_count) {
    for (int row = first_warp(); row < reads.count + haplotypes.count; row += all_warps()) {
        if (row >= reads.count) {
            const int haplotype = row - reads.count;
            const unsigned char* from = text + starts[haplotypes.lines[haplotype]];
            const long long to = haplotypes.offsets[haplotype];
            const int length = (int)(haplotypes.offsets[haplotype + 1] - to);
            for (int k = lane_id(); k < length; k += kWarpLanes) haplotype_bases[to + k] = from[k];
            continue;
        }
        const int* own = starts + reads.lines[row];
        const long long to = reads.offsets[row];
        const int length = (int)(reads.offsets[row + 1] - to);
        for (int k = lane_id(); k < length; k += kWarpLanes) {
            const long long at = to + k;
            columns.bases[at] = text[own[0] + k];
            columns.base_qualities[at] = text[own[lines] + k] - kPhredOffset;
            columns.insertion_qualities[at] = text[own[2 * lines] + k] - kPhredOffset;
            columns.deletion_qualities[at] = text[own[3 * lines] + k] - kPhredOffset;
            if (continuation_count) continuations[at] = text[own[4 * lines] + k] - kPhredOffset;
        }
    }
}
