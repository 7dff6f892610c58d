// Pairs of BAM records and haplotypes (hapgpu/haplotypes/pairing/cuda.py).

#include "common/binary_search.cuh"
#include "common/bytes.cuh"
#include "common/warp.cuh"

namespace {

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

// Counts the haplotypes of each record that has the flags, and bases if these are needed, at the
// loci that it overlaps; a thread per record. The loci from first_loci[row] to end_loci[row] start
// before the record ends; those that end after read_starts[row] overlap it. Loci are ordered by
// start; max_ends[k] is the largest end up to locus k.
extern "C" __global__ void count_pairs(
    const unsigned char* data,
    const long long* cigar_starts,
    const int* cigar_lengths,
    const int* base_counts,
    const unsigned short* flags,
    const int* reference_ids,
    const int* positions,
    const long long* locus_starts,
    const long long* locus_ends,
    const long long* max_ends,
    const long long* haplotype_offsets,
    long long size,
    int rows,
    int loci,
    int require_flags,
    int exclude_flags,
    int needs_bases,
    int* first_loci,
    int* end_loci,
    long long* read_starts,
    long long* counts
) {
    const int threads = gridDim.x * blockDim.x;
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += threads) {
        const int flag = flags[row];
        const bool has_flags = (flag & require_flags) == require_flags && !(flag & exclude_flags);
        const bool is_used = has_flags && (base_counts[row] > 0 || !needs_bases);
        long long count = 0, start = 0;
        int first = 0, end = 0;
        if (is_used) {
            const long long span =
                span_of(data, cigar_starts[row], cigar_lengths[row], flag & kUnmapped);
            start = key_of(reference_ids[row], positions[row]);
            const long long last = key_of(reference_ids[row], positions[row] + span) - 1;
            first = count_at_most(max_ends, loci, start);
            end = count_at_most(locus_starts, loci, last);
            for (int k = first; k < end; ++k) {
                if (locus_ends[k] > start) count += haplotype_offsets[k + 1] - haplotype_offsets[k];
            }
        }
        first_loci[row] = first;
        end_loci[row] = end;
        read_starts[row] = start;
        counts[row] = count;
    }
}

// Writes the haplotypes of each selected record, locus by locus; a warp per record. A record whose
// offsets are equal gets none.
extern "C" __global__ void list_pairs(
    const long long* selected,
    const int* first_loci,
    const int* end_loci,
    const long long* read_starts,
    const long long* locus_ends,
    const long long* haplotype_offsets,
    const int* haplotypes,
    const long long* offsets,
    int records,
    int loci,
    int n_haplotypes,
    int reads,
    long long total,
    int* out
) {
    const int warps = gridDim.x * blockDim.x / kWarpLanes;
    int read = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    for (; read < reads; read += warps) {
        long long to = offsets[read];
        if (offsets[read + 1] == to) continue;
        const long long row = selected[read];
        const long long start = read_starts[row];
        for (int k = first_loci[row]; k < end_loci[row]; ++k) {
            if (locus_ends[k] <= start) continue;
            const long long from = haplotype_offsets[k];
            const int count = (int)(haplotype_offsets[k + 1] - from);
            for (int i = lane_id(); i < count; i += kWarpLanes) out[to + i] = haplotypes[from + i];
            to += count;
        }
    }
}
