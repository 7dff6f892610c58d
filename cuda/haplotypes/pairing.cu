// Pairs of BAM records and haplotypes (hapgpu/haplotypes/pairing/cuda.py).

#include "common/binary_search.cuh"
#include "common/bytes.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"
#include "io/bam/records.cuh"

namespace {

// Columns of LocusTable of hapgpu/haplotypes/pairing/pairs.py: loci by start. `max_ends` has the
// largest end up to each.
struct Loci {
    const long long* starts;
    const long long* ends;
    const long long* max_ends;
    Rows<int> haplotypes;
};

// SAM flags that a record must have and must not have, and whether it must have bases.
struct Wanted {
    int require_flags, exclude_flags, needs_bases;

    __device__ bool includes(int flags, int bases) const {
        const bool has_flags = (flags & require_flags) == require_flags;
        return has_flags && !(flags & exclude_flags) && (bases > 0 || !needs_bases);
    }
};

// The loci that records overlap: of the loci from `first` to `end`, which start before the record
// ends, those that end after `read_starts`.
struct Overlaps {
    int* first;
    int* end;
    long long* read_starts;
};

constexpr int kUnmapped = 4;
constexpr unsigned kReferenceOperations = 0x18d;  // M D N = X consume the reference
constexpr long long kContig = 1ll << 32;
constexpr long long kLastPosition = kContig - 1;

// Returns a key that sorts by contig and position.
__device__ inline long long key_of(int contig, long long position) {
    return contig * kContig + min(position, kLastPosition);
}

// Returns the bases of the reference that a record covers; samtools treats an unmapped read as one
// base long.
__device__ inline long long span_of(
    const unsigned char* data, long long cigar, int operations, bool is_unmapped
) {
    long long span = 0;
    for (int k = 0; k < operations && !is_unmapped; ++k) {
        const unsigned element = load_u32(data, cigar + 4ll * k);
        if (kReferenceOperations >> (element & 15) & 1) span += element >> 4;
    }
    return max(span, 1ll);
}

}  // namespace

// Counts the haplotypes of each wanted record at the loci that it overlaps; a thread per record.
extern "C" __global__ void count_pairs(
    Records records, Loci loci, Wanted wanted, Overlaps overlaps, long long* counts
) {
    const int all_loci = loci.haplotypes.count;
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        const int flags = records.flags[row];
        long long count = 0, start = 0;
        int first = 0, end = 0;
        if (wanted.includes(flags, records.base_counts[row])) {
            const long long cigar = records.cigar_starts[row];
            const int operations = records.cigar_lengths[row];
            const long long span = span_of(records.data, cigar, operations, flags & kUnmapped);
            const int contig = records.reference_ids[row], position = records.positions[row];
            start = key_of(contig, position);
            const long long last = key_of(contig, position + span) - 1;
            first = count_at_most(loci.max_ends, all_loci, start);
            end = count_at_most(loci.starts, all_loci, last);
            for (int k = first; k < end; ++k) {
                if (loci.ends[k] > start) count += loci.haplotypes.size(k);
            }
        }
        overlaps.first[row] = first;
        overlaps.end[row] = end;
        overlaps.read_starts[row] = start;
        counts[row] = count;
    }
}

// Writes the haplotypes of each selected record, locus by locus; a warp per record. A record whose
// offsets are equal gets none.
extern "C" __global__ void list_pairs(
    const long long* selected, Overlaps overlaps, Loci loci, const long long* offsets, int* out,
    int reads
) {
    for (int read = first_warp(); read < reads; read += all_warps()) {
        long long to = offsets[read];
        if (offsets[read + 1] == to) continue;
        const long long row = selected[read];
        const long long start = overlaps.read_starts[row];
        for (int k = overlaps.first[row]; k < overlaps.end[row]; ++k) {
            if (loci.ends[k] <= start) continue;
            const int* haplotypes = loci.haplotypes.at(k);
            const int count = (int)loci.haplotypes.size(k);
            for (int i = lane_id(); i < count; i += kWarpLanes) out[to + i] = haplotypes[i];
            to += count;
        }
    }
}
