// Reads kept for genotyping: the filters of hapgpu/genotyping/reads/filters.py, the order and the
// overlaps of hapgpu/genotyping/reads/read_buffer.py.

#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "io/bam/record.cuh"

namespace {

constexpr int kPositionBits = 32;
constexpr long long kEnd = 0x7fffffffll << kPositionBits, kLongestSpan = 0x7fffffffll;
constexpr unsigned char kNoMappingQuality = 255;

// Rows of `status`: numbers of reads, as in ReadFilter.counts, then what the comments say.
enum Status {
    kReads,
    kByFlags,
    kWithoutAlignment,
    kWithoutMappingQuality,
    kLowMappingQuality,
    kUnsorted,  // the first record that is before the record before it
    kLastKey,   // the key of the last record
    kMaxEnd     // the largest end of a kept read
};

// A contig and a position on it; reads without a contig come after all others.
__device__ inline long long key_of(int contig, int position) {
    return contig < 0 ? kEnd : ((long long)contig << kPositionBits) + max(position, 0);
}

// The reference length of a read, at least 1; 1 for an unmapped read.
__device__ inline long long span_of(
    const unsigned char* data, long long cigar, int operations, unsigned flags
) {
    long long span = 0;
    if (flags & kUnmapped) return 1;
    for (int k = 0; k < operations; ++k) {
        const unsigned element = load_u32(data, cigar + 4ll * k);
        if (kReferenceOperations >> (element & 15) & 1) span += element >> 4;
    }
    return min(max(span, 1ll), kLongestSpan);
}

// Intervals by ascending start; `max_ends` has the largest end up to each.
struct Intervals {
    const long long *starts, *max_ends;
    int size;

    __device__ bool overlap(long long start, long long end) const {
        const int started = count_at_most(starts, size, end - 1);
        return started > 0 && max_ends[started - 1] > start;
    }
};

// Adds the number of lanes for which `counts` holds; called by all lanes of a warp.
__device__ inline void add_lanes(unsigned long long* total, bool counts) {
    const unsigned lanes = __ballot_sync(kAllLanes, counts);
    if (lanes && lane_id() == 0) atomicAdd(total, (unsigned long long)__popc(lanes));
}

}  // namespace

// Marks the reads to keep, with the keys of the intervals that they are aligned to. `wanted` are
// the intervals of the loci, or none: then every read that ends after `needed_from` is wanted.
// Reads that overlap `counted` intervals were counted before. A thread per record.
extern "C" __global__ void __launch_bounds__(128) filter_reads(
    const unsigned char* data, const long long* cigar_starts, const int* cigar_lengths,
    const int* base_counts, const unsigned short* flags, const int* reference_ids,
    const int* positions, const unsigned char* mapping_qualities, const long long* wanted_starts,
    const long long* wanted_max_ends, const long long* counted_starts,
    const long long* counted_max_ends, long long* starts, long long* ends, unsigned char* kept,
    unsigned long long* status, long long /* bytes of data */, int records, int wanted_count,
    int counted_count, int /* rows of status */, long long last_key, long long needed_from,
    int exclude_flags, int min_mapping_quality
) {
    const Intervals wanted = {wanted_starts, wanted_max_ends, wanted_count};
    const Intervals counted = {counted_starts, counted_max_ends, counted_count};
    for (int first = first_thread() - lane_id(); first < records; first += all_threads()) {
        const int row = first + lane_id();
        const bool is_record = row < records;
        int failed = kReads;
        bool is_new = false, is_kept = false;
        if (is_record) {
            const long long start = key_of(reference_ids[row], positions[row]);
            const long long before =
                row ? key_of(reference_ids[row - 1], positions[row - 1]) : last_key;
            if (start < before) atomicMin(&status[kUnsorted], (unsigned long long)row);
            if (row == records - 1) status[kLastKey] = (unsigned long long)start;
            const unsigned read_flags = flags[row];
            const int operations = cigar_lengths[row], quality = mapping_qualities[row];
            const long long end = start + span_of(data, cigar_starts[row], operations, read_flags);
            if (read_flags & exclude_flags) {
                failed = kByFlags;
            } else if (base_counts[row] == 0 || operations == 0) {
                failed = kWithoutAlignment;
            } else if (quality == kNoMappingQuality) {
                failed = kWithoutMappingQuality;
            } else if (quality < min_mapping_quality) {
                failed = kLowMappingQuality;
            }
            const bool is_wanted = wanted_count == 0 || wanted.overlap(start, end);
            is_new = is_wanted && !counted.overlap(start, end);
            is_kept = failed == kReads && is_wanted && end > needed_from;
            starts[row] = start;
            ends[row] = end;
            kept[row] = is_kept;
            if (is_kept) atomicMax(&status[kMaxEnd], (unsigned long long)end);
        }
        add_lanes(&status[kReads], is_new);
        for (int reason = kByFlags; reason <= kLowMappingQuality; ++reason) {
            add_lanes(&status[reason], is_new && failed == reason);
        }
    }
}

// Marks the reads, by the keys of their intervals, that overlap given intervals.
extern "C" __global__ void __launch_bounds__(128) mark_reads(
    const long long* starts, const long long* ends, const long long* wanted_starts,
    const long long* wanted_max_ends, unsigned char* marks, int reads, int wanted_count
) {
    const Intervals wanted = {wanted_starts, wanted_max_ends, wanted_count};
    for (int row = first_thread(); row < reads; row += all_threads()) {
        marks[row] = wanted.overlap(starts[row], ends[row]);
    }
}
