// Semi-global affine alignment with traceback of GATK's SmithWatermanJavaAligner (Ren et al. 2019,
// BMC Genomics 20:184, eq. 1-3; tie rules of GATK). Same result as hapgpu/realign/align/cpu.py and
// tests/realign/align/reference.py.
//
// A group of neighbouring lanes of a warp fills the matrix of one pair. A lane has a slot of
// kColumns neighbouring columns (query bases), or one less: the first slots are the shorter ones,
// so that the last column is always the last register of the last slot. It keeps the row above in
// registers. Each lane is one row (reference base) after the lane to its left, from which it gets
// scores by shuffle. Queries of more slots than a group has lanes are filled in stripes from left
// to right; the right border of a stripe is stored for the next one.
//
// Scores have four tag bits below them, so that a maximum also applies GATK's priority (diagonal,
// insertion, deletion; extending a gap before opening one) and records the source:
//     8  the diagonal                       4  an insertion
//     2  this insertion was extended        1  this deletion was extended
// The traceback needs only the four bits of a cell: the length of a gap is 1 + the number of
// consecutive extended cells before it. A lane packs the bits of eight rows of one column into a
// word; the words of a warp are adjacent, so that writes are coalesced.

#include "common/cigar.cuh"
#include "realign/align/outputs.cuh"
#include "realign/align/overhang.cuh"
#include "realign/align/score_tags.cuh"
#include "realign/align/stripes.cuh"

namespace {

constexpr int kRowsPerWord = 8;
constexpr int kLowestScore = -100000000;  // of a cell (hapgpu/realign/scoring.py)
constexpr int kNoScore = -2147483647 - 1;

// Arithmetic on tagged scores. They fit 32 bits if no score exceeds 2^25, and always 64 bits.
template <typename Score>
struct Tagged;

template <>
struct Tagged<int> {
    static constexpr int unreachable = kUnreachable;
    static __device__ int add_max(int a, int b, int c) { return __viaddmax_s32(a, b, c); }
    static __device__ int floored(int best) { return best; }  // no score comes near the floor
};

template <>
struct Tagged<long long> {
    static constexpr long long unreachable = (long long)kUnreachable * (1 << kTagBits);
    static __device__ long long add_max(long long a, long long b, long long c) {
        return max(a + b, c);
    }
    static __device__ long long floored(long long best) {
        // Only the score is raised; the tag stays.
        return max(best, (long long)kLowestScore * (1 << kTagBits) + (best & kTagMask));
    }
};

// Weights of the steps through the matrix. All except the border's are shifted by the tag and
// include its bits; the host prepares them, so that each is an operand of a single instruction.
template <typename Score>
struct Steps {
    Score match, mismatch;  // diagonal, from a score that has gap_open added
    Score gap_open, insertion_extend, deletion_extend;
    int border_open, border_extend;  // 0 where ends are free

    // Returns the score of the cell at a position of the first row or column, + gap_open.
    __device__ Score opened_border(int position) const {
        int score = position == 0 ? 0 : border_open + (position - 1) * border_extend;
        return (Score)score * (1 << kTagBits) + gap_open;
    }
    __device__ int closed(Score opened) const { return (int)((opened - gap_open) >> kTagBits); }
};

// Sequences end to end, as Rows, with offsets of 32 bits.
struct Sequences {
    const unsigned char* bases;
    const int* offsets;
};

// Pair p joins the sequences reference_index[p] and query_index[p].
struct Pairs {
    Sequences references, queries;
    const int* reference_index;
    const int* query_index;
    int count;
};

struct Pair {
    const unsigned char* reference;
    const unsigned char* query;
    int rows, columns;  // lengths of reference and query; 0 where a group has no pair
};

// Memory of one warp, reused for all its pairs.
template <typename Score>
struct Scratch {
    unsigned* directions;  // [stripe][step / 8][register][lane of the warp]
    int* last_row;         // [stripe][register][lane of the warp], scores
    Score* borders;        // [row][group][2], opened score and insertion at a stripe's right border
    unsigned* runs;        // [group][run capacity]
    int blocks_per_stripe;
};

// Shifts the four direction bits of a cell into a word, from above.
__device__ inline unsigned append_direction(unsigned word, unsigned best, unsigned insertion,
                                            unsigned deletion) {
    unsigned bits = (best & kSource) | (insertion & ~kSource);
    bits = (deletion & kDeletionExtended) | (bits & ~kDeletionExtended);
    return __funnelshift_r(word, bits, 4);  // uses only the four lowest bits
}

// Fills one stripe for every group of the warp, and updates the best end cell of the last column.
template <int kColumns, typename Score, bool kTrace>
__device__ void fill_stripe(const Pair& pair, const Steps<Score>& step, int overhang,
                            const Group& group, const Scratch<Score>& scratch, int stripe,
                            int stripes, int steps, EndCell& end) {
    using Tag = Tagged<Score>;
    const Slots<kColumns> slots(pair.columns, stripes * group.lanes);
    const int slot = stripe * group.lanes + group.lane;
    const int first_column = slots.first_column(slot);
    const bool is_short = slots.is_short(slot);
    const bool is_first_lane = group.lane == 0;
    const bool owns_last_column = slot == stripes * group.lanes - 1;
    const bool keeps_border = stripe + 1 < stripes && group.lane == group.lanes - 1;
    const bool keeps_last_row = overhang == kSoftclip || overhang == kIgnore;

    unsigned bases[(kColumns + 3) / 4] = {};  // query bases, four per word
    Score opened[kColumns];   // score in the row above + gap_open, no tag
    Score deletion[kColumns]; // deletion score in the row above, no tag
    unsigned word[kColumns];  // directions of the last eight rows
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        int column = first_column + c;
        if (column < pair.columns) bases[c / 4] |= (unsigned)pair.query[column] << (8 * (c % 4));
        opened[c] = step.opened_border(column + 1);
        deletion[c] = Tag::unreachable;
        word[c] = 0;
    }
    Score left_above = step.opened_border(first_column);
    Score right_opened = 0, right_insertion = Tag::unreachable;
    Score* border = scratch.borders + 2 * group.number;
    unsigned next_base = pair.rows > 0 ? pair.reference[0] : 0;

#pragma unroll(kTrace ? 2 : 1)
    for (int s = 0; s < steps; ++s) {
        const int row = s - group.lane;  // 0-based
        Score left = __shfl_up_sync(kAllLanes, right_opened, 1, group.lanes);
        Score insertion = __shfl_up_sync(kAllLanes, right_insertion, 1, group.lanes);
        if (is_first_lane) {
            if (stripe == 0) {
                left = step.opened_border(row + 1);
                insertion = Tag::unreachable;
            } else if (row < pair.rows) {
                left = border[2 * group.count * row];
                insertion = border[2 * group.count * row + 1];
            }
        }
        if (row >= 0) {
            // Rows after the last are filled too, without effect, so that words stay aligned.
            const unsigned reference_base = next_base * 0x01010101u;
            if (row + 1 < pair.rows) next_base = pair.reference[row + 1];
            Score diagonal = left_above;
            left_above = left;
            Score previous_left = left, previous_insertion = insertion;
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                const Score above = opened[c];
                const unsigned differs = (bases[c / 4] ^ reference_base) & 0xffu << (8 * (c % 4));
                const Score through = diagonal + (differs ? step.mismatch : step.match);
                const Score down = Tag::add_max(deletion[c], step.deletion_extend, above);
                const Score right = Tag::add_max(insertion, step.insertion_extend, left);
                const Score best =
                    Tag::floored(max(Tag::add_max(right, kInsertion, through), down));
                if constexpr (kTrace) {
                    word[c] = append_direction(word[c], (unsigned)best, (unsigned)right,
                                               (unsigned)down);
                }
                previous_left = left;
                previous_insertion = insertion;
                insertion = without_tag(right);
                deletion[c] = without_tag(down);
                left = without_tag(best) + step.gap_open;
                opened[c] = left;
                diagonal = above;
            }
            right_opened = is_short ? previous_left : left;
            right_insertion = is_short ? previous_insertion : insertion;

            if (row < pair.rows) {
                if (owns_last_column) {
                    const int score = step.closed(left);
                    if (score >= end.score || overhang == kIndel) {
                        end.score = score;
                        end.row = row + 1;
                    }
                }
                if (keeps_border) {
                    border[2 * group.count * row] = right_opened;
                    border[2 * group.count * row + 1] = right_insertion;
                }
                if (keeps_last_row && row == pair.rows - 1) {
#pragma unroll
                    for (int c = 0; c < kColumns; ++c) {
                        scratch.last_row[(stripe * kColumns + c) * kWarpLanes + lane_id()] =
                            step.closed(opened[c]);
                    }
                }
            }
        }
        if (kTrace && s % kRowsPerWord == kRowsPerWord - 1) {
            unsigned* block =
                scratch.directions +
                ((long long)stripe * scratch.blocks_per_stripe + s / kRowsPerWord) *
                    (kColumns * kWarpLanes);
#pragma unroll
            for (int c = 0; c < kColumns; ++c) block[c * kWarpLanes + lane_id()] = word[c];
        }
    }
    __syncwarp();
}

// Returns the best end cell of the last column and, where ends are free, of the last row.
template <int kColumns, typename Score>
__device__ EndCell find_end(const Pair& pair, int overhang, const Group& group,
                            const Scratch<Score>& scratch, int stripes, EndCell end) {
    end.score = __shfl_sync(kAllLanes, end.score, group.lanes - 1, group.lanes);
    end.row = __shfl_sync(kAllLanes, end.row, group.lanes - 1, group.lanes);
    end.column = pair.columns;
    if (overhang == kIndel || overhang == kLeadingIndel) return end;

    const Slots<kColumns> slots(pair.columns, stripes * group.lanes);
    EndCell best = {kNoScore, pair.rows, pair.columns};
    for (int stripe = 0; stripe < stripes; ++stripe) {
        const int slot = stripe * group.lanes + group.lane;
        const int width = kColumns - slots.is_short(slot);
        for (int c = 0; c < width; ++c) {
            EndCell cell = {scratch.last_row[(stripe * kColumns + c) * kWarpLanes + lane_id()],
                            pair.rows, slots.first_column(slot) + c + 1};
            if (ends_better(cell, best)) best = cell;
        }
    }
    for (int distance = group.lanes / 2; distance > 0; distance /= 2) {
        EndCell other = {__shfl_xor_sync(kAllLanes, best.score, distance), pair.rows,
                         __shfl_xor_sync(kAllLanes, best.column, distance)};
        if (ends_better(other, best)) best = other;
    }
    const bool nearer = abs(best.row - best.column) < abs(end.row - end.column);
    return best.score > end.score || (best.score == end.score && nearer) ? best : end;
}

// Follows the directions from the end cell; writes the CIGAR, last run first, to the writer, and
// returns the offset. The lanes of a group read as many cells at a time, along the diagonal or
// along a gap.
template <int kColumns, typename Score>
__device__ int trace_back(const Pair& pair, int overhang, const Group& group,
                          const Scratch<Score>& scratch, int stripes, const EndCell& end,
                          RunWriter& writer) {
    const Slots<kColumns> slots(pair.columns, stripes * group.lanes);
    const bool writes = group.lane == 0;
    int row = end.row, column = end.column;  // 1-based
    int gap = kDiagonal;                     // or kInsertion, or 0 for a deletion
    if (overhang == kSoftclip) writer.add(pair.columns - column, kS, writes);
    if (overhang == kIgnore) writer.add(pair.columns - column, kM, writes);

    while (__any_sync(kAllLanes, row > 0 && column > 0)) {
        const bool active = row > 0 && column > 0;
        const int cell_row = gap == kInsertion ? row : row - group.lane;
        const int cell_column = gap == 0 ? column : column - group.lane;
        int bits = -1;
        if (active && cell_row > 0 && cell_column > 0) {
            const int slot = slots.slot_of(cell_column - 1);
            const int register_number = cell_column - 1 - slots.first_column(slot);
            const int stripe = slot / group.lanes, lane = slot & (group.lanes - 1);
            const int s = cell_row - 1 + lane;
            const long long block =
                (long long)stripe * scratch.blocks_per_stripe + s / kRowsPerWord;
            const unsigned word =
                scratch.directions[(block * kColumns + register_number) * kWarpLanes +
                                   group.number * group.lanes + lane];
            bits = word >> (4 * (s % kRowsPerWord)) & kTagMask;
        }
        const int continuing = gap == kDiagonal    ? kDiagonal
                               : gap == kInsertion ? kInsertionExtended
                                                   : kDeletionExtended;
        const bool continues = bits >= 0 && (bits & continuing);
        const unsigned ends = ~group.own_bits(__ballot_sync(kAllLanes, continues));
        const int run = min(group.lanes, __ffs(ends) == 0 ? kWarpLanes : __ffs(ends) - 1);
        const int current = __shfl_sync(kAllLanes, bits, 0, group.lanes);  // of the first cell
        if (!active) continue;
        if (gap == kDiagonal) {
            writer.add(run, kM, writes);
            row -= run;
            column -= run;
            if (run == 0) gap = current & kInsertion;
        } else if (gap == kInsertion) {
            // The cell before the last extended one opened the gap and belongs to it.
            const int length = min(run == group.lanes ? run : run + 1, column);
            writer.add(length, kI, writes);
            column -= length;
            if (run < group.lanes) gap = kDiagonal;
        } else {
            const int length = min(run == group.lanes ? run : run + 1, row);
            writer.add(length, kD, writes);
            row -= length;
            if (run < group.lanes) gap = kDiagonal;
        }
    }
    if (overhang == kSoftclip) {
        writer.add(column, kS, writes);
        writer.flush(writes);
        return row;
    }
    if (overhang == kIgnore) {
        writer.length += column;  // of the first run, of any operation
        writer.flush(writes);
        return row - column;
    }
    writer.add(row, kD, writes);
    if (row == 0) writer.add(column, kI, writes);
    writer.flush(writes);
    return 0;
}

}  // namespace

// Aligns pairs; pair p has row output_rows[p] in the outputs. Without kTrace, only scores are written. The
// warps take groups of pairs in turn, so any number of blocks works.
//
// All queries of a launch have more than group_lanes * stripes * (kColumns - 1) and at most
// group_lanes * stripes * kColumns bases. The sections (Scratch) of a warp's scratch memory start
// at the given numbers of words; in a struct, these numbers cost registers.
template <int kColumns, typename Score, bool kTrace>
__global__ void __launch_bounds__(128, 2)
align(Pairs pairs, Steps<Score> step, int overhang, int group_lanes, int stripes,
      unsigned* scratch_memory, long long words_per_warp, long long last_row_at,
      long long borders_at, long long runs_at, int blocks_per_stripe, int run_capacity,
      const int* output_rows, Outputs outputs) {
    const Group group(group_lanes);
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    const int warps = gridDim.x * blockDim.x / kWarpLanes;
    unsigned* memory = scratch_memory + words_per_warp * warp;
    const Scratch<Score> scratch = {
        memory, reinterpret_cast<int*>(memory + last_row_at),
        reinterpret_cast<Score*>(memory + borders_at),
        memory + runs_at + (long long)group.number * run_capacity, blocks_per_stripe};

    for (int first = warp * group.count; first < pairs.count; first += warps * group.count) {
        const int p = first + group.number;
        const Sequences references = pairs.references, queries = pairs.queries;
        Pair pair = {references.bases, queries.bases, 0, 0};
        if (p < pairs.count) {
            const int r = pairs.reference_index[p], q = pairs.query_index[p];
            pair = {references.bases + references.offsets[r], queries.bases + queries.offsets[q],
                    references.offsets[r + 1] - references.offsets[r],
                    queries.offsets[q + 1] - queries.offsets[q]};
        }
        int rows = pair.rows;
        for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
            rows = max(rows, __shfl_xor_sync(kAllLanes, rows, distance));
        }
        const int steps =
            (rows + group.lanes - 1 + kRowsPerWord - 1) / kRowsPerWord * kRowsPerWord;

        EndCell end = {kNoScore, 0, 0};
        for (int stripe = 0; stripe < stripes; ++stripe) {
            fill_stripe<kColumns, Score, kTrace>(pair, step, overhang, group, scratch, stripe,
                                                 stripes, steps, end);
        }
        end = find_end<kColumns>(pair, overhang, group, scratch, stripes, end);
        const bool writes = p < pairs.count && group.lane == 0;
        if (writes) outputs.scores[output_rows[p]] = end.score;
        if constexpr (kTrace) {
            RunWriter writer(scratch.runs);
            const int offset =
                trace_back<kColumns>(pair, overhang, group, scratch, stripes, end, writer);
            int start = 0;
            if (writes) {
                start = (int)min(atomicAdd(outputs.pool_used, (unsigned long long)writer.count),
                                 (unsigned long long)outputs.pool_capacity);
                const int row = output_rows[p];
                outputs.offsets[row] = offset;
                outputs.cigar_starts[row] = start;
                outputs.cigar_counts[row] = writer.count;
            }
            start = __shfl_sync(kAllLanes, start, 0, group.lanes);
            __syncwarp();
            if (p < pairs.count && writer.count <= outputs.pool_capacity - start) {
                for (int k = group.lane; k < writer.count; k += group.lanes) {
                    outputs.pool[start + k] = scratch.runs[writer.count - 1 - k];
                }
            }
            __syncwarp();
        }
    }
}
