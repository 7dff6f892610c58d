// Inversions between two parts of split mappings; same as hapgpu/longread/align/inversions.py.

#include "common/grid.cuh"
#include "longread/align/rows.cuh"
#include "longread/align/dp/local_pairs.cuh"

namespace {

constexpr int kBlockThreads = 128;
constexpr int kFirstPart = 1, kLaterPart = 2;
constexpr int kNoParent = -1;

__device__ inline bool is_primary(const Mapping& mapping) {
    return mapping.parent == mapping.number || mapping.parent == kTemporaryPrimary;
}

__device__ bool may_enclose_inversion(const Mapping& left, const Mapping& right) {
    return right.is_split_inversion && left.split & kFirstPart && right.split & kLaterPart &&
           is_primary(left) && is_primary(right) && left.sequence == right.sequence &&
           left.is_reverse == right.is_reverse;
}

// The bases between two parts: of the read's other strand, and of the reference.
__device__ LocalPair bases_between(
    const Mapping& left, const Mapping& right, const ReadCodes& reads, const TargetCodes& targets
) {
    const long long start = reads.starts[left.read], length = reads.lengths[left.read];
    LocalPair pair{};
    pair.query_start = start + (left.is_reverse ? right.query_end : 2 * length - right.query_start);
    pair.target_start = targets.starts[left.sequence] + left.target_end;
    pair.query_length = left.is_reverse ? left.query_start - right.query_end
                                        : right.query_start - left.query_end;
    pair.target_length = right.target_start - left.target_end;
    return pair;
}

// Stretches that may be inverted, in the order of their left parts.
struct Stretches {
    const long long* left;
    const long long* right;
    const long long* query_starts;
    const long long* target_starts;
    int count;
};

// Table of stretches; of each pair of numbers, all first ones precede.
struct Table {
    long long* rows;
    long long* starts;
    int* lengths;
};

}  // namespace

// Lists the stretches to align locally.
extern "C" __global__ void __launch_bounds__(kBlockThreads) list_stretches(
    const Mapping* mappings, int count, const __grid_constant__ ReadCodes reads,
    const __grid_constant__ TargetCodes targets, int min_length, int max_length,
    const __grid_constant__ PairList stretches
) {
    for (int row = first_thread(); row < count; row += all_threads()) {
        const Mapping& left = mappings[row];
        if (left.next < 0) continue;
        const Mapping& right = mappings[left.next];
        if (!may_enclose_inversion(left, right)) continue;
        LocalPair pair = bases_between(left, right, reads, targets);
        const int shortest = min(pair.query_length, pair.target_length);
        const int longest = max(pair.query_length, pair.target_length);
        if (shortest < min_length || longest > max_length) continue;
        pair.row = row;
        stretches.add(pair);
    }
}

// Writes the table of stretches, of which `order` has the pairs.
extern "C" __global__ void __launch_bounds__(kBlockThreads) place_stretches(
    const Mapping* mappings, const LocalPair* pairs, const int* target_ends, const int* query_ends,
    const long long* order, int count, const __grid_constant__ Table table
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        const LocalPair pair = pairs[order[k]];
        // The query's end can lie in its padding: then the piece starts before the stretch.
        const int query_length = query_ends[order[k]] + 1;
        const int target_length = target_ends[order[k]] + 1;
        table.rows[k] = pair.row;
        table.rows[count + k] = mappings[pair.row].next;
        table.starts[k] = pair.query_start + pair.query_length - query_length;
        table.starts[count + k] = pair.target_start + pair.target_length - target_length;
        table.lengths[k] = query_length;
        table.lengths[count + k] = target_length;
    }
}

// Writes the stretch before each right part.
extern "C" __global__ void __launch_bounds__(kBlockThreads) find_previous(
    const __grid_constant__ Stretches stretches, int* previous
) {
    for (int k = first_thread(); k < stretches.count; k += all_threads()) {
        previous[stretches.right[k]] = k;
    }
}

// Chooses the stretches that become mappings: those with an alignment, unless an inversion lies
// directly before the left part. So in a run of neighbours with alignments, every second one is
// excluded.
extern "C" __global__ void __launch_bounds__(kBlockThreads) choose_inversions(
    const __grid_constant__ Stretches stretches, const long long* offsets, const int* previous,
    int* is_inverted
) {
    for (int k = first_thread(); k < stretches.count; k += all_threads()) {
        int run = 0;
        for (int at = k; at >= 0 && offsets[at + 1] > offsets[at];) {
            ++run;
            const int before = previous[stretches.left[at]];
            at = before < at ? before : -1;
        }
        is_inverted[k] = run % 2;
    }
}

// Writes the inversions after all mappings, and links them to their neighbours. `ranks` counts the
// stretches that become mappings, up to each of them.
extern "C" __global__ void __launch_bounds__(kBlockThreads) insert_inversions(
    Mapping* mappings, Mapping* out, int count,
    const __grid_constant__ Stretches stretches, const __grid_constant__ PieceAlignments alignments,
    const __grid_constant__ ReadCodes reads, const __grid_constant__ TargetCodes targets,
    const int* ranks, long long first_operation
) {
    for (int k = first_thread(); k < stretches.count; k += all_threads()) {
        const int rank = ranks[k] - 1;
        if (rank < (k ? ranks[k - 1] : 0)) continue;
        Mapping& right = mappings[stretches.right[k]];
        const int length = reads.lengths[right.read], is_reverse = right.is_reverse == 0;
        const long long strand = reads.starts[right.read] + (is_reverse ? length : 0);
        const int start = (int)(stretches.query_starts[k] - strand);
        const int end = start + alignments.max_queries[k] + 1;
        Mapping inversion{};
        inversion.read = right.read;
        inversion.sequence = right.sequence;
        inversion.is_reverse = is_reverse;
        inversion.query_start = is_reverse ? length - end : start;
        inversion.query_end = is_reverse ? length - start : end;
        inversion.target_start = (int)(
            stretches.target_starts[k] - targets.starts[right.sequence]
        );
        inversion.target_end = inversion.target_start + alignments.max_targets[k] + 1;
        inversion.first_operation = alignments.offsets[k] + first_operation;
        inversion.operations = (int)(alignments.offsets[k + 1] - alignments.offsets[k]);
        inversion.dp_score = alignments.max_scores[k];
        inversion.number = inversion.parent = kNoParent;
        inversion.is_inversion = 1;
        inversion.next = right.next;
        out[count + rank] = inversion;
        // No other thread changes or reads this row: each part is on the right of one stretch.
        right.next = out[stretches.right[k]].next = count + rank;
    }
}
