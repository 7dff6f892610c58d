// Mappings to pieces of dynamic programming: same as hapgpu/longread/align/pieces.py. The anchors of
// the mappings of a launch are disjoint, so scratch of a mapping is at the rows of its anchors.

#include "longread/align/piece_bounds.cuh"

namespace {

constexpr int kMinFiltered = 3;

}  // namespace

// Chooses the anchors of each mapping, marks them in `y`, and lists its cut points and limits; one
// warp per mapping. `left` of a plan is 0 or -1, the rows of the other pieces are still unknown.
extern "C" __global__ void __launch_bounds__(128, 8) plan_mappings(
    const Mapping* mappings, const long long* rows, const __grid_constant__ MappedAnchors anchors,
    const __grid_constant__ ReadCodes reads, const __grid_constant__ TargetCodes targets,
    const __grid_constant__ Scoring scoring, const __grid_constant__ Parameters parameters,
    int* gapped, int* cut_columns, int* limit_columns, Plan* plans, long long* counts, int count
) {
    if (first_thread() == 0) counts[0] = 0;
    for (int row = first_warp(); row < count; row += all_warps()) {
        const Mapping& mapping = mappings[rows[row]];
        const AnchorRows mapped{anchors.x + mapping.first_anchor, anchors.y + mapping.first_anchor};
        AnchorRows chosen = mapped;
        int first = 0, size = mapping.anchors;
        if (parameters.filters_ends && size >= kMinFiltered) {
            const int matches = mapping.matches;
            first = unreliable_anchors(
                mapped, 1, 1, size - 2, mapped.span(0), matches, parameters);
            chosen = mapped.from(first);
            size -= first;
            size -= unreliable_anchors(
                chosen, size - 1, -1, size - 2, chosen.span(size - 1), matches, parameters);
        }
        const long long start = mapping.first_anchor + first;
        mark_bad_seeds(chosen, size, parameters.max_gap, gapped + start);
        const MappingBases bases{
            reads.codes + query_start(reads, mapping),
            targets.codes + targets.starts[mapping.sequence],
            reads.lengths[mapping.read],
            targets.lengths[mapping.sequence],
        };
        Cut* const cuts = (Cut*)cut_columns + start;
        const int cut_count = list_cuts(chosen, size, bases, parameters, cuts);
        __syncwarp();
        const Cut first_cut = cuts[0], last_cut = cuts[cut_count - 1];
        Limits limits;
        const long long* const offsets = anchors.offsets + mapping.read;
        set_start_limits(mapped, mapping.first_anchor - offsets[0], first_cut.query,
                         first_cut.target, parameters, scoring, limits);
        const long long mapped_end = mapping.first_anchor + mapping.anchors;
        set_end_limits(mapped.from(mapping.anchors - 1), offsets[1] - mapped_end, last_cut.query,
                       last_cut.target, bases, parameters, scoring, limits);
        const bool has_left = first_cut.query > 0 && first_cut.target > 0;
        if (lane_id() == 0) {
            ((Limits*)limit_columns)[row] = limits;
            plans[row] = {start, size, (int)rows[row], first_cut.query, first_cut.target,
                          has_left ? 0 : -1, 0, cut_count - 1, 0};
            counts[row + 1] = cut_count + has_left;
        }
    }
}

// Numbers the pieces of the plans and fills them in; one warp per mapping.
extern "C" __global__ void __launch_bounds__(128) fill_pieces(
    const Mapping* mappings, const __grid_constant__ MappedAnchors anchors,
    const __grid_constant__ ReadCodes reads, const __grid_constant__ TargetCodes targets,
    const __grid_constant__ Parameters parameters, const int* cut_columns,
    const int* limit_columns, const long long* offsets, Plan* plans,
    const __grid_constant__ Pieces pieces, int* end_anchors, int count
) {
    for (int row = first_warp(); row < count; row += all_warps()) {
        const Plan plan = plans[row];
        const Mapping& mapping = mappings[plan.mapping];
        const Limits limits = ((const Limits*)limit_columns)[row];
        const Cut* const cuts = (const Cut*)cut_columns + plan.first_anchor;
        const bool has_left = plan.left >= 0;
        const int first_fill = (int)offsets[row] + has_left;
        const long long query_at = query_start(reads, mapping);
        const long long target_at = targets.starts[mapping.sequence];
        for (int fill = lane_id() - has_left; fill <= plan.fills; fill += kWarpLanes) {
            const int piece = first_fill + fill;
            Cut start{limits.query_start, limits.target_start, -1};
            Cut end{limits.query_end, limits.target_end, -1};
            if (fill >= 0) start = cuts[fill];
            if (fill < plan.fills) end = cuts[fill + 1];
            const int query_length = end.query - start.query;
            const int target_length = end.target - start.target;
            int kind = kFill, band = parameters.long_band, drop = parameters.drop;
            if (fill < 0) {
                kind = kLeft;
                if (mapping.is_split_inversion) drop = parameters.inversion_drop;
            } else if (fill == plan.fills) {
                kind = kRight;
            } else if (anchors.y[plan.first_anchor + end.anchor] & kLongJoin) {
                band = max(query_length, target_length);
            }
            const bool is_fill = kind == kFill;
            pieces.kinds[piece] = (unsigned char)kind;
            pieces.query_starts[piece] = query_at + start.query;
            pieces.query_lengths[piece] = query_length;
            pieces.target_starts[piece] = target_at + start.target;
            pieces.target_lengths[piece] = target_length;
            pieces.bands[piece] = is_fill ? band : parameters.band;
            pieces.drops[piece] = drop;
            end_anchors[piece] = is_fill ? end.anchor : -1;
        }
        __syncwarp();  // all lanes have read the plan
        if (lane_id() == 0) {
            plans[row].left = has_left ? first_fill - 1 : -1;
            plans[row].first_fill = first_fill;
            plans[row].right = first_fill + plan.fills;
        }
    }
}
