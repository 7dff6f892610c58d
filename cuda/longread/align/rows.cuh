// Batches of base alignment, in the order of hapgpu/longread/cuda/align/rows.py.

// Elements of MAPPING and PLAN: see hapgpu/longread/align/batches.py.
struct Mapping {
    long long first_anchor, first_operation;
    int read, sequence, is_reverse;
    int query_start, query_end, target_start, target_end;
    int anchors, score, first_score, second_score, n_sub;
    unsigned hash;
    int number, parent, next;
    int split, is_split_inversion, is_inversion;
    int operations, matches, length, ambiguous, gaps, gap_bases;
    int dp_score, dp_max, first_dp_max, second_dp_max;
    int quality, is_first_primary;
};

struct Plan {
    long long first_anchor;
    int anchors, mapping;
    int query_start, target_start;
    int left, first_fill, fills, right;
};

static_assert(sizeof(Mapping) == 144 && sizeof(Plan) == 40, "as in NumPy");

// Bases of n reads, the forward strand of each followed by its reverse complement.
struct ReadCodes {
    const unsigned char* codes;
    const long long* starts;
    const int* lengths;
    int reads;
};

struct TargetCodes {
    const unsigned char* codes;
    const long long* starts;
    const long long* lengths;
    int sequences;
};

struct MappedAnchors {
    const unsigned long long* x;
    unsigned long long* y;
    const long long* offsets;
    int reads;
};

struct Pieces {
    unsigned char* kinds;
    long long* query_starts;
    int* query_lengths;
    long long* target_starts;
    int* target_lengths;
    int* bands;
    int* drops;
    int count;
};

// Kinds of pieces.
constexpr int kFill = 0, kRefill = 1, kLeft = 2, kRight = 3, kInversion = 4;

// Results of the test of a fill for drops: hapgpu/longread/align/drops.py.
constexpr unsigned char kNoDrop = 0, kDrop = 1, kInversionDrop = 2;

// Parent of a later part of a primary mapping, until the mappings are ranked.
constexpr int kTemporaryPrimary = -2;

struct PieceAlignments {
    int* scores;
    int* max_scores;
    int* max_targets;
    int* max_queries;
    int* query_end_targets;
    unsigned char* reaches_end;
    unsigned char* is_dropped;
    unsigned* operations;
    const long long* offsets;
    int count;
};

// Scores; `dp_ambiguous` is the cost of a pair with an ambiguous base within dynamic programming.
struct Scoring {
    int match, mismatch;
    int gap_open, gap_extend, gap_open2, gap_extend2;
    int ambiguous, dp_ambiguous, transition;
};

constexpr int kAmbiguous = 4;

// Score of a pair of codes with this cost of an ambiguous base.
__device__ inline int pair_score(const Scoring& scoring, int one, int other, int ambiguous) {
    if (max(one, other) >= kAmbiguous) return -ambiguous;
    if (one == other) return scoring.match;
    return (one ^ other) == 2 ? -scoring.transition : -scoring.mismatch;
}

// Cost of a gap of some bases, 0 for none.
__device__ inline int gap_cost(const Scoring& scoring, int length) {
    if (length == 0) return 0;
    return min(
        scoring.gap_open + scoring.gap_extend * length,
        scoring.gap_open2 + scoring.gap_extend2 * length
    );
}

// `AlignParameters`.
struct Parameters {
    int k, is_hpc, min_anchors, min_chain_score, max_gap, bandwidth;
    int band, long_band, inversion_band;
    int drop, inversion_drop, end_bonus, min_score, min_piece;
    long long max_cells;
    int filters_ends;
};
