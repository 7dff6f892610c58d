// Reads clipped to loci: the same as hapgpu/genotyping/reads/clipped_reads.py. A thread per
// read.

#include "cigar/record_cigars.cuh"
#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "io/bam/record.cuh"

namespace {

constexpr unsigned kAlignedOperations = kQueryOperations & kReferenceOperations;

// Records, and their CIGARs.
struct Reads {
    RecordCigars cigars;
    const int* positions;
    const int* base_counts;

    __device__ explicit Reads(const Records& records)
        : cigars(records), positions(records.positions), base_counts(records.base_counts) {}
};

// Columns of DeviceLoci of hapgpu/genotyping/reads/cuda/evidence.py: loci in the order of their
// sites. `min_starts` has the smallest start from each locus on, `max_ends` the largest end up to
// each.
struct Loci {
    const long long* starts;
    const long long* ends;
    const long long* min_starts;
    const long long* max_ends;
    int count;
};

// Clipped reads: their rows of the records, their loci, bases, and reference intervals.
struct ClippedReads {
    long long* reads;
    long long* loci;
    long long* base_starts;
    long long* base_ends;
    long long* starts;
    long long* ends;
};

// The reference interval of a read, with and without soft-clipped bases, and the loci that it may
// overlap; none if the read has no aligned base.
struct Span {
    long long start, aligned_start, aligned_end, end;
    int first, last;

    __device__ Span(const Reads& reads, const Loci& loci, int row) {
        long long before = 0, columns = 0, after = 0, bases = 0, aligned = 0;
        const int size = reads.cigars.sizes[row];
        for (int k = 0; k < size; ++k) {
            const unsigned element = reads.cigars.element(row, k), operation = element & 15;
            const long long length = element >> 4;
            if (kQueryOperations >> operation & 1) bases += length;
            if (kAlignedOperations >> operation & 1) aligned += length;
            if (kReferenceOperations >> operation & 1) {
                columns += length;
                after = 0;
            } else if (operation == kSoftClip) {
                (columns == 0 ? before : after) += length;
            }
        }
        aligned_start = reads.positions[row];
        aligned_end = aligned_start + columns;
        start = aligned_start - before;
        end = aligned_end + after;
        first = last = 0;
        if (aligned > 0 && bases == reads.base_counts[row]) {
            first = count_at_most(loci.max_ends, loci.count, start);
            last = count_at_most(loci.min_starts, loci.count, end - 1);
        }
    }

    __device__ bool overlaps(long long low, long long high, int margin) const {
        return low < end && start < high && low - margin < aligned_end
            && aligned_start < high + margin;
    }
};

// Offset in an alignment, before an element of the CIGAR: the position, the bases before it, and
// the end of the reference interval that these bases cover.
struct Offset {
    int element;
    long long position, base, covered;

    // The bases before a position in the element that `walked` returned.
    __device__ long long bases_before(int elements, long long target) const {
        return element < elements && target > position ? target - position : 0;
    }
};

// Advances to the first element that has a base at the target or after it. Clips within the
// aligned interval take no positions.
__device__ inline Offset walked(
    const Reads& reads, int row, const Span& span, Offset at, long long target
) {
    const int elements = reads.cigars.sizes[row];
    for (; at.element < elements; ++at.element) {
        const unsigned element = reads.cigars.element(row, at.element), operation = element & 15;
        const bool is_outer_clip = operation == kSoftClip
            && !(span.aligned_start <= at.position && at.position < span.aligned_end);
        const bool moves = is_outer_clip || (kReferenceOperations >> operation & 1);
        const long long columns = moves ? element >> 4 : 0;
        const long long bases = kQueryOperations >> operation & 1 ? element >> 4 : 0;
        if (bases > 0 && at.position + max(columns, 1ll) > target) break;
        at.position += columns;
        at.base += bases;
        if (bases > 0) at.covered = at.position;
    }
    return at;
}

// A clipped read: its bases, and the reference interval that they are aligned to.
struct Clipped {
    long long base_start, base_end, start, end;
};

// Clips a read to its loci, in their order; calls `found(locus, clipped)` if at least `min_bases`
// remain.
template <typename Found>
__device__ inline void clip(
    const Reads& reads, const Loci& loci, int row, int margin, int min_bases, Found found
) {
    const Span span(reads, loci, row);
    const int elements = reads.cigars.sizes[row];
    Offset at = {0, span.start, 0, span.start};
    for (int locus = span.first; locus < span.last; ++locus) {
        if (!span.overlaps(loci.starts[locus], loci.ends[locus], margin)) continue;
        // No later locus starts before this, so that long CIGARs are walked only once.
        at = walked(reads, row, span, at, loci.min_starts[locus] - margin);
        const long long low = loci.starts[locus] - margin, high = loci.ends[locus] + margin;
        const Offset left = walked(reads, row, span, at, low);
        const Offset right = walked(reads, row, span, left, high);
        const long long rest = right.bases_before(elements, high);
        const Clipped clipped = {
            left.base + left.bases_before(elements, low),
            right.base + rest,
            max(left.position, low),
            rest > 0 ? high : right.covered
        };
        if (clipped.base_end - clipped.base_start >= min_bases) found(locus, clipped);
    }
}

}  // namespace

// Counts the clipped reads of each read.
extern "C" __global__ void __launch_bounds__(128, 8) count_clipped_reads(
    Records records, Loci loci, int margin, int min_bases, int* counts
) {
    const Reads reads(records);
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        int found = 0;
        clip(reads, loci, row, margin, min_bases, [&](int, const Clipped&) { ++found; });
        counts[row] = found;
    }
}

// Writes the clipped reads of each read from row `offsets[read]` on.
extern "C" __global__ void __launch_bounds__(128, 8) list_clipped_reads(
    Records records, Loci loci, int margin, int min_bases, const long long* offsets,
    ClippedReads parts
) {
    const Reads reads(records);
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        long long to = offsets[row];
        clip(reads, loci, row, margin, min_bases, [&](int locus, const Clipped& clipped) {
            parts.reads[to] = row;
            parts.loci[to] = locus;
            parts.base_starts[to] = clipped.base_start;
            parts.base_ends[to] = clipped.base_end;
            parts.starts[to] = clipped.start;
            parts.ends[to] = clipped.end;
            ++to;
        });
    }
}
