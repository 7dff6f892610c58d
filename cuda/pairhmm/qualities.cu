// Parts of reads with the qualities of the pair-HMM, from BAM records: the same as
// hapgpu/pairhmm/qualities (prepare.py, tags.py, pcr_model.py, tandem_repeats.py).

#include "common/grid.cuh"
#include "io/bam/tags.cuh"

namespace {

constexpr int kMissingQuality = 255;
constexpr int kUnits = 8, kMaxCopies = 20, kUnitBits = 3;
constexpr unsigned kInsertions = 'B' | 'I' << 8, kDeletions = 'B' | 'D' << 8;
constexpr int kFirstLetter = 33, kLastLetter = 126;

// Finds the qualities in the tag of a name; -1 without the tag, or if it does not hold one
// quality per base, which sets `is_bad`.
__device__ inline long long tag_qualities(
    const unsigned char* data, long long at, long long end, unsigned name, int bases, bool& is_bad
) {
    while (at < end) {
        const long long size = field_bytes(data, at, end);
        if (size == 0) return -1;
        if (load_u16(data, at) == name) {
            is_bad |= data[at + 2] != 'Z' || size != kTagHead + (long long)bases + 1;
            return is_bad ? -1 : at + kTagHead;
        }
        at += size;
    }
    return -1;
}

// Numbers of bases in a row that equal the base 1 to 8 further on, at a base of a read.
struct Matches {
    int counts[kUnits] = {};

    // `following` has the next eight bases, the next one in the lowest byte.
    __device__ void extend(unsigned char base, unsigned long long following) {
#pragma unroll
        for (int k = 0; k < kUnits; ++k) {
            counts[k] = (unsigned char)(following >> 8 * k) == base ? counts[k] + 1 : 0;
        }
    }
    // Returns the length of the shortest unit that is followed by a copy of itself, or 1.
    __device__ int shortest_unit() const {
        int unit = 1;
#pragma unroll
        for (int length = kUnits; length > 0; --length) {
            if (counts[length - 1] >= length) unit = length;
        }
        return unit;
    }
    __device__ int copies(int unit) const {
        int copies = 0;
#pragma unroll
        for (int length = 1; length <= kUnits; ++length) {
            if (unit == length) copies = min(counts[length - 1] / length, kMaxCopies);
        }
        return copies;
    }
};

}  // namespace

// Copies the bases of each part, and prepares its base qualities and gap-open qualities, without
// the limits in repeats; a warp per part. Part k has the bases part_starts[k] on of the query
// queries[k], which is the record reads[k]; is_reversed tells whether its qualities are in the
// other order than in the record. Tags of reads without a cap, the unmapped, are not used.
// is_faulty[0] becomes 1 if a record has no base qualities, or a bad tag BI or BD.
extern "C" __global__ void prepare_parts(
    const unsigned char* data,
    const long long* record_starts,
    const long long* tag_starts,
    const int* base_counts,
    const unsigned char* caps,
    const unsigned char* uses_tags,
    const unsigned char* query_bases,
    const long long* query_offsets,
    const long long* queries,
    const long long* reads,
    const unsigned char* is_reversed,
    const long long* part_starts,
    const long long* offsets,
    unsigned char* bases,
    unsigned char* qualities,
    unsigned char* insertions,
    unsigned char* deletions,
    int* is_faulty,
    long long /* size */,
    int /* records */,
    long long /* query bases */,
    int /* queries */,
    int parts,
    long long /* total */,
    int /* 1 */,
    int gap_open,
    int threshold,
    int min_quality
) {
    for (int part = first_warp(); part < parts; part += all_warps()) {
        const long long read = reads[part], to = offsets[part];
        const int count = (int)(offsets[part + 1] - to), all = base_counts[read];
        const long long tags = tag_starts[read];
        const unsigned char* from = data + tags - all;  // the qualities precede the tags
        const unsigned char* letters =
            query_bases + query_offsets[queries[part]] + part_starts[part];
        long long inserted = -1, deleted = -1;
        bool is_bad = from[is_reversed[part] ? all - 1 : 0] == kMissingQuality;
        if (uses_tags[read]) {
            const long long start = record_starts[read];
            const long long end = start + 4 + load_i32(data, start);
            inserted = tag_qualities(data, tags, end, kInsertions, all, is_bad);
            deleted = tag_qualities(data, tags, end, kDeletions, all, is_bad);
            // All qualities of a tag count, not only those of the part.
            for (int k = lane_id(); k < all; k += kWarpLanes) {
                const int first = inserted < 0 ? kFirstLetter : data[inserted + k];
                const int second = deleted < 0 ? kFirstLetter : data[deleted + k];
                is_bad |= min(first, second) < kFirstLetter || max(first, second) > kLastLetter;
            }
        }
        if (is_bad) is_faulty[0] = 1;
        const int cap = caps[read];
        for (int k = lane_id(); k < count; k += kWarpLanes) {
            const int base = (int)part_starts[part] + k;
            const int quality = min((int)from[is_reversed[part] ? all - 1 - base : base], cap);
            bases[to + k] = letters[k];
            qualities[to + k] = (unsigned char)(quality >= threshold ? quality : min_quality);
            const int opened = inserted < 0 ? gap_open : data[inserted + base] - kFirstLetter;
            const int closed = deleted < 0 ? gap_open : data[deleted + base] - kFirstLetter;
            insertions[to + k] = (unsigned char)opened;
            deletions[to + k] = (unsigned char)closed;
        }
    }
}

// Limits gap-open qualities by the copies of the repeat that an indel after each base would
// change, except at the last base of a part; none becomes lower than min_quality. `repeats` is
// work space. A thread per part: it counts the copies after each base from the end of the part,
// then the copies before it.
extern "C" __global__ void limit_gap_opens(
    const unsigned char* bases,
    const long long* offsets,
    const unsigned char* limits,
    unsigned char* repeats,
    unsigned char* insertions,
    unsigned char* deletions,
    long long /* total */,
    int parts,
    int /* limits */,
    int min_quality
) {
    for (int part = first_thread(); part < parts; part += all_threads()) {
        const long long start = offsets[part];
        const int count = (int)(offsets[part + 1] - start);
        const unsigned char* row = bases + start;
        unsigned char* units_and_copies = repeats + start;
        Matches after;
        unsigned long long following = 0;
        for (int at = count - 1; at > 0; --at) {
            after.extend(row[at], following);
            following = following << 8 | row[at];
            const int unit = after.shortest_unit();
            units_and_copies[at] =
                (unsigned char)((1 + after.copies(unit)) << kUnitBits | (unit - 1));
        }
        Matches before;
        following = 0;
        for (int k = 0; k < kUnits && k < count; ++k) {
            following |= (unsigned long long)row[k] << 8 * k;
        }
        for (int at = 0; at < count; ++at) {
            int limit = 255;
            if (at + 1 < count) {
                // The bases after this one.
                following = following >> 8;
                if (at + kUnits < count) following |= (unsigned long long)row[at + kUnits] << 56;
                before.extend(row[at], following);
                const int found = units_and_copies[at + 1];
                const int unit = (found & (kUnits - 1)) + 1;
                const int copies = (found >> kUnitBits) + before.copies(unit);
                limit = limits[min(copies, kMaxCopies)];
            }
            const long long base = start + at;
            insertions[base] = (unsigned char)max(min((int)insertions[base], limit), min_quality);
            deletions[base] = (unsigned char)max(min((int)deletions[base], limit), min_quality);
        }
    }
}
