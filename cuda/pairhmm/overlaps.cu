// Read-haplotype pairs grouped by locus (hapgpu/pairhmm/reads/cuda/pairs_by_locus.py), and counts of
// reads.

#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "io/bam/records.cuh"

namespace {

constexpr int kUnmapped = 4;
constexpr int kRowBits = 32;

// Tells whether the sorted pair at `row` is the first of its locus.
__device__ inline bool is_first_of_locus(const long long* keys, int row) {
    return row == 0 || keys[row] >> kRowBits != keys[row - 1] >> kRowBits;
}

// Tells whether the sorted pair at `row` is the first of a read at a locus.
__device__ inline bool is_first(const long long* keys, const long long* reads, int row) {
    return is_first_of_locus(keys, row) || reads[(int)keys[row]] != reads[(int)keys[row - 1]];
}

}  // namespace

// Counts the reads that have the flags but are unmapped: totals[0], or have no bases: totals[1].
extern "C" __global__ void __launch_bounds__(128) count_excluded(
    Records records, int* totals, int require_flags, int exclude_flags
) {
    int unmapped = 0, without_bases = 0;
    for (int row = first_thread(); row < records.count; row += all_threads()) {
        const int flag = records.flags[row];
        if ((flag & require_flags) != require_flags || flag & exclude_flags) continue;
        if (flag & kUnmapped) ++unmapped;
        else if (records.base_counts[row] == 0) ++without_bases;
    }
    if (unmapped) atomicAdd(&totals[0], unmapped);
    if (without_bases) atomicAdd(&totals[1], without_bases);
}

// Makes the key by which each pair is sorted: its locus, then its row.
extern "C" __global__ void __launch_bounds__(128) make_keys(
    const int* haplotypes, const long long* locus_index, long long* keys, int pairs
) {
    for (int row = first_thread(); row < pairs; row += all_threads()) {
        keys[row] = locus_index[haplotypes[row]] << kRowBits | row;
    }
}

// Marks the first pair of each overlap of a read with a locus by 1, and, kRowBits higher, the first
// pair of each locus.
extern "C" __global__ void __launch_bounds__(128) mark_overlaps(
    const long long* keys, const long long* reads, long long* marks, int pairs
) {
    for (int row = first_thread(); row < pairs; row += all_threads()) {
        const long long starts_locus = is_first_of_locus(keys, row);
        marks[row] = starts_locus << kRowBits | is_first(keys, reads, row);
    }
}

// Lists the overlaps: the read, the locus, and the first pair of each; starts[overlaps] is the
// number of pairs. Also the first overlap of each locus; first[loci] is the number of overlaps.
// numbers[row] are the sums of the marks up to each pair. order[row] is the row of each sorted pair
// in the input.
extern "C" __global__ void __launch_bounds__(128) list_overlaps(
    const long long* keys, const long long* reads, const long long* numbers,
    long long* overlap_reads, long long* overlap_loci, long long* starts, long long* first,
    long long* order, int pairs, int overlaps, int loci
) {
    if (first_thread() == 0) {
        starts[overlaps] = pairs;
        first[loci] = overlaps;
    }
    for (int row = first_thread(); row < pairs; row += all_threads()) {
        const long long key = keys[row];
        order[row] = (int)key;
        if (!is_first(keys, reads, row)) continue;
        const int overlap = (int)numbers[row] - 1;
        overlap_reads[overlap] = reads[(int)key];
        overlap_loci[overlap] = key >> kRowBits;
        starts[overlap] = row;
        if (is_first_of_locus(keys, row)) first[(numbers[row] >> kRowBits) - 1] = overlap;
    }
}

// Counts the haplotypes of the locus of each group, sizes[group + 1]; first[group] is its first
// overlap.
extern "C" __global__ void __launch_bounds__(128) measure_groups(
    const long long* loci, const long long* first, const long long* member_offsets,
    long long* sizes, int groups
) {
    if (first_thread() == 0) sizes[0] = 0;
    for (int group = first_thread(); group < groups; group += all_threads()) {
        const long long locus = loci[first[group]];
        sizes[group + 1] = member_offsets[locus + 1] - member_offsets[locus];
    }
}

// Finds the bases of the haplotypes of all groups, group by group: where each starts, and how many
// they are, lengths[row + 1].
extern "C" __global__ void __launch_bounds__(128) find_members(
    const long long* loci, const long long* first, const long long* offsets,
    const long long* member_offsets, const long long* members, const long long* base_offsets,
    long long* starts, long long* lengths, int groups, int rows
) {
    if (first_thread() == 0) lengths[0] = 0;
    for (int row = first_thread(); row < rows; row += all_threads()) {
        const int group = count_at_most(offsets, groups + 1, row) - 1;
        const long long place = member_offsets[loci[first[group]]] + row - offsets[group];
        const long long haplotype = members[place];
        starts[row] = base_offsets[haplotype];
        lengths[row + 1] = base_offsets[haplotype + 1] - base_offsets[haplotype];
    }
}
