// Samples of reads by their tags RG: the same as hapgpu/io/bam/read_groups.py.

#include "common/grid.cuh"
#include "io/bam/tags.cuh"

namespace {

constexpr unsigned kReadGroup = 'R' | 'G' << 8;
constexpr int kUnknownGroup = -2;

// The first field of the record from `at` to `end` with the tag RG, or -1; and its size.
struct ReadGroupField {
    long long at = -1, size = 0;

    __device__ ReadGroupField(const unsigned char* data, long long from, long long end) {
        while (from < end) {
            size = field_bytes(data, from, end);
            if (size == 0) return;  // the reader refuses such records
            if (load_u16(data, from) == kReadGroup) {
                at = from;
                return;
            }
            from += size;
        }
    }
};

// The row of ascending texts that equals the `length` bytes of `text`; -1 for none.
__device__ inline int find_text(
    const unsigned char* text, long long length, const unsigned char* texts,
    const long long* offsets, int rows
) {
    int low = 0, high = rows;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const unsigned char* other = texts + offsets[middle];
        const long long size = offsets[middle + 1] - offsets[middle];
        long long same = 0;
        while (same < length && same < size && text[same] == other[same]) ++same;
        if (same == length && same == size) return middle;
        if (same < length && (same == size || text[same] > other[same])) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

}  // namespace

// Finds the sample of each read; `fault` becomes the first read without one. A thread per read.
extern "C" __global__ void __launch_bounds__(128) find_samples(
    const unsigned char* data, const long long* record_starts, const long long* tag_starts,
    const int* tag_lengths, const unsigned char* identifiers, const long long* identifier_offsets,
    const int* group_samples, int* samples, int* fault, long long /* bytes of data */, int reads,
    int groups, long long /* bytes of identifiers */, int /* 1 */, int only_sample
) {
    for (int row = first_thread(); row < reads; row += all_threads()) {
        int sample = only_sample;
        if (tag_lengths[row] > 0) {
            const long long end = record_starts[row] + 4 + load_i32(data, record_starts[row]);
            const ReadGroupField field(data, tag_starts[row], end);
            if (field.at >= 0) {
                int group = -1;
                if (data[field.at + 2] == 'Z') {
                    const unsigned char* text = data + field.at + kTagHead;
                    const long long length = field.size - kTagHead - 1;
                    group = find_text(text, length, identifiers, identifier_offsets, groups);
                }
                sample = group < 0 ? kUnknownGroup : group_samples[group];
            }
        }
        samples[row] = sample;
        if (sample < 0) atomicMin(fault, row);
    }
}
