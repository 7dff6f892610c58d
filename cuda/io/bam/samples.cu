// Samples of reads by their tags RG: the same as hapgpu/io/bam/read_groups.py.

#include "common/grid.cuh"
#include "io/bam/records.cuh"
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

// Read groups by ascending identifiers; `only_sample` is the sample of reads without one, or -1.
struct ReadGroups {
    const unsigned char* identifiers;
    const long long* offsets;
    const int* samples;
    int count, only_sample;
};

// The read group whose identifier is the `length` bytes of `text`; -1 for none.
__device__ inline int find_group(
    const unsigned char* text, long long length, const ReadGroups& groups
) {
    int low = 0, high = groups.count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const unsigned char* other = groups.identifiers + groups.offsets[middle];
        const long long size = groups.offsets[middle + 1] - groups.offsets[middle];
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
    const __grid_constant__ Records records, const __grid_constant__ ReadGroups groups,
    int* samples, int* fault
) {
    const unsigned char* data = records.data;
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        int sample = groups.only_sample;
        if (records.tag_lengths[row] > 0) {
            const long long start = records.starts[row], end = start + 4 + load_i32(data, start);
            const ReadGroupField field(data, records.tag_starts[row], end);
            if (field.at >= 0) {
                int group = -1;
                if (data[field.at + 2] == 'Z') {
                    const unsigned char* text = data + field.at + kTagHead;
                    const long long length = field.size - kTagHead - 1;
                    group = find_group(text, length, groups);
                }
                sample = group < 0 ? kUnknownGroup : groups.samples[group];
            }
        }
        samples[row] = sample;
        if (sample < 0) atomicMin(fault, row);
    }
}
