// Final CIGARs of mappings; same as `clean` and `_drop_first_gap` of
// hapgpu/longread/align/cigars.py.

#include "longread/align/block_sums.cuh"
#include "longread/align/mapped_codes.cuh"

namespace {

using Word = unsigned long long;

constexpr int kMinMerged = 3;
constexpr int kOpen = -1;  // steps that depend on those of the gap before

struct CleanScratch {
    int steps[kBlockThreads + 2];  // from two operations before the tile on
    Word totals[kBlockWarps];
    RunScratch runs;
};

// A CIGAR, and of each of its operations the bases of query and target before it, and how far it
// moves left.
struct Cigar {
    unsigned* operations;
    int* query_starts;
    int* target_starts;
    int* steps;
    long long size;

    __device__ bool moves(long long k) const {
        return k > 0 && k < size - 1 && kind_of(operations[k]) != kM &&
               kind_of(operations[k - 1]) == kM && kind_of(operations[k + 1]) == kM;
    }
    __device__ int steps_of(long long k) const { return k >= 0 && k < size ? steps[k] : 0; }
};

// Bases of an operation: of the query in the lower half, of the target in the upper one.
__device__ inline Word bases_of(unsigned operation) {
    const Word length = (Word)length_of(operation);
    const int kind = kind_of(operation);
    return (kind != kD ? length : 0) | (kind != kI ? length << 32 : 0);
}

// Goes on moving a gap left while the bases around it stay the same; returns all steps.
__device__ inline int steps_left(
    const unsigned char* bases, long long at, int length, int steps, int max_steps
) {
    const unsigned char* last = bases + at - 1;
    while (steps < max_steps && last[-steps] == last[(long long)length - steps]) ++steps;
    return steps;
}

// Finds the first base of each operation, and how far each gap between two M moves left, in the
// order of the gaps: the M before a gap may have grown by the steps of the gap before. Only gaps
// that move over all of the M before, as it was, depend on that.
__device__ void find_steps(
    const Cigar& cigar, const unsigned char* query, const unsigned char* target,
    CleanScratch& scratch
) {
    Word carry = 0;
    if (threadIdx.x < 2) scratch.steps[threadIdx.x] = 0;
    for (long long first = 0; first < cigar.size; first += kBlockThreads) {
        const long long k = first + threadIdx.x;
        const unsigned operation = k < cigar.size ? cigar.operations[k] : 0;
        const Word starts = sum_before(bases_of(operation), scratch.totals, carry);
        const bool is_insertion = kind_of(operation) == kI;
        const unsigned char* bases = is_insertion ? query : target;
        const long long at = is_insertion ? (unsigned)starts : starts >> 32;
        const int length = length_of(operation);
        int steps = 0, room = 0;
        bool is_open = false;
        if (cigar.moves(k)) {
            room = length_of(cigar.operations[k - 1]);
            steps = steps_left(bases, at, length, 0, room);
            is_open = steps == room;
        }
        scratch.steps[threadIdx.x + 2] = is_open ? kOpen : steps;
        while (__syncthreads_or(is_open)) {  // also a barrier behind the steps
            const int before = is_open ? scratch.steps[threadIdx.x] : kOpen;
            __syncthreads();  // all have read
            if (before == kOpen) continue;
            steps = steps_left(bases, at, length, steps, room + before);
            scratch.steps[threadIdx.x + 2] = steps;
            is_open = false;
        }
        if (k < cigar.size) {
            cigar.query_starts[k] = (int)(unsigned)starts;
            cigar.target_starts[k] = (int)(starts >> 32);
            cigar.steps[k] = steps;
        }
        const int kept = threadIdx.x < 2 ? scratch.steps[kBlockThreads + threadIdx.x] : 0;
        __syncthreads();  // steps in global memory; all have read the shared ones
        if (threadIdx.x < 2) scratch.steps[threadIdx.x] = kept;
    }
}

// Returns whether an operation and the next one are gaps of both kinds.
__device__ inline bool is_pair(const Cigar& cigar, long long k) {
    const int one = kind_of(cigar.operations[k]), other = kind_of(cigar.operations[k + 1]);
    return one != kM && other != kM && one + other == kI + kD;
}

// What there is to do on a CIGAR after the moves.
struct Found {
    bool has_empty, has_pair;
};

// Moves the gaps.
__device__ Found move_gaps(const Cigar& cigar) {
    bool has_empty = false, has_pair = false;
    for (long long k = threadIdx.x; k < cigar.size; k += kBlockThreads) {
        const unsigned operation = cigar.operations[k];
        const int kind = kind_of(operation);
        int length = length_of(operation), shift = cigar.steps[k];
        has_empty |= length == 0;
        if (kind == kM) {
            shift = cigar.steps_of(k - 1);
            length += shift - cigar.steps_of(k + 1);
            has_empty |= length == 0;
            cigar.operations[k] = cigar_run(length, kM);
        } else if (k < cigar.size - 2) {
            // Kinds do not change, whichever thread is first.
            has_pair |= is_pair(cigar, k);
        }
        cigar.query_starts[k] -= shift;
        cigar.target_starts[k] -= shift;
    }
    return {(bool)__syncthreads_or(has_empty), (bool)__syncthreads_or(has_pair)};
}

// Returns whether an operation is a gap or empty.
__device__ inline bool is_gap_or_empty(unsigned operation) {
    return kind_of(operation) != kM || length_of(operation) == 0;
}

// Returns whether a run of gaps starts at an operation and the next one: at the first pair between
// two M with bases.
__device__ bool starts_run(const Cigar& cigar, long long k) {
    if (!is_pair(cigar, k)) return false;
    for (--k; k >= 0 && is_gap_or_empty(cigar.operations[k]); --k) {
        if (is_pair(cigar, k)) return false;
    }
    return true;
}

// Merges a run as I D I to one I and one D; returns whether operations became empty.
__device__ bool merge_run(const Cigar& cigar, long long start) {
    long long end = start;
    unsigned inserted = 0, deleted = 0;
    for (; end < cigar.size && is_gap_or_empty(cigar.operations[end]); ++end) {
        const int kind = kind_of(cigar.operations[end]), length = length_of(cigar.operations[end]);
        if (kind == kI) inserted += length;
        if (kind == kD) deleted += length;
    }
    if (end - start < kMinMerged || inserted == 0 || deleted == 0) return false;
    cigar.operations[start] = cigar_run(inserted, kI);
    cigar.operations[start + 1] = cigar_run(deleted, kD);
    for (long long empty = start + 2; empty < end; ++empty) cigar.operations[empty] &= 15;
    return true;
}

// Merges all runs, one thread each; returns whether operations became empty. A run may go on in
// the next tile: there, it still has its first pair.
__device__ bool merge_gaps(const Cigar& cigar) {
    bool merges = false;
    for (long long first = 0; first < cigar.size - 2; first += kBlockThreads) {
        const long long k = first + threadIdx.x;
        const bool starts = k < cigar.size - 2 && starts_run(cigar, k);
        __syncthreads();  // all have read
        if (starts) merges |= merge_run(cigar, k);
        __syncthreads();  // before the next tile is read
    }
    return __syncthreads_or(merges);
}

// Drops empty operations, and merges equal neighbours; returns how many operations are left.
__device__ long long without_empty(const Cigar& cigar, RunScratch& scratch) {
    MergedRuns runs(scratch, cigar.operations);
    for (long long first = 0; first < cigar.size; first += kBlockThreads) {
        const long long k = first + threadIdx.x;
        const unsigned operation = k < cigar.size ? cigar.operations[k] : 0;
        runs.add(operation, length_of(operation) > 0);
    }
    const long long count = runs.finish();
    __syncthreads();  // operations, and the scratch
    return count;
}

// Moves all operations over the first.
__device__ void drop_first(const Cigar& cigar) {
    for (long long first = 0; first < cigar.size - 1; first += kBlockThreads) {
        const long long k = first + threadIdx.x;
        const bool is_moved = k < cigar.size - 1;
        const unsigned operation = is_moved ? cigar.operations[k + 1] : 0;
        __syncthreads();  // all have read
        if (is_moved) cigar.operations[k] = operation;
        __syncthreads();  // before the next tile is read
    }
}

// Finds the first base of each operation anew.
__device__ void find_starts(const Cigar& cigar, CleanScratch& scratch) {
    Word carry = 0;
    for (long long first = 0; first < cigar.size; first += kBlockThreads) {
        const long long k = first + threadIdx.x;
        const unsigned operation = k < cigar.size ? cigar.operations[k] : 0;
        const Word starts = sum_before(bases_of(operation), scratch.totals, carry);
        if (k >= cigar.size) continue;
        cigar.query_starts[k] = (int)(unsigned)starts;
        cigar.target_starts[k] = (int)(starts >> 32);
    }
}

// Sets the counts of a mapping whose CIGAR turned out to be empty.
__device__ void clear_counts(Mapping& mapping) {
    mapping.matches = mapping.length = mapping.ambiguous = mapping.gaps = mapping.gap_bases = 0;
    mapping.dp_max = mapping.first_dp_max = 0;
}

}  // namespace

// Cleans CIGARs; one block per mapping. Of each operation, `query_starts` and `target_starts` get
// the bases before it.
extern "C" __global__ void __launch_bounds__(kBlockThreads, 5) clean_cigars(
    Mapping* mappings, const long long* rows, int row_count, unsigned* operations,
    const __grid_constant__ ReadCodes reads, const __grid_constant__ TargetCodes targets,
    int* query_starts, int* target_starts, int* steps
) {
    __shared__ CleanScratch scratch;
    for (int row = blockIdx.x; row < row_count; row += gridDim.x) {
        Mapping& mapping = mappings[rows[row]];
        const long long first = mapping.first_operation;
        Cigar cigar = {
            operations + first, query_starts + first, target_starts + first, steps + first,
            mapping.operations
        };
        if (cigar.size == 0) continue;
        if (cigar.size == 1) {
            if (threadIdx.x == 0) cigar.query_starts[0] = cigar.target_starts[0] = 0;
            continue;
        }
        const unsigned char* query = reads.codes + first_query_code(reads, mapping);
        const unsigned char* target = targets.codes + first_target_code(targets, mapping);
        find_steps(cigar, query, target, scratch);
        Found found = move_gaps(cigar);
        if (found.has_pair) found.has_empty |= merge_gaps(cigar);
        if (found.has_empty) cigar.size = without_empty(cigar, scratch.runs);
        const unsigned leading = cigar.size > 0 ? cigar.operations[0] : 0;
        const bool drops = kind_of(leading) != kM;
        if (drops) {
            drop_first(cigar);
            --cigar.size;
        }
        if (drops || found.has_empty) find_starts(cigar, scratch);
        __syncthreads();  // all have read the mapping
        if (threadIdx.x != 0) continue;
        mapping.operations = (int)cigar.size;
        if (cigar.size == 0) clear_counts(mapping);
        if (!drops) continue;
        if (kind_of(leading) != kI) {
            mapping.target_start += length_of(leading);
        } else if (mapping.is_reverse) {
            mapping.query_end -= length_of(leading);
        } else {
            mapping.query_start += length_of(leading);
        }
    }
}
