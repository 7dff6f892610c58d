// Projection of alignments with haplotypes onto the reference, as in GATK HaplotypeCaller: the same
// as hapgpu/realign/projection/project.py.
//
// A thread per alignment. CIGARs are made in global memory. New CIGARs are measured, then written,
// by the same code.

#include "cigar/compose.cuh"
#include "cigar/left_align.cuh"
#include "common/grid.cuh"
#include "common/rows.cuh"

namespace {

constexpr long long kHaplotypeOverhang = 1000;  // bases that reads may extend after their haplotype
constexpr long long kMaxLength = (1 << 28) - 1;  // of an element in BAM

struct Alignments {
    Rows<unsigned char> bases;  // without soft clips
    const long long* queries;   // of bases, for each alignment
    Rows<unsigned> cigars;
    const int* starts;
    const int* haplotypes;
    const int* leading;   // soft clips to add before the CIGAR
    const int* trailing;  // and after it
};

// Columns of PlacedHaplotypes of hapgpu/realign/projection/project.py.
struct Haplotypes {
    Rows<unsigned> cigars;
    const long long* starts;
    const int* reference_index;
    Rows<unsigned char> references;
    const long long* reference_starts;
};

// Memory of `count` threads, interleaved, for CIGARs of at most these numbers of elements.
struct Workspaces {
    long long* memory;
    int count, read_elements, haplotype_elements;
};

// Memory of one thread; each step adds a known number of elements at most.
struct Workspace {
    Elements read, haplotype, padded, trimmed, composed, result, reversed;

    __device__ __forceinline__ Workspace(const Workspaces& workspaces, int number) {
        const long long read_elements = workspaces.read_elements;
        const long long haplotype_elements = workspaces.haplotype_elements;
        const long long all = read_elements + haplotype_elements + 1;
        read = Elements{workspaces.memory + number, workspaces.count};
        haplotype = read.from(read_elements);
        padded = haplotype.from(haplotype_elements);
        trimmed = padded.from(haplotype_elements + 1);
        composed = trimmed.from(all);
        result = composed.from(all);
        reversed = result.from(LeftAligner::room(all));
    }
};

// A CIGAR, bases to clip before and after it, and its start; without a start there is none.
struct Projection {
    Built cigar;
    long long leading, trailing, start;
};

// Returns the offset in the reference of base `start` of the haplotype, -1 if it has none. At an
// insertion, the next base; between two elements, the end of the first.
__device__ inline long long reference_start(const Built& cigar, long long start) {
    if (start == 0) return 0;
    long long haplotype_end = 0, reference_end = 0;
    for (long long k = 0; k < cigar.size; ++k) {
        const int operation = operation_of(cigar[k]);
        if (consumes_reference(operation)) reference_end += length_of(cigar[k]);
        if (consumes_query(operation)) haplotype_end += length_of(cigar[k]);
        if (haplotype_end >= start) {
            return reference_end - (consumes_reference(operation) ? haplotype_end - start : 0);
        }
    }
    return -1;
}

// Cuts indels off the ends of a CIGAR; counts the bases inserted at both, and those deleted at the
// start.
__device__ inline Built without_ends(const Built& cigar, long long& leading, long long& trailing,
                                     long long& deleted) {
    long long first = 0, last = cigar.size;
    while (first < last && !is_alignment(operation_of(cigar[first]))) {
        const int operation = operation_of(cigar[first]);
        if (consumes_query(operation)) leading += length_of(cigar[first]);
        if (consumes_reference(operation)) deleted += length_of(cigar[first]);
        ++first;
    }
    while (last > first && !is_alignment(operation_of(cigar[last - 1]))) {
        if (consumes_query(operation_of(cigar[last - 1]))) trailing += length_of(cigar[last - 1]);
        --last;
    }
    return {cigar.elements.from(first), last - first};
}

__device__ __forceinline__ Projection project(const Stored& read_cigar, const Stored& haplotype_cigar,
                                              long long start, const Sequence& read,
                                              const Sequence& reference, bool clip_ends,
                                              const Workspace& work) {
    const Projection none = {{work.result, 0}, 0, 0, -1};
    CigarBuilder haplotype(work.haplotype, true);
    haplotype.add_all(haplotype_cigar);
    if (!haplotype.finish()) return none;
    CigarBuilder padded(work.padded);
    padded.add_all(haplotype.built());
    padded.add(kHaplotypeOverhang, kM);
    if (!padded.finish()) return none;

    CigarBuilder own(work.read);
    own.add_all(read_cigar);
    if (!own.finish()) return none;
    long long at = reference_start(padded.built(), start);
    if (at < 0) return none;
    CigarBuilder trimmed(work.trimmed);
    const long long haplotype_end = query_length(padded.built()) - 1;
    if (!trim_cigar(trimmed, padded.built(), start, haplotype_end)) return none;
    CigarBuilder composed(work.composed);
    if (!compose_cigars(composed, own.built(), trimmed.built())) return none;

    Built cigar = composed.built();
    Projection made = none;
    Sequence query = read;
    if (clip_ends) {
        long long deleted = 0;
        cigar = without_ends(cigar, made.leading, made.trailing, deleted);
        at += deleted;
        if (made.leading + made.trailing > read.size) return none;
        query = {read.bases + made.leading, read.size - made.leading - made.trailing};
    }
    if (cigar.size == 0) return none;
    LeftAligner aligner(work.reversed, reference, query);
    CigarBuilder result(work.result);
    if (!aligner.align(result, cigar, at)) return none;
    made.cigar = result.built();
    made.start = at + result.leading_removed;
    return made;
}

__device__ __forceinline__ Projection project_row(const Alignments& alignments,
                                                  const Haplotypes& haplotypes, long long row,
                                                  bool clip_ends, const Workspace& work) {
    const int haplotype = alignments.haplotypes[row];
    const int locus = haplotypes.reference_index[haplotype];
    const long long query = alignments.queries[row];
    Projection made = project(
        Stored{alignments.cigars.at(row), alignments.cigars.size(row)},
        Stored{haplotypes.cigars.at(haplotype), haplotypes.cigars.size(haplotype)},
        alignments.starts[row],
        Sequence{alignments.bases.at(query), alignments.bases.size(query)},
        Sequence{haplotypes.references.at(locus), haplotypes.references.size(locus)}, clip_ends,
        work);
    made.leading += alignments.leading[row];
    made.trailing += alignments.trailing[row];
    return made;
}

// Returns the number of elements of a CIGAR with its clips; 0 if one of them is too long for BAM.
__device__ inline long long count_elements(const Projection& made) {
    long long longest = max(made.leading, made.trailing);
    for (long long k = 0; k < made.cigar.size; ++k) {
        longest = max(longest, length_of(made.cigar[k]));
    }
    if (longest > kMaxLength) return 0;
    return (made.leading > 0) + made.cigar.size + (made.trailing > 0);
}

__device__ inline void write_elements(const Projection& made, unsigned* out) {
    if (made.leading > 0) *out++ = cigar_run((int)made.leading, kS);
    for (long long k = 0; k < made.cigar.size; ++k) *out++ = (unsigned)made.cigar[k];
    if (made.trailing > 0) *out = cigar_run((int)made.trailing, kS);
}

}  // namespace

// Sets the number of elements, 0 for none, and the position, -1 for none, of the alignments `rows`.
extern "C" __global__ void __launch_bounds__(128, 4) measure_projections(
    const long long* rows, Alignments alignments, Haplotypes haplotypes, Workspaces workspaces,
    long long* sizes, long long* positions, int row_count, int clip_ends
) {
    if (first_thread() >= workspaces.count) return;
    const Workspace work(workspaces, first_thread());
    for (int k = first_thread(); k < row_count; k += min(workspaces.count, all_threads())) {
        const long long row = rows[k];
        const Projection made = project_row(alignments, haplotypes, row, clip_ends, work);
        const long long size = made.start < 0 ? 0 : count_elements(made);
        const int haplotype = alignments.haplotypes[row];
        const int locus = haplotypes.reference_index[haplotype];
        sizes[row] = size;
        positions[row] = size == 0 ? -1
                                   : haplotypes.reference_starts[locus] +
                                         haplotypes.starts[haplotype] + made.start;
    }
}

// Writes the CIGARs that were measured.
extern "C" __global__ void __launch_bounds__(128, 4) write_projections(
    const long long* rows, Alignments alignments, Haplotypes haplotypes, Workspaces workspaces,
    const long long* out_offsets, unsigned* out, int row_count, int clip_ends
) {
    if (first_thread() >= workspaces.count) return;
    const Workspace work(workspaces, first_thread());
    for (int k = first_thread(); k < row_count; k += min(workspaces.count, all_threads())) {
        const long long row = rows[k];
        if (out_offsets[row + 1] == out_offsets[row]) continue;
        write_elements(project_row(alignments, haplotypes, row, clip_ends, work),
                       out + out_offsets[row]);
    }
}
