// Bands of the fills, and which of them a fill is aligned in; as hapgpu/longread/align/dp/bands.py.

// A fill is aligned in bands of 16 * 2 to 256 * 2 diagonals: band k has kFirstPairs << k pairs.
constexpr int kBands = 5, kFirstPairs = 16;
constexpr int kNoBand = kBands;

// Sequences of more bases together are not aligned here: a warp would take long. Scores fit 25 bits.
constexpr int kMaxBases = 1 << 15;

// Diagonals on each side that the first band has at least, for `kWidthBases` bases or fewer.
constexpr int kFirstWidth = 12, kWidthBases = 220;

// The next band has at most 4 times the width: scores in a band that is too narrow say little.
constexpr int kMostGrowth = 2;

// Direction bytes of 8 antidiagonals lie together, one word per pair of diagonals.
constexpr int kBlockRows = 8;

// Diagonals `low` to `low + 2 * pairs - 1`: target position minus query position. `low` is even.
struct Band {
    int low, pairs;

    __device__ int high() const { return low + 2 * pairs - 1; }
};

// Returns a band around the diagonals of the first and the last cell, which need not fit.
__device__ inline Band band_of(int number, int target_length, int query_length) {
    const int pairs = kFirstPairs << number, difference = target_length - query_length;
    const int spare = 2 * pairs - 1 - abs(difference);
    return Band{((min(0, difference) - spare / 2) >> 1) * 2, pairs};
}

// Returns whether the first and the last cell are within the band, with some diagonals around.
__device__ inline bool has_width(const Band& band, int difference, int width) {
    return band.low <= min(0, difference) - width && band.high() >= max(0, difference) + width;
}

// Returns whether no path with a gap of `gap` of `length` bases has the score.
__device__ inline bool
beats_outside(const Scoring& scoring, int score, int length, int gap, int difference) {
    if (length < gap) return true;
    const int costs = gap_cost(scoring, gap) + gap_cost(scoring, gap - difference);
    return score > scoring.match * (length - gap) - costs;
}

// Returns whether the best alignment within the band, of this score, is that of the whole matrix.
__device__ inline bool is_certified(
    const Scoring& scoring, const Band& band, int score, int target_length, int query_length
) {
    const int difference = target_length - query_length;
    return beats_outside(scoring, score, target_length, band.high() + 1, difference)
        && beats_outside(scoring, score, query_length, 1 - band.low, -difference);
}

// Returns the first band to try.
__device__ inline int first_band(int target_length, int query_length) {
    const int longest = max(target_length, query_length);
    const int width = kFirstWidth * max(longest, kWidthBases) / kWidthBases;
    for (int number = 0; number < kBands; ++number) {
        const Band band = band_of(number, target_length, query_length);
        if (has_width(band, target_length - query_length, width)) return number;
    }
    const Band widest = band_of(kBands - 1, target_length, query_length);
    return has_width(widest, target_length - query_length, 1) ? kBands - 1 : kNoBand;
}

// Returns the band after one in which the score was not enough: one that the score certifies.
__device__ inline int
next_band(const Scoring& scoring, int number, int score, int target_length, int query_length) {
    if (number == kBands - 1) return kNoBand;
    const int last = min(number + kMostGrowth, kBands - 1);
    for (int next = number + 1; next < last; ++next) {
        const Band band = band_of(next, target_length, query_length);
        if (is_certified(scoring, band, score, target_length, query_length)) return next;
    }
    return last;
}

// Returns the number of blocks of rows; there is a row per antidiagonal, from the first corner on.
__device__ inline int blocks_of(int bases) { return bases / kBlockRows + 1; }

// Returns the first row, 0 or less: the last corner is in one of the last two rows of a block.
__device__ inline int first_row(int bases) { return (bases | 1) + 1 - blocks_of(bases) * kBlockRows; }

// Returns the bytes of directions, at most `_MAX_DIRECTIONS` of hapgpu/longread/cuda/align/fills.py,
// with a block more: room for the operations of the path.
__device__ inline long long direction_bytes(int pairs, int bases) {
    return (blocks_of(bases) + 1ll) * pairs * kBlockRows;
}

// Returns where the direction of a cell is among those of the fill; `row` counts from the first row.
__device__ inline int direction_at(const Band& band, int row, int diagonal) {
    const int pair = row / kBlockRows * band.pairs + ((diagonal - band.low) >> 1);
    return pair * kBlockRows + row % kBlockRows;
}

// Directions: the choice of a cell in bits 4 to 6, the best in a tie first, and below a bit for each
// gap, set if the gap after the cell is a new one.
constexpr int kChoiceShift = 4;
enum Choice : int { kLongInsertion, kLongDeletion, kInsertionGap, kDeletionGap, kPair };
constexpr int kOpensDeletion = 1, kOpensInsertion = 2, kOpensLongDeletion = 4;
constexpr int kOpensLongInsertion = 8;
