// Matrices in stripes of columns, a slot of them per lane of a group, and their best end cells.

#include "common/warp.cuh"

// The neighbouring lanes of a warp that fill a matrix, or two.
struct Group {
    int lanes, lane, number, count;

    __device__ explicit Group(int group_lanes)
        : lanes(group_lanes),
          lane(lane_id() & (group_lanes - 1)),
          number(lane_id() / group_lanes),
          count(kWarpLanes / group_lanes) {}

    // Returns the bits of this group's lanes in a ballot, lowest lane first.
    __device__ unsigned own_bits(unsigned ballot) const {
        unsigned all = lanes == kWarpLanes ? kAllLanes : (1u << lanes) - 1;
        return ballot >> (number * lanes) & all;
    }
};

// The columns (0-based) of each slot.
template <int kColumns>
struct Slots {
    int short_slots;  // with kColumns - 1 columns

    __device__ Slots(int columns, int slots) : short_slots(slots * kColumns - columns) {}

    __device__ bool is_short(int slot) const { return slot < short_slots; }
    __device__ int first_column(int slot) const {
        return slot * kColumns - min(slot, short_slots);
    }
    __device__ int slot_of(int column) const {
        if constexpr (kColumns == 1) {
            return column;
        } else {
            int in_short = short_slots * (kColumns - 1);
            return column < in_short ? column / (kColumns - 1)
                                     : short_slots + (column - in_short) / kColumns;
        }
    }
};

struct EndCell {
    int score, row, column;  // 1-based
};

// Returns whether cell a of the last row ends a better alignment than cell b: GATK prefers the
// higher score, then the cell nearer to the main diagonal, then the cell further left.
__device__ inline bool ends_better(const EndCell& a, const EndCell& b) {
    if (a.score != b.score) return a.score > b.score;
    const int distance_a = abs(a.row - a.column), distance_b = abs(b.row - b.column);
    return distance_a != distance_b ? distance_a < distance_b : a.column < b.column;
}
