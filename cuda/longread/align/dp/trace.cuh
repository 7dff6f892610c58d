// Traceback of one pair by a warp; same as `trace` of hapgpu/longread/align/dp/pairs.py.

// Operations in memory for `room` of them: from the start in the order of the traceback, or from the
// end, so that they come in the order of the bases. All lanes hold the same values.
struct OperationWriter {
    unsigned* operations;
    int room;
    bool is_reversed;
    int count, length;
    unsigned operation;

    __device__ OperationWriter(unsigned* operations, int room, bool is_reversed)
        : operations(operations), room(room), is_reversed(is_reversed), count(0), length(0),
          operation(kM) {}

    __device__ void add(unsigned added, int bases) {
        if (added != operation) {
            flush();
            operation = added;
        }
        length += bases;
    }

    __device__ void flush() {
        if (length == 0) return;
        const int at = is_reversed ? count : room - 1 - count;
        if (lane_id() == 0) operations[at] = cigar_run(length, operation);
        ++count;
        length = 0;
    }
};

constexpr int kForced = 128;  // bit of a direction byte: the cell was not computed

struct PathReader {
    const Band& band;
    const PairJob& job;
    const unsigned char* bytes;
    const long long* chunks;

    // The direction of a cell; `kForced` with a state if minimap2 computed no such lane.
    __device__ int direction(int i, int j) const {
        const int r = i + j;
        const Lanes lanes = lanes_of(band, r);
        if (i < lanes.first) return kForced | kInsertionState;
        if (i > lanes.last) return kForced | kDeletionState;
        const long long row = r & (1 << job.shift) - 1;
        return bytes[chunks[r >> job.shift] + row * job.stride + (i - lanes.first)];
    }
};

// Whether a path in a state goes on in this state at a cell with this direction.
__device__ inline bool goes_on(int state, int direction) {
    if (direction & kForced) return false;
    if (state == 0) return (direction & kStateMask) == 0;
    return direction >> (state + 2) & 1;
}

// Writes the operations of the path that ends at target offset i and query offset j. The lanes look
// at the next cells in the direction of the path.
__device__ inline void trace(const PathReader& path, int i, int j, OperationWriter& writer) {
    int state = 0;
    while (i >= 0 && j >= 0) {
        const bool is_deletion = state & 1, is_diagonal = state == 0;
        const int row = i - (is_diagonal || is_deletion ? lane_id() : 0);
        const int column = j - (is_deletion ? 0 : lane_id());
        const bool is_inside = row >= 0 && column >= 0;
        const int direction = is_inside ? path.direction(row, column) : 0;
        const bool continues = is_inside && goes_on(state, direction);
        const unsigned others = ~__ballot_sync(kAllLanes, continues);
        int steps = others ? __ffs(others) - 1 : kWarpLanes;
        if (steps == 0) {
            state = __shfl_sync(kAllLanes, direction, 0) & kStateMask;
            steps = 1;
        }
        if (state == 0) {
            writer.add(kM, steps);
            i -= steps;
            j -= steps;
        } else if (state & 1) {
            writer.add(kD, steps);
            i -= steps;
        } else {
            writer.add(kI, steps);
            j -= steps;
        }
    }
    if (i >= 0) writer.add(kD, i + 1);
    if (j >= 0) writer.add(kI, j + 1);
    writer.flush();
}
