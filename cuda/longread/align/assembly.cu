// Alignments of mappings from those of pieces, splits at dropped fills, and the order of mappings;
// same as hapgpu/longread/align/assembly.py.

#include "common/grid.cuh"
#include "longread/align/merged_runs.cuh"
#include "longread/align/rows.cuh"

namespace {

using Word = unsigned long long;

constexpr int kWarpThreads = 128;

// What the pieces of a plan make of its mapping; `kept` anchors if it is split, else 0. `drop` is
// the result of a test of fills.
struct Joined {
    int query_start, target_start, query_end, target_end;
    int score, fills, kept, drop;
};

// Bases and score of pieces.
struct Gain {
    long long query, target, score;

    __device__ void add(const Gain& other) {
        query += other.query;
        target += other.target;
        score += other.score;
    }
};

// What a piece adds to its mapping.
__device__ Gain gain_of(const Pieces& pieces, const PieceAlignments& alignments, int piece) {
    if (pieces.kinds[piece] <= kRefill && !alignments.is_dropped[piece]) {
        return {
            pieces.query_lengths[piece], pieces.target_lengths[piece], alignments.scores[piece]
        };
    }
    const int score = alignments.max_scores[piece];
    if (alignments.reaches_end[piece] == 1) {
        return {pieces.query_lengths[piece], alignments.query_end_targets[piece] + 1, score};
    }
    return {alignments.max_queries[piece] + 1, alignments.max_targets[piece] + 1, score};
}

// Returns the number of fills of a plan up to the first dropped one; all lanes get it.
__device__ int used_fills(const Plan& plan, const PieceAlignments& alignments, bool& is_dropped) {
    for (int first = 0; first < plan.fills; first += kWarpLanes) {
        const int fill = first + lane_id();
        const bool drops =
            fill < plan.fills && alignments.is_dropped[plan.first_fill + fill] != 0;
        const unsigned dropped = __ballot_sync(kAllLanes, drops);
        if (dropped) {
            is_dropped = true;
            return first + __ffs(dropped);
        }
    }
    is_dropped = false;
    return plan.fills;
}

// Returns the last anchor before the end of a dropped fill, counted from the plan's first.
__device__ int last_anchor(const Plan& plan, const Word* x, int end_anchor, long long end) {
    int anchor = end_anchor - 1;
    while (true) {
        const int own = anchor - lane_id();
        const bool is_before =
            own <= 0 || (long long)(x[plan.first_anchor + own] & 0xffffffffu) < end;
        const unsigned before = __ballot_sync(kAllLanes, is_before);
        if (before) return anchor <= 0 ? anchor : anchor - __ffs(before) + 1;
        anchor -= kWarpLanes;
    }
}

// Operations of a plan: up to three ranges.
struct Ranges {
    const unsigned* left;
    const unsigned* fills;
    const unsigned* right;
    long long left_size, middle_end, size;

    __device__ Ranges(const Plan& plan, const PieceAlignments& alignments, int count, int drop) {
        const long long* offsets = alignments.offsets;
        const bool has_left = plan.left >= 0, has_right = plan.right >= 0 && drop == kNoDrop;
        const long long first = count ? offsets[plan.first_fill] : 0;
        const long long end = count ? offsets[plan.first_fill + count] : 0;
        left = alignments.operations + (has_left ? offsets[plan.left] : 0);
        fills = alignments.operations + first;
        right = alignments.operations + (has_right ? offsets[plan.right] : 0);
        left_size = has_left ? offsets[plan.left + 1] - offsets[plan.left] : 0;
        middle_end = left_size + end - first;
        size = middle_end + (has_right ? offsets[plan.right + 1] - offsets[plan.right] : 0);
    }

    __device__ unsigned at(long long k) const {
        if (k < left_size) return left[k];
        return k < middle_end ? fills[k - left_size] : right[k - middle_end];
    }
};

// Matching bases and alignment length, estimated from anchors: `measure_chain`.
__device__ void measure(
    const MappedAnchors& anchors, long long first, int count, Mapping& mapping, bool writes
) {
    const Word* x = anchors.x + first;
    const Word* y = anchors.y + first;
    long long matched = 0, aligned = 0;
    for (int k = lane_id(); k < count; k += kWarpLanes) {
        const long long span = y[k] >> 32 & 0xff;
        long long target = span, query = span;
        if (k > 0) {
            target = (long long)(unsigned)x[k] - (unsigned)x[k - 1];
            query = (long long)(unsigned)y[k] - (unsigned)y[k - 1];
        }
        aligned += max(target, query);
        matched += min(min(target, query), span);
    }
    matched = warp_sum(matched);
    aligned = warp_sum(aligned);
    if (!writes) return;
    mapping.matches = (int)matched;
    mapping.length = (int)aligned;
}

// Splits a mapping behind its first `kept` anchors; by all lanes of a warp.
__device__ void split(
    Mapping& mapping, Mapping& part, int kept, int is_inversion, const MappedAnchors& anchors
) {
    const long long first = mapping.first_anchor;
    const int count = mapping.anchors;
    const bool writes = lane_id() == 0;
    __syncwarp();  // before the mapping changes
    if (writes) {
        const float ratio = (float)(count - kept) / (float)count;
        const int score = (int)(long long)((double)((float)mapping.score * ratio) + 0.499);
        part = mapping;
        if (mapping.parent == mapping.number) part.parent = kTemporaryPrimary;
        part.number = -1;
        part.first_anchor = first + kept;
        part.anchors = count - kept;
        part.score = score;
        part.split |= 2;
        part.is_split_inversion = is_inversion;
        mapping.split |= 1;
        mapping.anchors = kept;
        mapping.score -= score;
    }
    measure(anchors, first, kept, mapping, writes);
    measure(anchors, first + kept, count - kept, part, writes);
}

}  // namespace

// Start, end and score of the alignment of each plan, and where it is split; one warp per plan.
extern "C" __global__ void __launch_bounds__(kWarpThreads) measure_plans(
    const Mapping* mappings, const Plan* plans, int plan_count,
    const __grid_constant__ Pieces pieces, const int* end_anchors, const unsigned char* drops,
    const __grid_constant__ PieceAlignments alignments,
    const __grid_constant__ MappedAnchors anchors, int min_anchors, Joined* joined,
    long long* operation_counts, long long* part_counts
) {
    for (int row = first_warp(); row < plan_count; row += all_warps()) {
        const Plan plan = plans[row];
        bool is_dropped;
        const int count = used_fills(plan, alignments, is_dropped);
        Gain gain = {0, 0, 0}, left = {0, 0, 0};
        for (int k = lane_id(); k < count; k += kWarpLanes) {
            gain.add(gain_of(pieces, alignments, plan.first_fill + k));
        }
        gain = {warp_sum(gain.query), warp_sum(gain.target), warp_sum(gain.score)};
        if (plan.left >= 0) left = gain_of(pieces, alignments, plan.left);
        gain.score += left.score;
        if (!is_dropped && plan.right >= 0) gain.add(gain_of(pieces, alignments, plan.right));
        int kept = 0, drop = kNoDrop;
        if (is_dropped) {
            const int fill = plan.first_fill + count - 1;
            const long long end = plan.target_start + gain.target;
            const int last = last_anchor(plan, anchors.x, end_anchors[fill], end);
            drop = drops[fill] == kInversionDrop ? kInversionDrop : kDrop;
            if (plan.anchors - (last + 1) >= min_anchors) {
                const long long first = mappings[plan.mapping].first_anchor;
                kept = (int)(plan.first_anchor + last + 1 - first);
            }
        }
        if (lane_id() == 0) {
            joined[row] = {
                (int)(plan.query_start - left.query), (int)(plan.target_start - left.target),
                (int)(plan.query_start + gain.query), (int)(plan.target_start + gain.target),
                (int)gain.score, count, kept, drop
            };
            operation_counts[row] = Ranges(plan, alignments, count, drop).size;
            part_counts[row] = kept > 0;
        }
    }
}

// Joins the operations of each plan, and completes its mapping; one block per plan. Offsets of
// parts start anywhere.
extern "C" __global__ void __launch_bounds__(kBlockThreads) join_operations(
    Mapping* mappings, int mapping_count, const Plan* plans, int plan_count, const Joined* joined,
    const __grid_constant__ PieceAlignments alignments,
    const __grid_constant__ MappedAnchors anchors, const int* lengths, long long first_operation,
    unsigned* operations, const long long* operation_offsets, Mapping* parts,
    const long long* part_offsets
) {
    __shared__ RunScratch scratch;
    for (int row = blockIdx.x; row < plan_count; row += gridDim.x) {
        const Plan& plan = plans[row];
        const Joined& ends = joined[row];
        const Ranges ranges(plan, alignments, ends.fills, ends.drop);
        const long long first = operation_offsets[row];
        MergedRuns runs(scratch, operations + first);
        for (long long start = 0; start < ranges.size; start += kBlockThreads) {
            const long long k = start + threadIdx.x;
            runs.add(k < ranges.size ? ranges.at(k) : 0, k < ranges.size);
        }
        const long long count = runs.finish();
        if (warp_of_block() == 0) {
            Mapping& mapping = mappings[plan.mapping];
            if (ends.kept > 0) {
                const long long part = part_offsets[row] - part_offsets[0];
                split(mapping, parts[part], ends.kept, ends.drop == kInversionDrop, anchors);
                if (lane_id() == 0) mapping.next = (int)(mapping_count + part);
            }
            if (lane_id() == 0) {
                const int length = lengths[mapping.read];
                mapping.first_operation = first_operation + first;
                mapping.operations = (int)count;
                mapping.dp_score = ends.score;
                mapping.target_start = ends.target_start;
                mapping.target_end = ends.target_end;
                const bool is_reverse = mapping.is_reverse != 0;
                mapping.query_start = is_reverse ? length - ends.query_end : ends.query_start;
                mapping.query_end = is_reverse ? length - ends.query_start : ends.query_end;
            }
        }
        __syncthreads();  // before the next plan takes the scratch
    }
}

// Counts the mappings of each read.
extern "C" __global__ void __launch_bounds__(kWarpThreads) count_mappings(
    const Mapping* mappings, int mapping_count, int* counts, int reads
) {
    for (int row = first_thread(); row < mapping_count; row += all_threads()) {
        const int read = mappings[row].read;
        if (read < reads) atomicAdd(&counts[read], 1);
    }
}

// Lists the rows of each read in the order of `next`, and the new values of `next`; one thread per
// initial row, of which those at the start of a read work.
extern "C" __global__ void __launch_bounds__(kWarpThreads) order_mappings(
    const Mapping* mappings, int mapping_count, int initial, const long long* offsets, int reads,
    long long* rows, int* following
) {
    for (int row = first_thread(); row < initial; row += all_threads()) {
        const int read = mappings[row].read;
        if (read >= reads || (row > 0 && mappings[row - 1].read == read)) continue;
        const long long end = offsets[read + 1];
        int from = row;
        for (long long at = offsets[read]; at < end && from >= 0 && from < mapping_count; ++at) {
            rows[at] = from;
            following[at] = at + 1 < end ? (int)(at + 1) : -1;
            from = mappings[from].next;
        }
    }
}
