// One step of the recurrence for a cell; same as hapgpu/longread/align/dp/lane_steps.py.

// Differences of scores, 8 bits each, in integers.
struct Cell {
    int u, v, x, y, x2, y2;
};

// States of a cell, in the low three bits of its direction byte; 0 is the diagonal. Bit 2 + state
// is set if the gap of that state goes on.
constexpr int kDeletionState = 1, kInsertionState = 2, kLongDeletionState = 3;
constexpr int kLongInsertionState = 4, kStateMask = 7;

// Results wrap around at 8 bits, as in minimap2.
__device__ inline int wrapped(int value) { return (signed char)value; }

template <bool kWraps>
__device__ inline int wrapped_if(int value) {
    return kWraps ? wrapped(value) : value;
}
__device__ inline int byte_at(unsigned word, int k) { return (signed char)(word >> 8 * k); }

__device__ inline unsigned packed(int one, int two, int three, int four) {
    return (one & 255u) | (two & 255u) << 8 | (three & 255u) << 16 | (unsigned)four << 24;
}

// Takes a gap if it is better than the best; to the right also if it is as good.
__device__ inline void take(int gap, int state, bool is_right, int& best, int& direction) {
    if (gap > best || (is_right && gap == best)) direction = state;
    best = max(best, gap);
}

// Sets the bit of a gap that goes on; to the right also if a new one is as good.
__device__ inline int going_on(int gap, int state, bool is_right) {
    return gap > (is_right ? -1 : 0) ? 4 << state : 0;
}

// Updates a cell, given v, x and x2 of the lane before and u, y and y2 of the same lane; returns
// its direction byte. Without `kWraps` no number wraps around.
template <bool kWraps>
__device__ inline int dual_step(int best, Cell& cell, const Scoring& scoring, bool is_right) {
    int deletion = wrapped_if<kWraps>(cell.x + cell.v);
    int insertion = wrapped_if<kWraps>(cell.y + cell.u);
    int long_deletion = wrapped_if<kWraps>(cell.x2 + cell.v);
    int long_insertion = wrapped_if<kWraps>(cell.y2 + cell.u);
    int direction = 0;
    take(deletion, kDeletionState, is_right, best, direction);
    take(insertion, kInsertionState, is_right, best, direction);
    take(long_deletion, kLongDeletionState, is_right, best, direction);
    take(long_insertion, kLongInsertionState, is_right, best, direction);
    best = min(best, scoring.match);
    const int opened = wrapped_if<kWraps>(best - scoring.gap_open);
    const int opened2 = wrapped_if<kWraps>(best - scoring.gap_open2);
    deletion = wrapped_if<kWraps>(deletion - opened);
    insertion = wrapped_if<kWraps>(insertion - opened);
    long_deletion = wrapped_if<kWraps>(long_deletion - opened2);
    long_insertion = wrapped_if<kWraps>(long_insertion - opened2);
    direction |= going_on(deletion, kDeletionState, is_right);
    direction |= going_on(insertion, kInsertionState, is_right);
    direction |= going_on(long_deletion, kLongDeletionState, is_right);
    direction |= going_on(long_insertion, kLongInsertionState, is_right);
    const int cost = scoring.gap_open + scoring.gap_extend;
    const int cost2 = scoring.gap_open2 + scoring.gap_extend2;
    // The caller stores 8 bits.
    cell = {
        best - cell.v, best - cell.u, max(deletion, 0) - cost, max(insertion, 0) - cost,
        max(long_deletion, 0) - cost2, max(long_insertion, 0) - cost2
    };
    if (kWraps) {
        cell.u = wrapped(cell.u);
        cell.v = wrapped(cell.v);
    }
    return direction;
}

// The same with one affine gap cost: differences are stored plus the cost of a gap's first base.
// Comparisons are signed or unsigned as in minimap2, which matters outside of the band.
__device__ inline int single_step(int score, Cell& cell, const Scoring& scoring, bool is_right) {
    const int cost = 2 * (scoring.gap_open + scoring.gap_extend);
    int best = wrapped(score + cost), direction = 0;
    int deletion = wrapped(cell.x + cell.v), insertion = wrapped(cell.y + cell.u);
    take(deletion, kDeletionState, is_right, best, direction);
    if (insertion > best || (is_right && insertion == best)) direction = kInsertionState;
    best = max(best & 255, insertion & 255);
    best = wrapped(min(best, (scoring.match + cost) & 255));
    const int opened = wrapped(best - scoring.gap_open);
    deletion = wrapped(deletion - opened);
    insertion = wrapped(insertion - opened);
    direction |= going_on(deletion, kDeletionState, is_right);
    direction |= going_on(insertion, kInsertionState, is_right);
    const int u = wrapped(best - cell.v), v = wrapped(best - cell.u);
    cell = {u, v, max(deletion, 0), max(insertion, 0), cell.x2, cell.y2};
    return direction;
}
