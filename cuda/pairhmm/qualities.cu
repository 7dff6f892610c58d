// Qualities of reads for the pair-HMM, prepared as by GATK: the same as
// hapgpu/pairhmm/reads/qualities.py, on BAM records.

#include "common/grid.cuh"
#include "io/bam/bases.cuh"
#include "io/bam/records.cuh"
#include "io/bam/tags.cuh"
#include "pairhmm/read_columns.cuh"

namespace {

constexpr unsigned kInsertions = 'B' | 'I' << 8, kDeletions = 'B' | 'D' << 8;
constexpr unsigned char kFirstQuality = 33, kLastQuality = 126;
constexpr int kLongestUnit = 8, kMaxCopies = 20;
constexpr unsigned char kMinQuality = 6;

// Parts of reads; the bases of part k are written from offsets[k] of the output on.
struct Parts {
    const long long* reads;
    const long long* starts;
    const long long* offsets;
    int count;
};

// Tells whether the field at `at` holds a quality for each of `count` bases, as in FASTQ.
__device__ inline bool holds_qualities(
    const unsigned char* data, long long at, long long size, int count
) {
    if (data[at + 2] != 'Z' || size != kTagHead + count + 1ll) return false;
    for (int k = 0; k < count; ++k) {
        const unsigned char letter = data[at + kTagHead + k];
        if (letter < kFirstQuality || letter > kLastQuality) return false;
    }
    return true;
}

// Counts the copies of the repeat that an indel before base `at` would change. The unit is the
// shortest of at most 8 bases that is repeated from `at` on, or one base; `at` is above 0.
__device__ inline int repeat_copies(const unsigned char* bases, int length, int at) {
    int unit = 1;
    for (int size = 1; size <= kLongestUnit && at + 2 * size <= length; ++size) {
        int same = 0;
        while (same < size && bases[at + same] == bases[at + same + size]) ++same;
        if (same == size) {
            unit = size;
            break;
        }
    }
    const int most = kMaxCopies * unit;
    int after = 0, before = 0;
    const int first_end = min(most, length - unit - at);
    while (after < first_end && bases[at + after] == bases[at + after + unit]) ++after;
    const int last_end = at + unit <= length ? min(most, at) : 0;
    while (before < last_end && bases[at - 1 - before] == bases[at - 1 - before + unit]) ++before;
    return min(1 + after / unit + before / unit, kMaxCopies);
}

}  // namespace

// Finds the values of the tags BI and BD of each record, -1 for none; the columns of faults become
// the first record whose tag does not hold a quality per base. A thread per record.
extern "C" __global__ void __launch_bounds__(128) find_indel_qualities(
    Records records, long long* insertions, long long* deletions, int* first_faults
) {
    const unsigned char* data = records.data;
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        long long insertion = -1, deletion = -1;
        if (records.tag_lengths[row] > 0) {
            const long long start = records.starts[row], end = start + 4 + load_i32(data, start);
            for (long long at = records.tag_starts[row]; at < end;) {
                const long long size = field_bytes(data, at, end);
                if (size == 0) break;  // the reader refuses such records
                const unsigned name = load_u16(data, at);
                const bool is_insertion = name == kInsertions && insertion < 0;
                const bool is_deletion = name == kDeletions && deletion < 0;
                if (is_insertion || is_deletion) {
                    (is_insertion ? insertion : deletion) = at + kTagHead;
                    if (!holds_qualities(data, at, size, records.base_counts[row])) {
                        atomicMin(&first_faults[is_deletion], row);
                    }
                }
                at += size;
            }
        }
        insertions[row] = insertion;
        deletions[row] = deletion;
    }
}

// Writes the bases of parts of reads, and their qualities: of bases, at most caps[read], those
// below `threshold` raised or lowered to kMinQuality; of gap openings, from the tags or
// `gap_open`, at most limits[copies] by the repeat after each base, limits[0] for the last base. A
// warp per part. A reversed read has no tags.
extern "C" __global__ void __launch_bounds__(128, 8) prepare_qualities(
    Records records, const unsigned char* caps, const unsigned char* is_reversed,
    const long long* insertions, const long long* deletions, Parts parts,
    const unsigned char* limits, ReadColumns out, int gap_open, int threshold
) {
    const unsigned char* data = records.data;
    for (int part = first_warp(); part < parts.count; part += all_warps()) {
        const long long read = parts.reads[part], to = parts.offsets[part];
        const int length = (int)(parts.offsets[part + 1] - to), first = (int)parts.starts[part];
        const int count = records.base_counts[read], cap = caps[read];
        const unsigned char* qualities = data + records.tag_starts[read] - count;
        const unsigned char* codes = qualities - (count + 1) / 2;
        const bool reversed = is_reversed[read];
        unsigned char* bases = out.bases + to;
        for (int k = lane_id(); k < length; k += kWarpLanes) {
            const int base = reversed ? count - 1 - first - k : first + k;
            const unsigned code = base_code(codes, base);
            bases[k] = letter_of(reversed ? complement_of(code) : code);
            const int quality = min((int)qualities[base], cap);
            out.base_qualities[to + k] = quality >= threshold ? quality : kMinQuality;
        }
        __syncwarp();  // the bases of all lanes are compared
        const long long insertion = insertions[read], deletion = deletions[read];
        for (int k = lane_id(); k < length; k += kWarpLanes) {
            const int copies = k + 1 < length ? repeat_copies(bases, length, k + 1) : 0;
            const int limit = limits[copies], offset = first + k;
            const int inserting =
                insertion < 0 ? gap_open : data[insertion + offset] - kFirstQuality;
            const int deleting = deletion < 0 ? gap_open : data[deletion + offset] - kFirstQuality;
            out.insertion_qualities[to + k] = max((int)kMinQuality, min(inserting, limit));
            out.deletion_qualities[to + k] = max((int)kMinQuality, min(deleting, limit));
        }
    }
}
