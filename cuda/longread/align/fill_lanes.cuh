// Fills of a band by a group of lanes: see `fill_band`.

#include "longread/align/fill_bands.cuh"
#include "longread/align/fill_cells.cuh"

// Bases of a fill.
struct FillCodes {
    const unsigned char* targets;
    const unsigned char* queries;
    int target_length, query_length;

    __device__ int bases() const { return target_length + query_length; }
};

// Returns a code of a sequence; anything outside of it.
__device__ inline unsigned code_at(const unsigned char* codes, int length, int position) {
    return codes[min(max(position, 0), length - 1)];
}

// Where the lane of a group is, and from where it gets the values of its neighbours.
template <int kLanes>
struct Place {
    int lane, before, after;
    bool is_first, is_last;

    __device__ Place() {
        lane = lane_id() % kLanes;
        before = max(lane_id() - 1, 0);
        after = min(lane_id() + 1, kWarpLanes - 1);
        is_first = lane == 0;
        is_last = lane == kLanes - 1;
    }

    // Deletions come from the diagonal before, insertions from the one after. All lanes call it.
    __device__ int deletion(int value) const {
        const int other = __shfl_sync(kAllLanes, value, before);
        return is_first ? kUnreachable : other;
    }
    __device__ int insertion(int value) const {
        const int other = __shfl_sync(kAllLanes, value, after);
        return is_last ? kUnreachable : other;
    }
};

// The diagonals 2 * kCells * lane to 2 * kCells * (lane + 1) - 1 of a band: those with even numbers
// are computed on even antidiagonals, the others on odd ones.
template <int kCells>
struct Lane {
    static constexpr int kWords = (kCells + 3) / 4;
    int scores[2][kCells];
    Gaps gaps[kCells];  // of the antidiagonal before
    unsigned targets[kWords], queries[kWords];  // codes of the cells
    unsigned directions[kCells][2];
    int diagonal;  // the first one

    __device__ void clear() {
#pragma unroll
        for (int cell = 0; cell < kCells; ++cell) {
            scores[0][cell] = scores[1][cell] = kUnreachable;
            gaps[cell] = Gaps{kUnreachable, kUnreachable, kUnreachable, kUnreachable};
        }
    }

    // Moves the cells on the target by one base.
    __device__ void push_target(unsigned code) {
#pragma unroll
        for (int k = 0; k + 1 < kWords; ++k) {
            targets[k] = __funnelshift_r(targets[k], targets[k + 1], 8);
        }
        constexpr int kTop = 8 * ((kCells - 1) % 4);
        targets[kWords - 1] = kCells == 1 ? code : targets[kWords - 1] >> 8 | code << kTop;
    }

    // Moves the cells on the query by one base.
    __device__ void push_query(unsigned code) {
#pragma unroll
        for (int k = kWords - 1; k > 0; --k) {
            queries[k] = __funnelshift_r(queries[k - 1], queries[k], 24);
        }
        queries[0] = kCells == 1 ? code : queries[0] << 8 | code;
    }

    // Computes cells of an antidiagonal, row kRow of its block; `gaps` are those of the neighbours.
    template <int kRow>
    __device__ void
    compute(int cell, Gaps arriving, const CellCosts& costs, int row, const Scoring& scoring,
            bool has_border) {
        const unsigned difference =
            differences(targets[cell / 4], queries[cell / 4]) >> 8 * (cell % 4) & 7;
        int& score = scores[kRow % 2][cell];
        int pair = costs.of_pair(difference);
        if (has_border && abs(diagonal + 2 * cell + kRow % 2) == row) {
            score = -scaled(gap_cost(scoring, row));
            pair = 0;
            arriving = Gaps{kUnreachable, kUnreachable, kUnreachable, kUnreachable};
        }
        const unsigned direction = compute_cell(costs, pair, score, arriving);
        gaps[cell] = arriving;
        constexpr unsigned kSelectors[] = {0x3214, 0x3240, 0x3410, 0x4210};
        unsigned& four = directions[cell][kRow / 4];
        four = __byte_perm(four, direction, kSelectors[kRow % 4]);
    }

    // Computes the cells of an antidiagonal. All lanes of the warp call it together.
    template <int kRow, int kLanes>
    __device__ void step(
        const Place<kLanes>& place, const CellCosts& costs, int row, const Scoring& scoring,
        bool has_border
    ) {
        if (kRow % 2 == 0) {
            const int deletion = place.deletion(gaps[kCells - 1].deletion);
            const int long_deletion = place.deletion(gaps[kCells - 1].long_deletion);
#pragma unroll
            for (int cell = kCells - 1; cell >= 0; --cell) {
                Gaps arriving = gaps[cell];
                arriving.deletion = cell ? gaps[max(cell - 1, 0)].deletion : deletion;
                arriving.long_deletion = cell ? gaps[max(cell - 1, 0)].long_deletion : long_deletion;
                compute<kRow>(cell, arriving, costs, row, scoring, has_border);
            }
        } else {
            const int insertion = place.insertion(gaps[0].insertion);
            const int long_insertion = place.insertion(gaps[0].long_insertion);
#pragma unroll
            for (int cell = 0; cell < kCells; ++cell) {
                constexpr int kLast = kCells - 1;
                Gaps arriving = gaps[cell];
                arriving.insertion =
                    cell < kLast ? gaps[min(cell + 1, kLast)].insertion : insertion;
                arriving.long_insertion =
                    cell < kLast ? gaps[min(cell + 1, kLast)].long_insertion : long_insertion;
                compute<kRow>(cell, arriving, costs, row, scoring, has_border);
            }
        }
    }

    // Computes two antidiagonals, and moves on by a base of each sequence.
    template <int kRow, int kLanes>
    __device__ void two_steps(
        const Place<kLanes>& place, const CellCosts& costs, int row, const Scoring& scoring,
        bool has_border, unsigned target_codes, unsigned query_codes
    ) {
        step<kRow>(place, costs, row + kRow, scoring, has_border);
        push_target(target_codes >> 4 * kRow & 0xff);
        step<kRow + 1>(place, costs, row + kRow + 1, scoring, has_border);
        push_query(query_codes >> 4 * kRow & 0xff);
    }

    // Writes the directions of a block: 8 bytes per cell.
    __device__ void store(unsigned char* out) const {
        unsigned long long eight[kCells];
#pragma unroll
        for (int cell = 0; cell < kCells; ++cell) {
            eight[cell] = directions[cell][0] | (unsigned long long)directions[cell][1] << 32;
        }
        if (kCells == 1) {
            *(unsigned long long*)out = eight[0];
        } else {
#pragma unroll
            for (int cell = 0; cell + 1 < kCells; cell += 2) {
                ((ulonglong2*)out)[cell / 2] = ulonglong2{eight[cell], eight[cell + 1]};
            }
        }
    }

    // Returns the last score on a diagonal of this lane.
    __device__ int score_on(int wanted) const {
        int found = 0;
#pragma unroll
        for (int cell = 0; cell < kCells; ++cell) {
            if (wanted == diagonal + 2 * cell) found = scores[0][cell];
            if (wanted == diagonal + 2 * cell + 1) found = scores[1][cell];
        }
        return found >> kScaleShift;
    }
};

// Fills the band of a fill by a group of `kLanes` lanes, each with `kCells` cells per antidiagonal.
// Groups of a warp run together, and end together: that with fewer blocks computes some blocks
// before its first one, which have no effect on others. Returns true in the lane that has the score.
template <int kLanes, int kCells>
__device__ bool fill_band(
    const Scoring& scoring, const CellCosts& costs, const FillCodes& codes, const Band& band,
    int blocks, unsigned char* directions, int& score
) {
    const Place<kLanes> place;
    Lane<kCells> lane;
    lane.diagonal = band.low + 2 * kCells * place.lane;
    lane.clear();
    const int own_blocks = blocks_of(codes.bases());
    int row = first_row(codes.bases()) - (blocks - own_blocks) * kBlockRows;
    const int next_target = (row + lane.diagonal) / 2 + kCells - 1;
    const int next_query = (row - lane.diagonal) / 2;
#pragma unroll
    for (int cell = 0; cell < kCells; ++cell) {
        lane.targets[cell / 4] = lane.queries[cell / 4] = 0;
    }
#pragma unroll
    for (int cell = 0; cell < kCells; ++cell) {
        const int back = kCells - cell;
        lane.push_target(code_at(codes.targets, codes.target_length, next_target - back));
        lane.push_query(code_at(codes.queries, codes.query_length, next_query - back));
    }
    CodeStream targets(codes.targets, codes.target_length, next_target);
    CodeStream queries(codes.queries, codes.query_length, next_query);
    const int border_end = max(-band.low, band.high());
    unsigned char* out = directions + (long long)place.lane * kCells * kBlockRows;
    for (int block = own_blocks - blocks; block < own_blocks; ++block) {
        const unsigned four_targets = targets.four(), four_queries = queries.four();
        const bool has_border = row <= border_end;
        lane.template two_steps<0>(
            place, costs, row, scoring, has_border, four_targets, four_queries
        );
        lane.template two_steps<2>(
            place, costs, row, scoring, has_border, four_targets, four_queries
        );
        lane.template two_steps<4>(
            place, costs, row, scoring, has_border, four_targets, four_queries
        );
        lane.template two_steps<6>(
            place, costs, row, scoring, has_border, four_targets, four_queries
        );
        if (block >= 0) {
            lane.store(out);
            out += (long long)band.pairs * kBlockRows;
        }
        row += kBlockRows;
    }
    const int last_diagonal = codes.target_length - codes.query_length;
    score = lane.score_on(last_diagonal);
    return last_diagonal >= lane.diagonal && last_diagonal < lane.diagonal + 2 * kCells;
}
