// Insertions at the ends of alignments as soft clips, and comparison of alignments: the same as
// hapgpu/realign/projection/clip_ends.py. A thread per alignment.

#include "cigar/operations.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"

namespace {

// Elements of a CIGAR that are written, or only counted.
struct Elements {
    unsigned* out;  // null: count
    long long count;

    __device__ void put(unsigned element) {
        if (out) out[count] = element;
        ++count;
    }
    __device__ void put(long long length, unsigned operation) {
        if (length) put((unsigned)(length << 4 | operation));
    }
};

// Bases of a part of a CIGAR: hard-clipped, soft-clipped or inserted, and deleted.
struct Outside {
    long long hard = 0, soft = 0, deleted = 0;

    __device__ Outside(const unsigned* cigar, long long start, long long end) {
        for (long long k = start; k < end; ++k) {
            const unsigned operation = operation_of(cigar[k]);
            const long long length = length_of(cigar[k]);
            if (operation == kH) hard += length;
            if (operation == kS || operation == kI) soft += length;
            if (operation == kD) deleted += length;
        }
    }
};

// Returns the number of bases deleted before the first match.
__device__ long long clip(const unsigned* cigar, long long size, Elements& out) {
    long long first = 0, last = size - 1;
    while (first <= last && !is_alignment(operation_of(cigar[first]))) ++first;
    while (last > first && !is_alignment(operation_of(cigar[last]))) --last;
    if (first > last) {
        for (long long k = 0; k < size; ++k) out.put(cigar[k]);
        return 0;
    }
    const Outside before(cigar, 0, first), after(cigar, last + 1, size);
    out.put(before.hard, kH);
    out.put(before.soft, kS);
    for (long long k = first; k <= last; ++k) out.put(cigar[k]);
    out.put(after.soft, kS);
    out.put(after.hard, kH);
    return before.deleted;
}

// Elements of a CIGAR, one after the other; M, = and X are the same.
struct Steps {
    const unsigned* cigar;
    long long size, next;
    unsigned length, operation;

    __device__ Steps(const unsigned* cigar, long long size)
        : cigar(cigar), size(size), next(0), length(0), operation(0) {}

    // Goes to the next element with bases, if the last one is used up.
    __device__ void advance() {
        while (length == 0 && next < size) {
            length = cigar[next] >> 4;
            operation = is_alignment(operation_of(cigar[next])) ? kM : operation_of(cigar[next]);
            ++next;
        }
    }
};

__device__ bool are_same(Steps one, Steps other) {
    while (true) {
        one.advance();
        other.advance();
        if (one.length == 0 || other.length == 0) return one.length == other.length;
        if (one.operation != other.operation) return false;
        const unsigned shared = min(one.length, other.length);
        one.length -= shared;
        other.length -= shared;
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128) measure_clipped_ends(
    Rows<unsigned> cigars, const long long* positions, long long* sizes, long long* starts
) {
    for (int row = first_thread(); row < cigars.count; row += all_threads()) {
        Elements counted = {nullptr, 0};
        starts[row] = positions[row] + clip(cigars.at(row), cigars.size(row), counted);
        sizes[row] = counted.count;
    }
}

extern "C" __global__ void __launch_bounds__(128, 8) write_clipped_ends(
    Rows<unsigned> cigars, const long long* out_offsets, unsigned* out
) {
    for (int row = first_thread(); row < cigars.count; row += all_threads()) {
        Elements written = {out + out_offsets[row], 0};
        clip(cigars.at(row), cigars.size(row), written);
    }
}

extern "C" __global__ void __launch_bounds__(128) compare_alignments(
    Rows<unsigned> ones, const int* one_positions, Rows<unsigned> others,
    const int* other_positions, unsigned char* same
) {
    for (int row = first_thread(); row < ones.count; row += all_threads()) {
        same[row] = one_positions[row] == other_positions[row] &&
                    are_same(Steps(ones.at(row), ones.size(row)),
                             Steps(others.at(row), others.size(row)));
    }
}
