// Bands of a matrix and their borders; same as hapgpu/longread/align/dp/bands.py.

constexpr int kBlockLanes = 16;  // lanes that minimap2 computes together
constexpr int kNoScore = -(1 << 30);
constexpr int kNowhere = -1;

// Cells to compute, by the difference of target and query offset. With `leaks`, cells outside hold
// what minimap2's blocks of lanes compute there, and paths may go through them.
struct Band {
    int query_length, target_length;
    int lowest, highest;
    bool leaks;
};

// Lanes (target offsets) of an antidiagonal: in the band, and computed.
struct Lanes {
    int start, end, first, last;
};

__device__ inline Lanes lanes_of(const Band& band, int r) {
    Lanes lanes;
    lanes.start = max(max((r + band.lowest + 1) >> 1, r - band.query_length + 1), 0);
    lanes.end = min(min((r + band.highest) >> 1, r), band.target_length - 1);
    lanes.first = band.leaks ? lanes.start & -kBlockLanes : lanes.start;
    lanes.last = band.leaks ? lanes.end | (kBlockLanes - 1) : lanes.end;
    return lanes;
}

// Bound on the lanes that an antidiagonal of the band computes.
__device__ inline int max_lanes(const Band& band) {
    const int lanes = min(
        min(band.query_length, band.target_length), (band.highest - band.lowest) / 2 + 1
    );
    return band.leaks ? (lanes + 2 * kBlockLanes - 2) & -kBlockLanes : lanes;
}

__device__ inline bool is_single_affine(const Scoring& scoring) {
    return scoring.gap_open == scoring.gap_open2 && scoring.gap_extend == scoring.gap_extend2;
}

// Whether no number wraps around at 8 bits in bands that do not leak, with two affine gap costs: u and
// v are at least the cost of a gap of one base below 0, and at most that above a match.
__device__ inline bool fits_bytes(const Scoring& scoring) {
    const int cost = scoring.gap_open + scoring.gap_extend;
    const int cost2 = scoring.gap_open2 + scoring.gap_extend2;
    return cost <= cost2 && 2 * cost + scoring.gap_open2 < 128 && cost + cost2 < 128 &&
        scoring.match + 2 * cost < 128;
}

// Differences for gaps that open at a border, and for gaps that are never taken; `bias` is added
// to all stored differences u and v.
struct Borders {
    int bias, opened, opened2, unreachable;
};

__device__ inline Borders borders_of(const Scoring& scoring) {
    const int cost = scoring.gap_open + scoring.gap_extend;
    if (is_single_affine(scoring)) return {cost, 0, 0, 0};
    return {0, -cost, -scoring.gap_open2 - scoring.gap_extend2, scoring.match - 128};
}

// Lane with a neighbour outside, and differences for that neighbour.
struct Edge {
    int lane, difference, gap, gap2;
};

// The lane whose neighbour before it on the target lies outside.
__device__ inline Edge left_edge(
    const Band& band, const Borders& borders, int r, const Lanes& lanes, int first_before,
    int difference
) {
    if (band.leaks) {
        if (lanes.first == 0) return {0, difference, borders.opened, borders.opened2};
        if (lanes.first == first_before) {
            return {lanes.first, borders.opened, borders.opened, borders.opened2};
        }
    } else if (lanes.start == 0) {
        return {0, difference, borders.opened, borders.opened2};
    } else if (2 * lanes.start - r == band.lowest) {
        return {lanes.start, 0, borders.unreachable, borders.unreachable};
    }
    return {kNowhere, 0, 0, 0};
}

// The lane whose neighbour before it on the query lies outside.
__device__ inline Edge top_edge(
    const Band& band, const Borders& borders, int r, const Lanes& lanes, int difference
) {
    if (lanes.last >= r) return {r, difference, borders.opened, borders.opened2};
    if (!band.leaks && 2 * lanes.end - r == band.highest) {
        return {lanes.end, 0, borders.unreachable, borders.unreachable};
    }
    return {kNowhere, 0, 0, 0};
}

// Whether no path with a gap of `gap` of `length` bases has the score.
__device__ inline bool beats_outside(
    int score, int length, int gap, int difference, const Scoring& scoring
) {
    const int columns = length - gap;
    if (columns < 0) return true;
    const int costs = gap_cost(scoring, gap) + gap_cost(scoring, gap - difference);
    return score > scoring.match * columns - costs;
}

// Whether the score of a band, which does not leak, is that of the whole matrix, and so its path.
__device__ inline bool is_certified(int score, const Band& band, const Scoring& scoring) {
    const int difference = band.target_length - band.query_length;
    return beats_outside(score, band.target_length, band.highest + 1, difference, scoring) &&
        beats_outside(score, band.query_length, 1 - band.lowest, -difference, scoring);
}

// Whether a band without leaks has no other paths than those within it.
__device__ inline bool has_narrow_bands(const Scoring& scoring) {
    const int worst = max(max(scoring.mismatch, scoring.transition), scoring.dp_ambiguous);
    const int cost = scoring.gap_open + scoring.gap_extend;
    if (is_single_affine(scoring)) {
        return worst <= cost + scoring.gap_extend && scoring.match + 2 * cost < 128;
    }
    return worst + scoring.gap_open2 + scoring.match < 128 &&
        scoring.match + cost + scoring.gap_extend < 128;
}

constexpr int kMinWidth = 32, kWidthFraction = 16, kWidthStep = 16, kMaxWidening = 4;
constexpr int kMinSaving = 2;

// The width of a narrow band; 0 for the whole matrix if the band saves little.
__device__ inline int saving_width(int query_length, int target_length, int width) {
    const long long diagonals = abs(target_length - query_length) + 2ll * width;
    const long long cells = ((long long)query_length + target_length) * diagonals / 2;
    return kMinSaving * cells < (long long)query_length * target_length ? width : 0;
}

__device__ inline Band narrow_band(int query_length, int target_length, int width) {
    const int difference = target_length - query_length;
    const int lowest = min(0, difference) - width, highest = max(0, difference) + width;
    return {query_length, target_length, lowest, highest, false};
}

// The band of the options. A band that does not leak needs not be wider than the matrix.
__device__ inline Band whole_band(int query_length, int target_length, int bandwidth) {
    const int longest = max(query_length, target_length);
    if (bandwidth < 0 || bandwidth > longest) bandwidth = longest;
    return {query_length, target_length, -bandwidth, bandwidth, bandwidth < longest - 1};
}

// The width after a band that is not certified: one that its score certifies, not far wider.
__device__ inline int next_width(int score, Band band, const Scoring& scoring, int width) {
    int wider = width;
    while (wider < kMaxWidening * width && !is_certified(score, band, scoring)) {
        wider += kWidthStep;
        band = narrow_band(band.query_length, band.target_length, wider);
    }
    return saving_width(band.query_length, band.target_length, wider);
}
