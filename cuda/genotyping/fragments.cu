// Clipped reads grouped by fragment: the same as hapgpu/genotyping/reads/fragments.py.

#include "common/grid.cuh"
#include "io/bam/record.cuh"
#include "io/bam/records.cuh"

namespace {

// Clipped reads, which are rows of records; and the locus, sample and file of each, as a group.
struct Parts {
    const long long* reads;
    const long long* groups;
    int count;
};

// Names of clipped reads.
struct Names {
    const unsigned char* data;
    const long long* record_starts;
    const int* lengths;
    const long long* reads;
    const long long* groups;

    __device__ Names(const Records& records, const Parts& parts)
        : data(records.data),
          record_starts(records.starts),
          lengths(records.name_lengths),
          reads(parts.reads),
          groups(parts.groups) {}

    __device__ const unsigned char* name(int part) const {
        return data + record_starts[reads[part]] + kFixedBytes;
    }
    __device__ int length(int part) const { return lengths[reads[part]]; }
    __device__ bool is_unnamed(int part) const {
        return length(part) == 0 || (length(part) == 1 && *name(part) == '*');
    }
    __device__ bool are_mates(int one, int other) const {
        if (groups[one] != groups[other] || length(one) != length(other)) return false;
        const unsigned char *text = name(one), *other_text = name(other);
        for (int k = 0; k < length(one); ++k) {
            if (text[k] != other_text[k]) return false;
        }
        return true;
    }
    // FNV-1a of the name, with the group, and well-mixed leading bits.
    __device__ unsigned hash(int part) const {
        const unsigned char* text = name(part);
        unsigned long long value = 0xCBF29CE484222325ull ^ (unsigned long long)groups[part];
        for (int k = 0; k < length(part); ++k) value = (value ^ text[k]) * 0x100000001B3ull;
        value ^= value >> 32;
        return (unsigned)(value * 0x9E3779B97F4A7C15ull >> 32);
    }
};

}  // namespace

// Finds, for each clipped read, the slot of a hash table that all of its fragment share, -1 for a
// read without a name; and for each slot its first clipped read. `table` is full of -1, `firsts` of
// the largest number; `slots` is a power of 2, above the number of clipped reads. A thread per
// clipped read. Which of a fragment is in the table depends on the order of the threads, but not
// the slots that are shared.
extern "C" __global__ void __launch_bounds__(128) find_fragments(
    Records records, Parts parts, int* table, int* firsts, int* part_slots, int slots
) {
    const Names names(records, parts);
    for (int part = first_thread(); part < parts.count; part += all_threads()) {
        int slot = -1;
        if (!names.is_unnamed(part)) {
            slot = (int)(names.hash(part) & (unsigned)(slots - 1));
            for (;;) {
                const int other = atomicCAS(&table[slot], -1, part);
                if (other < 0 || names.are_mates(part, other)) break;
                slot = (slot + 1) & (slots - 1);
            }
            atomicMin(&firsts[slot], part);
        }
        part_slots[part] = slot;
    }
}
