// Scores and directions of the matrix of one pair, by antidiagonals, by a warp or a thread block;
// same as hapgpu/longread/align/dp/antidiagonals.py.
//
// Lane t of an antidiagonal, the cell at target offset t, belongs to thread t modulo the threads.
// Lanes are kept in a ring: a lane that has left the band does not come back, and the ring is longer
// than an antidiagonal. v, x and x2, which the next lane reads, are kept twice, so that threads wait
// for each other once per antidiagonal. All other numbers of a lane are read by its thread only; they
// stay in registers if each thread has few lanes of the ring (slots).

struct BestCells {
    int max_score, max_target, max_query, query_end_score, query_end_target;
};

struct Filled {
    BestCells best;
    int score;
    bool is_dropped, has_room;
};

__device__ inline Filled no_cells() {
    return {{0, -1, -1, kNoScore, -1}, kNoScore, false, true};
}

// Rank of a lane among lanes of the same score: the lowest is the best. minimap2 compares four lanes
// at a time.
constexpr int kRankShift = 28, kRestClass = 5, kNoRank = 0x7fffffff;

__device__ inline int rank_of(int t, const Lanes& lanes) {
    if (t == lanes.end) return 0;
    const int offset = t - lanes.start, by_fours = (lanes.end - lanes.start) & -4;
    if (offset >= by_fours) return kRestClass << kRankShift | (offset - by_fours);
    return (1 + (offset & 3)) << kRankShift | offset >> 2;
}

__device__ inline int lane_of(int rank, const Lanes& lanes) {
    const int kind = rank >> kRankShift, k = rank & (1 << kRankShift) - 1;
    if (kind == 0) return lanes.end;
    if (kind == kRestClass) return lanes.start + ((lanes.end - lanes.start) & -4) + k;
    return lanes.start + 4 * k + kind - 1;
}

// Whether a highest score changes the best cell or may be too low.
__device__ inline bool matters(int score, const BestCells& best, int drop) {
    return score > best.max_score || (drop >= 0 && best.max_score - score > drop);
}

// Updates the best cell; returns whether the score of a cell is too far below it.
__device__ inline bool drops(
    BestCells& best, int score, int t, int r, int drop, const Scoring& scoring
) {
    if (score > best.max_score) {
        best.max_score = score;
        best.max_target = t;
        best.max_query = r - t;
        return false;
    }
    const int steps = t - best.max_target, query_steps = r - t - best.max_query;
    if (drop < 0 || steps < 0 || query_steps < 0) return false;
    const long long limit = drop + (long long)scoring.gap_extend2 * abs(steps - query_steps);
    return best.max_score - score > limit;
}

// Scores of pairs of codes.
struct PairScores {
    int match, mismatch, transition, ambiguous;
};

// The shuffles keep the scores in registers. Otherwise the compiler loads constants again, for each
// lane, and only when its codes are known.
__device__ inline PairScores pair_scores_of(const Scoring& scoring) {
    return {
        __shfl_sync(kAllLanes, scoring.match, 0), __shfl_sync(kAllLanes, -scoring.mismatch, 0),
        __shfl_sync(kAllLanes, -scoring.transition, 0),
        __shfl_sync(kAllLanes, -scoring.dp_ambiguous, 0)
    };
}

// Fills a matrix. With `kGeneral`, the band may leak, there may be one affine gap cost, and numbers may
// wrap around. With `kSlots`, threads have so many lanes of the ring each, in registers.
template <int kWarps, bool kGeneral, int kSlots>
struct MatrixFiller {
    using Threads = Team<kWarps>;
    static constexpr int kArraySlots = kSlots > 0 ? kSlots : 1;

    const Band& band;
    const PairJob& job;
    const PairOptions& options;
    const Codes &query, &target;
    const Scoring& scoring;
    const Ring& ring;
    const Pool& pool;
    Exchange<kWarps>& exchange;
    long long* chunks;
    Borders borders;
    PairScores pair_scores;

    // What the lanes of an antidiagonal have in common. `set_before` and `set_end` are the ends of the
    // lanes whose scores of pairs minimap2 has set before, and sets.
    struct Row {
        int r;
        Lanes lanes;
        int last_before, set_before, set_end;
        Edge left, top;
        unsigned *vx, *vx_before;
        int corner, next_on_path;
        unsigned char* directions;
    };

    // Numbers of the lanes of a thread, by slot, and the codes of the next antidiagonal.
    struct Slots {
        unsigned uy[kArraySlots];
        int scores[kArraySlots];
        int targets[kArraySlots], queries[kArraySlots];
    };

    // The first lane of a thread from some lane on.
    __device__ static int own_lane(int first) {
        return first + (Threads::rank() - first & Threads::kThreads - 1);
    }

    __device__ int pair_score(int one, int other) const {
        // As `pair_score`, without branches.
        int score = (one ^ other) == 2 ? pair_scores.transition : pair_scores.mismatch;
        score = one == other ? pair_scores.match : score;
        score = max(one, other) >= kAmbiguous ? pair_scores.ambiguous : score;
        return wrapped_if<kGeneral>(score);
    }

    // The first lane of a slot of a thread from some lane on.
    __device__ static int slot_lane(int first, int slot) {
        constexpr int kLanes = kArraySlots * Threads::kThreads;
        return first + (slot * Threads::kThreads + Threads::rank() - first & kLanes - 1);
    }

    // The cell of lane t before an antidiagonal. Lanes after `last_before` were never computed.
    __device__ Cell cell_before(const Row& row, int t, unsigned before, unsigned own) const {
        const Edge &left = row.left, &top = row.top;
        if (kGeneral) {
            const unsigned unused = packed(borders.opened, borders.opened, borders.opened2, 0);
            if (t - 1 > row.last_before) before = unused;
            if (t > row.last_before) own = unused;
        }
        Cell cell = {
            byte_at(own, 0), byte_at(before, 0), byte_at(before, 1),
            byte_at(own, 1), byte_at(before, 2), byte_at(own, 2)
        };
        if (t == left.lane) {
            cell.v = wrapped_if<kGeneral>(left.difference);
            cell.x = wrapped_if<kGeneral>(left.gap);
            cell.x2 = wrapped_if<kGeneral>(left.gap2);
        }
        if (t == top.lane) {
            cell.u = wrapped_if<kGeneral>(top.difference);
            cell.y = wrapped_if<kGeneral>(top.gap);
            cell.y2 = wrapped_if<kGeneral>(top.gap2);
        }
        return cell;
    }

    // The end of the lanes whose scores of pairs minimap2 sets, in blocks from the first one on.
    __device__ int set_end_of(const Lanes& lanes) const {
        const int stop = lanes.end + 1;
        if (!kGeneral || !band.leaks || scoring.transition != scoring.mismatch) return stop;
        const int blocks = (stop - lanes.start + kBlockLanes - 1) & -kBlockLanes;
        const int array_end = (band.target_length + kBlockLanes - 1) & -kBlockLanes;
        return min(lanes.start + blocks, array_end);
    }

    __device__ int step(int pair, Cell& cell) const {
        if (kGeneral && is_single_affine(scoring)) {
            return single_step(pair, cell, scoring, options.is_left);
        }
        return dual_step<kGeneral>(pair, cell, scoring, options.is_left);
    }

    // The score of a pair of codes at lane t, or what minimap2 has there instead.
    __device__ int pair_of(const Row& row, int t, int one, int other, unsigned own) const {
        const int score = pair_score(one, other);
        if (!kGeneral || (t >= row.lanes.start && t < row.set_end)) return score;
        return t < row.set_before ? byte_at(own, 3) : 0;
    }

    // Loads the codes of the lanes of an antidiagonal.
    __device__ void load_codes(int r, int first, Slots& slots) const {
#pragma unroll
        for (int k = 0; k < kSlots; ++k) {
            const int t = slot_lane(first, k);
            slots.targets[k] = target.near(t);
            slots.queries[k] = query.near(r - t);
        }
    }

    // Computes lane t, given v, x and x2 of the lane before; returns its score if it is in the band.
    __device__ int fill_lane(
        const Row& row, int t, int pair, unsigned before, unsigned& own, int& score
    ) const {
        const int parity = row.r & 1;
        if (kGeneral && t > row.lanes.last) {  // only the score of the pair is set
            own = packed(0, 0, 0, pair);
            return kNoScore;
        }
        Cell cell = cell_before(row, t, before, own);
        row.directions[t] = step(pair, cell);
        row.vx[ring.at(t)] = packed(cell.v, cell.x, cell.x2, 0);
        own = packed(cell.u, cell.y, cell.y2, kGeneral ? pair : 0);
        if (!options.is_exact) {
            if (t == row.next_on_path) exchange.steps[parity][0] = cell.v;
            if (t == row.next_on_path + 1) exchange.steps[parity][1] = cell.u;
            return kNoScore;
        }
        if (kGeneral && (t < row.lanes.start || t > row.lanes.end)) return kNoScore;
        const bool is_last = t == row.lanes.end && t > 0;
        score = (is_last ? row.corner + cell.u : score + cell.v) - borders.bias;
        ring.score(t) = score;
        return score;
    }

    __device__ Row row_of(
        int r, const Lanes& lanes, const Lanes& before, int set_before, int next_on_path,
        unsigned char* directions
    ) const {
        const int difference = gap_cost(scoring, r) - gap_cost(scoring, r + 1) + borders.bias;
        const Edge left = left_edge(band, borders, r, lanes, before.first, difference);
        const Edge top = top_edge(band, borders, r, lanes, difference);
        const int corner = options.is_exact ? exchange.corners[r & 1] : 0;
        return {
            r, lanes, before.last, set_before, set_end_of(lanes), left, top, ring.vx(r & 1),
            ring.vx(~r & 1), corner, next_on_path, directions
        };
    }

    // Computes the lanes of a thread on an antidiagonal; returns the highest score.
    __device__ int fill_lanes(const Row& row, Slots& slots) const {
        const int last = max(row.lanes.last, row.set_end - 1);
        if constexpr (kSlots > 0) return fill_slots(row, last, slots);
        int highest = kNoScore;
        for (int t = own_lane(row.lanes.first); t <= last; t += Threads::kThreads) {
            unsigned own = ring.uy(t);
            int score = ring.score(t);
            const int pair = pair_of(row, t, target.at(t), query.at(row.r - t), own);
            const unsigned before = row.vx_before[ring.at(t - 1)];
            highest = max(highest, fill_lane(row, t, pair, before, own, score));
            ring.uy(t) = own;
        }
        return highest;
    }

    // The same with slots. The loads of all lanes come first, and those of codes an antidiagonal
    // before, so that their times overlap.
    __device__ int fill_slots(const Row& row, int last, Slots& slots) const {
        int pairs[kArraySlots], highest = kNoScore;
        unsigned before[kArraySlots];
#pragma unroll
        for (int k = 0; k < kArraySlots; ++k) {
            const int t = slot_lane(row.lanes.first, k);
            const int one = target.is_inside(t) ? slots.targets[k] : 0;
            const int other = query.is_inside(row.r - t) ? slots.queries[k] : 0;
            pairs[k] = pair_of(row, t, one, other, slots.uy[k]);
            before[k] = row.vx_before[ring.at(t - 1)];
        }
#pragma unroll
        for (int k = 0; k < kArraySlots; ++k) {
            const int t = slot_lane(row.lanes.first, k);
            if (t > last) continue;
            const int score = fill_lane(row, t, pairs[k], before[k], slots.uy[k], slots.scores[k]);
            highest = max(highest, score);
        }
        return highest;
    }

    // Tells the other threads, for the antidiagonal after r, the score before its last lane and
    // where its directions go.
    __device__ void prepare_next(int r, const Lanes& next, int antidiagonals) const {
        const int corner = next.end - 1;
        const bool is_own = (corner & Threads::kThreads - 1) == Threads::rank();
        if (options.is_exact && corner >= 0 && is_own) {
            exchange.corners[~r & 1] = ring.score(corner);
        }
        if (Threads::rank() == 0 && r + 1 < antidiagonals) take_chunk(r + 1, antidiagonals);
    }

    // Takes memory if a chunk starts at antidiagonal r.
    __device__ void take_chunk(int r, int antidiagonals) const {
        if (r & (1 << job.shift) - 1) return;
        const long long chunk = pool.taken(chunk_bytes(job, antidiagonals));
        chunks[r >> job.shift] = chunk;
        exchange.chunks[r & 1] = chunk;
    }

    // The lowest rank among the lanes of a warp with a score.
    __device__ int rank_in_warp(int score, const Lanes& lanes, const Slots& slots) const {
        int rank = kNoRank;
        if constexpr (kSlots > 0) {
#pragma unroll
            for (int k = 0; k < kSlots; ++k) {
                const int t = slot_lane(lanes.start, k);
                const bool has_score = t <= lanes.end && slots.scores[k] == score;
                if (has_score) rank = min(rank, rank_of(t, lanes));
            }
            return warp_min(rank);
        }
        for (int t = own_lane(lanes.start); t <= lanes.end; t += Threads::kThreads) {
            if (ring.score(t) == score) rank = min(rank, rank_of(t, lanes));
        }
        return warp_min(rank);
    }

    // Before the threads wait: the highest score of a warp, and its rank if it may be the best. Warps
    // far from the best cell have low scores on each antidiagonal, which seldom matter.
    __device__ void tell_highest(
        int r, const Lanes& lanes, const Slots& slots, int& highest, int& rank,
        const BestCells& best
    ) const {
        highest = warp_max(highest);
        const bool is_told = kWarps > 1 ? highest > best.max_score
                                        : matters(highest, best, options.drop);
        if (is_told) rank = rank_in_warp(highest, lanes, slots);
        if (kWarps > 1 && lane_id() == 0) {
            exchange.best[r & 1][threadIdx.x / kWarpLanes] = highest;
            exchange.ranks[r & 1][threadIdx.x / kWarpLanes] = rank;
        }
    }

    // The lowest rank among the warps with the highest score of all, which matters.
    __device__ int rank_in_team(
        int r, const Lanes& lanes, const Slots& slots, int highest, const BestCells& best
    ) const {
        const int k = lane_id() % kWarps;
        if (highest <= best.max_score) {  // the same in all threads: all wait
            const int own = threadIdx.x / kWarpLanes;
            const bool has_highest = exchange.best[r & 1][own] == highest;
            const int rank = has_highest ? rank_in_warp(highest, lanes, slots) : kNoRank;
            if (lane_id() == 0) exchange.ranks[r & 1][own] = rank;
            Threads::wait();
        }
        const bool is_highest = exchange.best[r & 1][k] == highest;
        return warp_min(is_highest ? exchange.ranks[r & 1][k] : kNoRank);
    }

    // After the threads waited: the best cells with those of an antidiagonal, and whether its
    // highest score is too low.
    __device__ bool is_dropped_at(
        int r, const Lanes& lanes, const Slots& slots, int highest, int rank, BestCells& best
    ) const {
        if (r - lanes.start == band.query_length - 1) {
            const int score = ring.score(lanes.start);  // no longer changed: the lane is left
            if (score > best.query_end_score) {
                best.query_end_score = score;
                best.query_end_target = lanes.start;
            }
        }
        if (kWarps > 1) highest = warp_max(exchange.best[r & 1][lane_id() % kWarps]);
        if (!matters(highest, best, options.drop)) return false;
        if (kWarps > 1) rank = rank_in_team(r, lanes, slots, highest, best);
        return drops(best, highest, lane_of(rank, lanes), r, options.drop, scoring);
    }

    // Follows a path to the next antidiagonal; returns the difference of its score.
    __device__ int follow(int r, const Lanes& lanes, int& lane) const {
        const int v = exchange.steps[r & 1][0], u = exchange.steps[r & 1][1];
        const bool stays = r == 0 || (lane >= lanes.start && (lane == lanes.end || v > u));
        if (stays) return v;
        ++lane;
        return u;
    }

    // Fills the matrix until its end or a drop of the score; the same result in all threads.
    __device__ Filled fill() const {
        const int antidiagonals = band.query_length + band.target_length - 1;
        Filled filled = no_cells();
        int score = -scoring.gap_open - scoring.gap_extend, lane = 0, set_end = 0;
        Slots slots;
#pragma unroll
        for (int k = 0; k < kArraySlots; ++k) {
            slots.uy[k] = 0;
            slots.scores[k] = score;
        }
        if (Threads::rank() == 0) {
            ring.score(0) = score;
            take_chunk(0, antidiagonals);
        }
        Threads::wait();
        long long chunk = 0;
        Lanes before = {0, 0, 0, -1}, lanes = lanes_of(band, 0);
        if constexpr (kSlots > 0) load_codes(0, lanes.first, slots);
        for (int r = 0; r < antidiagonals; ++r) {
            filled.is_dropped = lanes.start > lanes.end;
            const int row = r & (1 << job.shift) - 1;
            if (row == 0) chunk = exchange.chunks[r & 1];
            filled.has_room = chunk >= 0;
            if (filled.is_dropped || !filled.has_room) break;
            const long long at = chunk + (long long)row * job.stride - lanes.first;
            unsigned char* directions = pool.bytes + at;
            int highest = fill_lanes(row_of(r, lanes, before, set_end, lane, directions), slots);
            const Lanes next = lanes_of(band, r + 1);
            if constexpr (kSlots > 0) load_codes(r + 1, next.first, slots);
            prepare_next(r, next, antidiagonals);
            int rank = kNoRank;
            if (options.is_exact) tell_highest(r, lanes, slots, highest, rank, filled.best);
            Threads::wait();
            if (options.is_exact) {
                filled.is_dropped = is_dropped_at(r, lanes, slots, highest, rank, filled.best);
            } else {
                score += follow(r, lanes, lane) - borders.bias;
            }
            if (filled.is_dropped) break;
            if (kGeneral) set_end = max(set_end, set_end_of(lanes));
            before = lanes;
            lanes = next;
        }
        if (filled.is_dropped || !filled.has_room) return filled;
        filled.score = options.is_exact ? ring.score(band.target_length - 1) : score;
        return filled;
    }
};
