// Rows of reads in `exact`: their coefficients, which the lanes of a group compute, each for a row,
// and pass to all lanes through a ring in shared memory.

#include "common/warp.cuh"
#include "pairhmm/masks.cuh"
#include "pairhmm/piece.cuh"

constexpr int kQualities = 256;
constexpr double kTame = 0x1p-22;
constexpr int kRingSlots = 2 * kWarpLanes;

// A pair of a read, so many rows from `start` on, and a haplotype, so many columns.
struct Pair {
    int start, rows, first_column, width, result;
};

// Neighbouring lanes that compute a pair, and the number of the calling lane among them.
struct Group {
    int lanes, lane;

    __device__ int first() const { return lane_id() - lane; }
    __device__ unsigned mask() const {
        return lanes == kWarpLanes ? kAllLanes : ((1u << lanes) - 1) << first();
    }
};

// Numbers that are multiples of 2^(kStep exponent).
struct Scaled {
    double value;
    int exponent;
};

// Coefficients of a row, with the operations of `exact_row` in exact.py. `letter` is the row of a
// base in the table of masks, or kLetters more than any other byte.
struct Row {
    double alpha, a, b, c, extend_above, matching, differing;
    unsigned letter;

    __device__ Row() {}

    // Whether the row lowers no number much.
    __device__ bool is_tame(bool is_first) const {
        const double emission = fmin(matching, differing);
        return emission * alpha >= kTame && emission * a >= kTame * kTame
               && (is_first || b >= kTame);
    }

    __device__ Row(const Reads& reads, const double* probabilities, int row, bool is_first) {
        const ReadColumns& columns = reads.columns;
        const unsigned char base = columns.bases[row];
        const double insertion = probabilities[columns.insertion_qualities[row]];
        const double deletion = probabilities[columns.deletion_qualities[row]];
        const double extend = probabilities[reads.gap_continuation(row)];
        const double error = probabilities[columns.base_qualities[row]], close = 1.0 - extend;
        alpha = fmax(0.0, 1.0 - (insertion + deletion));
        matching = 1.0 - error;
        differing = base == 'N' ? matching : error / 3.0;
        letter = base == 'A' || base == 'N' ? 0 : base == 'C' ? 1 : base == 'G' ? 2
                 : base == 'T' ? 3 : kLetters + base;
        // D of row 0 is stored in I; the first row uses and clears it.
        a = close;
        b = c = extend_above = 0.0;
        if (is_first) return;
        const double insertion_above = probabilities[columns.insertion_qualities[row - 1]];
        a *= insertion_above;
        b = extend;
        if (insertion_above != insertion) b *= insertion_above / insertion;
        c = close * probabilities[columns.deletion_qualities[row - 1]];
        extend_above = probabilities[reads.gap_continuation(row - 1)];
    }
};

// Rows of all groups of a warp, twice as many per group as it has lanes: those that the lanes to
// the right still need, and those computed ahead. Neighbouring rows are in different banks.
struct Ring {
    struct __align__(16) Two {
        double first, second;
    };
    struct __align__(16) Emission {
        double differing;
        unsigned letter;
    };
    Two matches[kRingSlots], gaps[kRingSlots], others[kRingSlots];
    Emission emissions[kRingSlots];

    __device__ void write(int slot, const Row& row) {
        matches[slot] = {row.alpha, row.a};
        gaps[slot] = {row.b, row.c};
        others[slot] = {row.extend_above, row.matching};
        emissions[slot] = {row.differing, row.letter};
    }

    __device__ Row read(int slot) const {
        const Two match = matches[slot], gap = gaps[slot], other = others[slot];
        const Emission emission = emissions[slot];
        Row row;
        row.alpha = match.first;
        row.a = match.second;
        row.b = gap.first;
        row.c = gap.second;
        row.extend_above = other.first;
        row.matching = other.second;
        row.differing = emission.differing;
        row.letter = emission.letter;
        return row;
    }
};

// What the lanes of a warp share.
struct Shared {
    double probabilities[kQualities];
    Ring ring;
    unsigned masks[kLetters][kWarpLanes];  // by letter of the read: a bit per column of a lane
    // Here, because registers are scarce: the next entry of the list; the first column of a strip,
    // its steps, those whose rows are computed, how many at a time, and whether all are tame; the
    // pair of each lane, the sum of its strips, and the slot of the next row that is computed.
    int entry, first, steps, computed, chunk;
    bool are_tame;
    Pair pairs[kWarpLanes];
    Scaled sums[kWarpLanes];
    int written[kWarpLanes];
};

// Rows of a read on their way through the ring.
class RowQueue {
  public:
    __device__ RowQueue(Shared& shared, const Reads& reads, const Group& group)
        : shared_(shared), reads_(reads), group_(group), end_(2 * (group.first() + group.lanes)),
          read_(2 * group.first()) {
        shared_.chunk = warp_min(group_.lanes);
        shared_.computed = 0;
        shared_.are_tame = true;
        shared_.written[lane_id()] = read_;
    }

    // Computes the rows from a step on, one per lane, if they are not computed yet. All lanes.
    __device__ void compute_before(int step) {
        __syncwarp();  // other lanes have read what is overwritten
        if (step < shared_.computed) return;
        const int row = step + group_.lane, rows = shared_.chunk;
        const int written = shared_.written[lane_id()];
        const Pair& pair = shared_.pairs[lane_id()];
        bool is_tame = true;
        if (group_.lane < rows && row < pair.rows) {
            const Row own(reads_, shared_.probabilities, pair.start + row, row == 0);
            shared_.ring.write(within(written + group_.lane), own);
            is_tame = own.is_tame(row == 0);
        }
        shared_.written[lane_id()] = within(written + rows);
        const bool are_tame = __all_sync(kAllLanes, is_tame);
        if (lane_id() == 0) {
            shared_.computed += rows;
            shared_.are_tame &= are_tame;
        }
        __syncwarp();  // other lanes read what is written here
    }

    // Returns the next row of the calling lane.
    __device__ Row next() {
        const Row row = shared_.ring.read(read_);
        read_ = within(read_ + 1);
        return row;
    }

  private:
    __device__ int within(int slot) const {
        return slot >= end_ ? slot - 2 * group_.lanes : slot;
    }

    Shared& shared_;
    const Reads& reads_;
    const Group& group_;
    int end_, read_;
};
