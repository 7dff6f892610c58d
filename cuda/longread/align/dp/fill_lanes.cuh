// Fills of a band by a group of lanes: see `fill_band`.

#include "longread/align/dp/fill_bands.cuh"
#include "longread/align/dp/fill_cells.cuh"

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

__device__ inline Gaps no_gaps() {
    return Gaps{kUnreachable, kUnreachable, kUnreachable, kUnreachable};
}

// Returns what a cell at the border has in place of the score before it on its diagonal: with a pair
// of the lowest score, it gets the cost of the gap along the border.
__device__ inline int border_score(const CellCosts& costs, const Scoring& scoring, int row) {
    return (kPair << kChoiceShift) - costs.lowest - scaled(gap_cost(scoring, max(row, 0)));
}

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
    unsigned pairs;  // of the costs: in a register of the lane, from which it is read fastest

    __device__ void clear() {
#pragma unroll
        for (int cell = 0; cell < kCells; ++cell) {
            scores[0][cell] = scores[1][cell] = kUnreachable;
            gaps[cell] = no_gaps();
            targets[cell / 4] = queries[cell / 4] = 0;
        }
    }

    // Moves the cells on the target by one base, byte kByte of `codes`.
    template <int kByte>
    __device__ void push_target(unsigned codes) {
        if (kCells == 1) {
            targets[0] = permuted(codes, kNoBytes, 0x4440 | kByte);
        } else {
#pragma unroll
            for (int k = 0; k + 1 < kWords; ++k) {
                targets[k] = __funnelshift_r(targets[k], targets[k + 1], 8);
            }
            constexpr unsigned kSelectors = kCells == 2 ? 0x0041 : 0x0321;
            constexpr int kTop = kCells == 2 ? 4 : 12;
            targets[kWords - 1] =
                permuted(targets[kWords - 1], codes, kSelectors | (4 + kByte) << kTop);
        }
    }

    // Moves the cells on the query by one base, byte kByte of `codes`.
    template <int kByte>
    __device__ void push_query(unsigned codes) {
        if (kCells == 1) {
            queries[0] = permuted(codes, 0, 0x4440 | kByte);
        } else {
#pragma unroll
            for (int k = kWords - 1; k > 0; --k) {
                queries[k] = __funnelshift_r(queries[k - 1], queries[k], 24);
            }
            queries[0] = permuted(queries[0], codes, 0x2100 | (4 + kByte));
        }
    }

    // Computes a cell of an antidiagonal, row kRow of its block; `arriving` are its gaps. With
    // `kHasBorder`, it may be a cell at the border: one before the first base of a sequence.
    template <int kRow, bool kHasBorder>
    __device__ void
    compute(int cell, Gaps arriving, const CellCosts& costs, int row, int border_score) {
        unsigned bytes = differences(targets[cell / 4], queries[cell / 4]);
        if (kCells > 1) bytes = permuted(bytes, kNoBytes, 0x4440 | cell % 4);
        int pair = (int)permuted(pairs, costs.ambiguous_pairs, bytes);
        int& score = scores[kRow % 2][cell];
        if (kHasBorder) {
            const bool is_border = abs(diagonal + 2 * cell + kRow % 2) == row;
            if (is_border) arriving = no_gaps();
            pair = is_border ? 0 : pair;
            score = is_border ? border_score : score;
        }
        const unsigned direction = compute_cell(costs, pair, score, arriving);
        gaps[cell] = arriving;
        constexpr unsigned kSelectors[] = {0x3214, 0x3240, 0x3410, 0x4210};
        unsigned& four = directions[cell][kRow / 4];
        four = __byte_perm(four, direction, kSelectors[kRow % 4]);
    }

    // Computes the cells of an antidiagonal. All lanes of the warp call it together.
    template <int kRow, bool kHasBorder, int kLanes>
    __device__ void step(const Place<kLanes>& place, const CellCosts& costs, int row, int score) {
        if (kRow % 2 == 0) {
            const int deletion = place.deletion(gaps[kCells - 1].deletion);
            const int long_deletion = place.deletion(gaps[kCells - 1].long_deletion);
#pragma unroll
            for (int cell = kCells - 1; cell >= 0; --cell) {
                const int other = max(cell - 1, 0);
                Gaps arriving = gaps[cell];
                arriving.deletion = cell ? gaps[other].deletion : deletion;
                arriving.long_deletion = cell ? gaps[other].long_deletion : long_deletion;
                compute<kRow, kHasBorder>(cell, arriving, costs, row, score);
            }
        } else {
            constexpr int kLast = kCells - 1;
            const int insertion = place.insertion(gaps[0].insertion);
            const int long_insertion = place.insertion(gaps[0].long_insertion);
#pragma unroll
            for (int cell = 0; cell < kCells; ++cell) {
                const int other = min(cell + 1, kLast);
                Gaps arriving = gaps[cell];
                arriving.insertion = cell < kLast ? gaps[other].insertion : insertion;
                arriving.long_insertion =
                    cell < kLast ? gaps[other].long_insertion : long_insertion;
                compute<kRow, kHasBorder>(cell, arriving, costs, row, score);
            }
        }
    }

    // Computes two antidiagonals, and moves on by a base of each sequence.
    template <int kRow, bool kHasBorder, int kLanes>
    __device__ void two_steps(
        const Place<kLanes>& place, const CellCosts& costs, const Scoring& scoring, int row,
        unsigned target_codes, unsigned query_codes
    ) {
        int score = kHasBorder ? border_score(costs, scoring, row + kRow) : 0;
        step<kRow, kHasBorder>(place, costs, row + kRow, score);
        push_target<kRow / 2>(target_codes);
        score = kHasBorder ? border_score(costs, scoring, row + kRow + 1) : 0;
        step<kRow + 1, kHasBorder>(place, costs, row + kRow + 1, score);
        push_query<kRow / 2>(query_codes);
    }

    // Computes a block of antidiagonals, the first of which is `row`.
    template <bool kHasBorder, int kLanes>
    __device__ void block(
        const Place<kLanes>& place, const CellCosts& costs, const Scoring& scoring, int row,
        unsigned target_codes, unsigned query_codes
    ) {
        two_steps<0, kHasBorder>(place, costs, scoring, row, target_codes, query_codes);
        two_steps<2, kHasBorder>(place, costs, scoring, row, target_codes, query_codes);
        two_steps<4, kHasBorder>(place, costs, scoring, row, target_codes, query_codes);
        two_steps<6, kHasBorder>(place, costs, scoring, row, target_codes, query_codes);
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
    lane.pairs = __shfl_sync(kAllLanes, costs.pairs, 0);
    const int own_blocks = blocks_of(codes.bases());
    int row = first_row(codes.bases()) - (blocks - own_blocks) * kBlockRows;
    const int next_target = (row + lane.diagonal) / 2 + kCells - 1;
    const int next_query = (row - lane.diagonal) / 2;
#pragma unroll
    for (int cell = 0; cell < kCells; ++cell) {
        const int back = kCells - cell;
        lane.template push_target<0>(
            code_at(codes.targets, codes.target_length, next_target - back) | kNoByte
        );
        lane.template push_query<0>(code_at(codes.queries, codes.query_length, next_query - back));
    }
    CodeStream targets(codes.targets, codes.target_length, next_target);
    CodeStream queries(codes.queries, codes.query_length, next_query);
    unsigned char* out = directions + (long long)place.lane * kCells * kBlockRows;
    const int border_rows = max(-band.low, band.high()) + 1 - row;
    const int border_blocks = min(warp_max((border_rows + kBlockRows - 1) / kBlockRows), blocks);
    for (int block = 0; block < blocks; ++block) {
        const unsigned four_targets = targets.four() | kNoByte, four_queries = queries.four();
        if (block < border_blocks) {
            lane.template block<true>(place, costs, scoring, row, four_targets, four_queries);
        } else {
            lane.template block<false>(place, costs, scoring, row, four_targets, four_queries);
        }
        if (block >= blocks - own_blocks) {
            lane.store(out);
            out += (long long)band.pairs * kBlockRows;
        }
        row += kBlockRows;
    }
    const int last_diagonal = codes.target_length - codes.query_length;
    score = lane.score_on(last_diagonal);
    return last_diagonal >= lane.diagonal && last_diagonal < lane.diagonal + 2 * kCells;
}
