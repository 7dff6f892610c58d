// Local alignment of pairs; same as hapgpu/longread/align/dp/local.py.
//
// One thread block per pair. Each thread has 8 columns, and is one row of the target behind the
// thread to its left. Warps hand their last column on through shared memory, two groups of 32 rows
// later. A query of more columns takes several passes, with the last column in global memory.

#include "common/warp.cuh"
#include "longread/align/rows.cuh"
#include "longread/align/dp/local_pairs.cuh"

namespace {

constexpr int kWarps = 4, kThreads = kWarps * kWarpLanes;
constexpr int kColumns = kPassColumns / kThreads;
constexpr int kWarpColumns = kColumns * kWarpLanes;
constexpr int kVectorColumns = 8;  // hapgpu/longread/align/dp/results.py: LOCAL_COLUMNS
constexpr int kTopScore = 32767;   // and MAX_LOCAL_SCORE
constexpr int kCodes = 5;
constexpr int kLag = 2;     // groups of rows between a warp and the one to its left
constexpr int kRing = 128;  // rows between them, at most 65, in a power of two

static_assert(kColumns == kVectorColumns, "the padding ends with the columns of a thread");

// Scores of each target base with the columns of each thread, a byte per column.
struct Profile {
    unsigned low[kCodes][kThreads], high[kCodes][kThreads];
};

struct LocalResults {
    int* scores;
    int* target_ends;
    int* query_ends;
};

// Best cell; of several, the last row, then the last column in the order of minimap2's vectors.
struct BestCell {
    int score, row, column;

    __device__ bool is_below(const BestCell& other, int vectors) const {
        if (score != other.score) return score < other.score;
        if (row != other.row) return row < other.row;
        const int vector = column % vectors, other_vector = other.column % vectors;
        if (vector != other_vector) return vector < other_vector;
        return column < other.column;
    }

    __device__ void include(const BestCell& other, int vectors) {
        if (is_below(other, vectors)) *this = other;
    }
};

// A pair as it is read: the query from its last base on, the target in one of the directions.
struct Pair {
    const unsigned char* query_end;
    const unsigned char* target;
    unsigned* boundary;
    int query_length, rows, step;
    bool is_complement;

    __device__ int query_code(int column) const {
        const int code = query_end[-1 - (long long)column];
        return is_complement && code < kAmbiguous ? 3 - code : code;
    }
    __device__ int target_code(int row) const { return target[(long long)row * step]; }
    __device__ int row_near(int row) const { return min(max(row, 0), rows - 1); }
};

// Cells of one thread in the current row, and the best ones so far.
struct Cells {
    int scores[kColumns], deletions[kColumns];
    int above_left;         // score left of the columns, in the row before
    unsigned last;          // score and insertion right of the columns
    int best, row, equals;  // best score, its last row, bits of the columns there

    __device__ Cells() : above_left(0), last(0), best(-1), row(-1), equals(0) {
        for (int c = 0; c < kColumns; ++c) scores[c] = deletions[c] = 0;
    }

    __device__ void fill_row(
        int target_row, unsigned left, unsigned low, unsigned high, int opening, int extension
    ) {
        int diagonal = above_left, insertion = (int)(left >> 16), highest = 0;
        above_left = (int)(left & 0xffff);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const unsigned word = c < 4 ? low : high;
            const int pair_score = (signed char)(word >> 8 * (c % 4));
            int score = max(min(diagonal + pair_score, kTopScore), deletions[c]);
            score = max(score, 0);
            diagonal = scores[c];
            const int next_insertion = max(insertion - extension, score - opening);
            score = max(score, insertion);
            insertion = next_insertion;
            scores[c] = score;
            deletions[c] = max(deletions[c] - extension, score - opening);
            highest = max(highest, score);
        }
        // A negative insertion is worth no more than none.
        last = (unsigned)scores[kColumns - 1] | (unsigned)max(insertion, 0) << 16;
        if (highest < best) return;
        best = highest;
        row = target_row;
        equals = 0;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) equals |= (scores[c] == highest) << c;
    }
};

__device__ void fill_profile(
    Profile& profile, const Pair& pair, int first_column, const Scoring& scoring
) {
    for (int code = 0; code < kCodes; ++code) {
        unsigned words[2] = {0, 0};
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const int column = first_column + c;
            if (column >= pair.query_length) continue;
            const int score = pair_score(scoring, code, pair.query_code(column), scoring.ambiguous);
            words[c / 4] |= (unsigned)(score & 0xff) << 8 * (c % 4);
        }
        profile.low[code][threadIdx.x] = words[0];
        profile.high[code][threadIdx.x] = words[1];
    }
}

// Aligns 32 more rows with the columns of a warp. `in` and `out`, if any, are the last columns of
// the warp to the left and of this one, at row modulo `in_rows` and `out_rows` (powers of two - 1).
__device__ void fill_rows(
    Cells& cells, const Profile& profile, const Pair& pair, int first_row, const unsigned* in,
    int in_mask, unsigned* out, int out_mask, int opening, int extension
) {
    const int own = first_row + lane_id();
    const unsigned lefts = in && own < pair.rows ? in[own & in_mask] : 0;
    // Scores are loaded one row ahead, and the target's codes two, to hide the time of the loads.
    int row = first_row - lane_id();
    int code = pair.target_code(pair.row_near(row + 1));
    const int first_code = pair.target_code(pair.row_near(row));
    unsigned low = profile.low[first_code][threadIdx.x];
    unsigned high = profile.high[first_code][threadIdx.x];
    for (int k = 0; k < kWarpLanes; ++k, ++row) {
        unsigned left = __shfl_up_sync(kAllLanes, cells.last, 1);
        const unsigned first = __shfl_sync(kAllLanes, lefts, k);
        if (lane_id() == 0) left = first;
        const unsigned next_low = profile.low[code][threadIdx.x];
        const unsigned next_high = profile.high[code][threadIdx.x];
        code = pair.target_code(pair.row_near(row + 2));
        if (row >= 0 && row < pair.rows) {
            cells.fill_row(row, left, low, high, opening, extension);
            if (out && lane_id() == kWarpLanes - 1) out[row & out_mask] = cells.last;
        }
        low = next_low;
        high = next_high;
    }
}

// Returns the best cell of a thread in up to 1,024 columns from `first_column` on.
__device__ BestCell fill_pass(
    Profile& profile, unsigned (*rings)[kRing], const Pair& pair, int first_column, int padded,
    const Scoring& scoring
) {
    const int warp = threadIdx.x / kWarpLanes;
    const int own_column = first_column + (int)threadIdx.x * kColumns;
    const int warps = (min(padded - first_column, kPassColumns) + kWarpColumns - 1) / kWarpColumns;
    const int groups = pair.rows > 0 ? (pair.rows + 2 * kWarpLanes - 2) / kWarpLanes : 0;
    const int opening = scoring.gap_open + scoring.gap_extend;
    const bool is_first = warp == 0, is_last = warp == kWarps - 1;
    const bool has_next_pass = first_column + kPassColumns < padded;
    const unsigned* in = is_first ? (first_column ? pair.boundary : nullptr) : rings[warp - 1];
    unsigned* out = is_last ? (has_next_pass ? pair.boundary : nullptr) : rings[warp];
    const int in_mask = is_first ? -1 : kRing - 1, out_mask = is_last ? -1 : kRing - 1;
    fill_profile(profile, pair, own_column, scoring);
    Cells cells;
    for (int turn = 0; turn < groups + kLag * (warps - 1); ++turn) {
        const int group = turn - kLag * warp;
        if (warp < warps && group >= 0 && group < groups) {
            fill_rows(
                cells, profile, pair, group * kWarpLanes, in, in_mask, out, out_mask, opening,
                scoring.gap_extend
            );
        }
        // In this turn, the warp to the right read rows that were written before; those written
        // now are read in the next turns. In the boundary, rows are read before they are written.
        __syncthreads();
    }
    BestCell best{-1, -1, 0};
    const int vectors = padded / kVectorColumns;
    for (int c = 0; c < kColumns; ++c) {
        if (own_column < padded && cells.equals >> c & 1) {
            best.include({cells.best, cells.row, own_column + c}, vectors);
        }
    }
    return best;
}

// Returns the best cell of a thread block, in its first thread.
__device__ BestCell best_of_all(BestCell best, BestCell* of_warps, int vectors) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        const BestCell other{
            __shfl_xor_sync(kAllLanes, best.score, distance),
            __shfl_xor_sync(kAllLanes, best.row, distance),
            __shfl_xor_sync(kAllLanes, best.column, distance)
        };
        best.include(other, vectors);
    }
    if (lane_id() == 0) of_warps[threadIdx.x / kWarpLanes] = best;
    __syncthreads();  // the first thread reads what the first lanes wrote
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < kWarps; ++warp) best.include(of_warps[warp], vectors);
    }
    __syncthreads();  // before the next pair writes
    return best;
}

}  // namespace

// Aligns pairs; one thread block per pair. With `is_backwards`, both sequences are read from their
// last base on; otherwise the query is replaced by its reverse complement.
extern "C" __global__ void __launch_bounds__(kThreads, 6) align_locally(
    const LocalPair* pairs, int count, const __grid_constant__ ReadCodes reads,
    const __grid_constant__ TargetCodes targets, const __grid_constant__ Scoring scoring,
    int is_backwards, unsigned* boundaries, const __grid_constant__ LocalResults results
) {
    __shared__ Profile profile;
    __shared__ unsigned rings[kWarps - 1][kRing];
    __shared__ BestCell of_warps[kWarps];
    for (int k = blockIdx.x; k < count; k += gridDim.x) {
        const LocalPair listed = pairs[k];
        const int rows = listed.target_length;
        const Pair pair{
            reads.codes + listed.query_start + listed.query_length,
            targets.codes + listed.target_start + (is_backwards ? rows - 1 : 0),
            boundaries + listed.boundary,
            listed.query_length,
            rows,
            is_backwards ? -1 : 1,
            !is_backwards
        };
        const int vectors = (pair.query_length + kVectorColumns - 1) / kVectorColumns;
        const int padded = vectors * kVectorColumns;
        BestCell best{-1, -1, 0};
        for (int first = 0; first < padded; first += kPassColumns) {
            best.include(fill_pass(profile, rings, pair, first, padded, scoring), max(vectors, 1));
        }
        best = best_of_all(best, of_warps, max(vectors, 1));
        if (threadIdx.x) continue;
        const bool is_empty = best.score < 0;
        results.scores[k] = is_empty ? 0 : best.score;
        results.target_ends[k] = is_empty ? rows - 1 : best.row;
        results.query_ends[k] = is_empty ? -1 : best.column;
    }
}
