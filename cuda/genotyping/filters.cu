// Reads kept for genotyping: the filters of hapgpu/genotyping/reads/filters.py, the order and the
// overlaps of hapgpu/genotyping/reads/read_buffer.py.

#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "io/bam/record.cuh"
#include "io/bam/records.cuh"

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

// Columns of DeviceLocusIntervals of hapgpu/genotyping/reads/cuda/read_buffer.py: intervals by
// ascending start; `max_ends` has the largest end up to each.
struct Intervals {
    const long long* starts;
    const long long* max_ends;
    int count;

    __device__ bool overlap(long long start, long long end) const {
        const int started = count_at_most(starts, count, end - 1);
        return started > 0 && max_ends[started - 1] > start;
    }
};

// Reads that end up to `needed_from`, have an excluded flag, or too low a mapping quality, are not
// kept; `last_key` is the key of the record before the first.
struct Filter {
    long long last_key, needed_from;
    int exclude_flags, min_mapping_quality;
};

// The keys of the intervals that reads are aligned to, and which reads are kept.
struct Filtered {
    long long* starts;
    long long* ends;
    unsigned char* kept;
};

// Adds the number of lanes for which `counts` holds; called by all lanes of a warp.
__device__ inline void add_lanes(unsigned long long* total, bool counts) {
    const unsigned lanes = __ballot_sync(kAllLanes, counts);
    if (lanes && lane_id() == 0) atomicAdd(total, (unsigned long long)__popc(lanes));
}

}  // namespace

// Marks the reads to keep. `wanted` are the intervals of the loci, or none: then every read that
// ends after `needed_from` is wanted. Reads that overlap `counted` intervals were counted before.
// A thread per record.
extern "C" __global__ void __launch_bounds__(128) filter_reads(
    Records records, Intervals wanted, Intervals counted, Filter filter, Filtered filtered,
    unsigned long long* status
) {
    const int* contigs = records.reference_ids;
    for (int first = first_thread() - lane_id(); first < records.count; first += all_threads()) {
        const int row = first + lane_id();
        const bool is_record = row < records.count;
        int failed = kReads;
        bool is_new = false, is_kept = false;
        if (is_record) {
            const long long start = key_of(contigs[row], records.positions[row]);
            const long long before =
                row ? key_of(contigs[row - 1], records.positions[row - 1]) : filter.last_key;
            if (start < before) atomicMin(&status[kUnsorted], (unsigned long long)row);
            if (row == records.count - 1) status[kLastKey] = (unsigned long long)start;
            const unsigned flags = records.flags[row];
            const int operations = records.cigar_lengths[row];
            const int quality = records.mapping_qualities[row];
            const long long end =
                start + span_of(records.data, records.cigar_starts[row], operations, flags);
            if (flags & filter.exclude_flags) {
                failed = kByFlags;
            } else if (records.base_counts[row] == 0 || operations == 0) {
                failed = kWithoutAlignment;
            } else if (quality == kNoMappingQuality) {
                failed = kWithoutMappingQuality;
            } else if (quality < filter.min_mapping_quality) {
                failed = kLowMappingQuality;
            }
            const bool is_wanted = wanted.count == 0 || wanted.overlap(start, end);
            is_new = is_wanted && !counted.overlap(start, end);
            is_kept = failed == kReads && is_wanted && end > filter.needed_from;
            filtered.starts[row] = start;
            filtered.ends[row] = end;
            filtered.kept[row] = is_kept;
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
    const long long* starts, const long long* ends, Intervals wanted, unsigned char* marks,
    int reads
) {
    for (int row = first_thread(); row < reads; row += all_threads()) {
        marks[row] = wanted.overlap(starts[row], ends[row]);
    }
}
