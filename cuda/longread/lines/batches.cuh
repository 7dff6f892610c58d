// Batches of lines, in the order of hapgpu/longread/cuda/lines/batches.py.

#include "common/cigar.cuh"
#include "io/fastx/spans.cuh"
#include "longread/align/rows.cuh"
#include "longread/lines/text.cuh"

// A reference sequence: offset of its name in all names, offset of its codes, and lengths.
struct LineTarget {
    long long name, name_length, length, codes;
};

struct LineBlock {
    const unsigned char* text;
    long long text_size;
    ReadSpans spans;
    int has_qualities;
    const int* repeats;
    ReadCodes reads;
    const Mapping* mappings;
    const unsigned* operations;
    const long long* offsets;
    const LineTarget* targets;
    const unsigned char* names;
    const unsigned char* target_codes;
};

// Values of Difference of hapgpu/longread/options.py.
enum DifferenceTag { kNoTag, kTagMd, kTagCs, kTagLongCs, kTagDs };

struct LineForm {
    int is_sam, prints_secondary, prints_unmapped, has_cigar, difference;
    int moves_long_cigars, soft_clips_all, secondary_bases, has_comments;
    const unsigned char* read_group;
    int read_group_size;
};

// A line that may be written. Each read has one slot for a line without a mapping, then one per
// mapping. Offsets are from the start of the line.
struct Slot {
    long long read;
    long long operation_bytes, difference_bytes;  // texts of all operations
    long long run;                                // equal bases after the last difference (MD)
    long long operations, bases, differences;     // offsets of these texts
};

static_assert(sizeof(Slot) == 56, "as in NumPy");

// Chunks of operations, in the order of slots: those of slot s start at offsets[s]. Measured
// first, then replaced by the sums over the chunks of the slot before.
struct Chunks {
    const long long* offsets;
    const long long* slots;
    int* queries;             // bases of the read
    int* targets;             // bases of the reference
    long long* operations;    // bytes of text
    long long* differences;   // bytes of text
    int* leads;               // MD: equal bases before the first difference; before the chunk
    int* trails;              // MD: equal bases after the last difference; -1 without one
    long long count;
};

constexpr int kMaxBamOperations = 65535;
constexpr int kReverse = 0x10, kSecondary = 0x100, kSupplementary = 0x800;

__device__ inline bool is_primary(const Mapping& mapping) {
    return mapping.number == mapping.parent;
}

// Row of the mapping of a slot; -1 for the slot without one.
__device__ inline long long mapping_row(const LineBlock& block, long long slot, long long read) {
    return slot == block.offsets[read] + read ? -1 : slot - read - 1;
}

__device__ inline bool is_printed(const Mapping& mapping, const LineForm& form) {
    return form.prints_secondary || is_primary(mapping);
}

// Flag of a record of SAM, clipped bases on the strand of the reference, the operation for them,
// and the bases of the read to write.
struct Parts {
    int flag;
    unsigned clip;
    long long before, after, start, length;
};

__device__ inline Parts parts_of(const Mapping& mapping, int length, const LineForm& form) {
    const bool is_secondary = !is_primary(mapping);
    const bool is_supplementary = !is_secondary && !mapping.is_first_primary;
    Parts parts{0, kS, mapping.query_start, (long long)length - mapping.query_end, 0, length};
    if (mapping.is_reverse) parts.flag |= kReverse;
    if (is_secondary) parts.flag |= kSecondary;
    if (is_supplementary) parts.flag |= kSupplementary;
    if (!form.soft_clips_all) {
        if (is_supplementary || (is_secondary && form.secondary_bases)) {
            parts.clip = kH;
            parts.start = parts.before;
            parts.length = length - parts.before - parts.after;
        } else if (is_secondary) {
            parts.length = 0;
        }
    }
    if (mapping.is_reverse) {
        const long long before = parts.before;
        parts.before = parts.after;
        parts.after = before;
    }
    return parts;
}

// Whether the CIGAR of a record is in the tag CG.
__device__ inline bool is_moved(const Mapping& mapping, int length, const LineForm& form) {
    if (!form.is_sam || !form.moves_long_cigars) return false;
    const int clips = (mapping.query_start > 0) + (length > mapping.query_end);
    return (long long)mapping.operations + clips > kMaxBamOperations;
}

__device__ inline unsigned char operation_letter(unsigned operation) {
    return (unsigned char)("MIDNSHP=X"[operation]);
}
