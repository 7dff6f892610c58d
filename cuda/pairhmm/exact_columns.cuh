// Columns of a haplotype in `exact`, with their recurrence, their exponent and their sum.

#include "pairhmm/exact_rows.cuh"

constexpr int kNoExponent = -(1 << 20);  // of a lane whose probabilities are all 0
constexpr int kStartExponent = -1;       // high, because most of these pairs are very unlikely
constexpr int kStep = 600, kHighWordStep = kStep << 20;
constexpr double kUp = 0x1p600, kDown = 0x1p-600;
constexpr double kSmall = 0x1p100, kMiddle = 0x1p200, kLarge = 0x1p800;

// A row multiplies by at least 2^-174, so a number above this neither vanishes in the next row nor
// gets a high word of 0, as numbers below 2^-1042 have.
constexpr double kVanishing = 0x1p-840;

// Rows between tests of the range, if all are tame (`Row`) and else. All numbers but 0 above kSafe
// stay above kVanishing in the next kTameRows tame rows: each M is at least the M to its upper left
// times kTame, each I at least its upper one times kTame, each D at least an M. Only in the first
// column may M be 0; the next M comes from I alone, and is at least that I times kTame^2, once.
constexpr int kTameRows = 16, kRows = 8;
constexpr double kSafe = 0x1p-440;

// Sign, exponent and 20 bits: ordered as the numbers themselves, if none is negative.
__device__ inline unsigned high_word(double value) {
    return (unsigned)(__double_as_longlong(value) >> 32);
}

// What a row passes to the next lane, and to the next strip.
struct Edge {
    double incoming, deletion;
    long long exponent;
};

// Factor from one exponent to another: `steps` is by how much it is raised.
struct Factor {
    double value;
    unsigned kept;  // smaller high words, minus 1, lose something

    __device__ explicit Factor(int steps)
        : value(steps < 0 ? kUp : steps == 0 ? 1.0 : steps == 1 ? kDown : 0.0),
          kept(steps <= 0 ? 0 : steps == 1 ? high_word(kVanishing * kUp) - 1 : ~0u) {}
};

// Columns of a lane in registers (as `Columns` in pairhmm/forward.cu, but not normalised). Their
// values are multiples of 2^(kStep exponent), with an exponent per lane: a path that is far less
// likely than others may still be the likeliest at the end.
template <int kColumns>
struct Columns {
    double match[kColumns], insertion[kColumns];
    double incoming = 0.0, deletion = 0.0;
    int exponent = kStartExponent;
    unsigned smallest = ~0u;  // high word of the smallest number but 0, minus 1
    int below_left = 0;  // by how much the exponent is below that of the lane to the left

    __device__ explicit Columns(double start) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            match[k] = 0.0;
            insertion[k] = start;
        }
    }

    // Fills in a row; `differs` has a bit per column. Numbers are tested unless none gets lost.
    template <bool kIsTested>
    __device__ void advance(const Row& row, unsigned differs) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            double outgoing = fma(row.alpha, match[k], fma(row.a, insertion[k], row.c * deletion));
            insertion[k] = fma(row.b, insertion[k], match[k]);
            deletion = fma(row.extend_above, deletion, match[k]);
            match[k] = incoming * (differs >> bit_of(k, kColumns) & 1 ? row.differing : row.matching);
            incoming = outgoing;
            if (kIsTested) {
                note(match[k]);
                note(insertion[k]);
                note(deletion);
            }
        }
    }

    // Whether a number may have been lost.
    __device__ bool is_lossy() const { return smallest < high_word(kVanishing) - 1; }

    // Receives `incoming` and `deletion` of the lane to the left, 0 in the first lane of a group.
    // Without tests, the exponent of the lane to the left is not lower.
    template <bool kIsTested>
    __device__ void pass_on(bool is_first, bool is_needed) {
        incoming = __shfl_up_sync(kAllLanes, incoming, 1);
        deletion = __shfl_up_sync(kAllLanes, deletion, 1);
        if (is_first) incoming = deletion = 0.0;
        if (is_needed) convert<kIsTested>(Factor(-below_left));
    }

    // Receives the edge of another strip, of an exponent that is not higher.
    __device__ void receive(const Edge& edge) {
        incoming = edge.incoming;
        deletion = edge.deletion;
        convert<true>(Factor(exponent - (int)edge.exponent));
    }

    // Rescales the columns before they become too small or too large, and so that the columns to
    // the left, for the first lane those with the exponent `edge`, pass on nothing too large.
    // `is_active` lanes rescale what they have received, too. Returns whether all numbers of lanes
    // that are not over are so large that the next kTameRows tame rows lose none. All lanes.
    __device__ bool rescale(bool is_first, bool is_active, bool is_over, int edge) {
        unsigned largest = 0, least = ~0u;
        if (is_active) {
            largest = max(high_word(incoming), high_word(deletion));
            least = min(high_word(incoming) - 1, high_word(deletion) - 1);
        }
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            largest = max(largest, max(high_word(match[k]), high_word(insertion[k])));
            least = min(least, min(high_word(match[k]) - 1, high_word(insertion[k]) - 1));
        }
        // If possible at the same time, because lanes of one exponent need fewer tests.
        const bool is_small = __any_sync(kAllLanes, largest != 0 && largest < high_word(kSmall));
        const double small = is_small ? kMiddle : kSmall;
        int target = kNoExponent;
        if (largest != 0) {
            target = exponent + (largest >= high_word(kLarge)) - (largest < high_word(small));
            largest -= (target - exponent) * kHighWordStep;
        }
        int left;
#pragma unroll 1
        for (bool is_low = true; __any_sync(kAllLanes, is_low);) {
            left = __shfl_up_sync(kAllLanes, target, 1);
            const unsigned left_largest = __shfl_up_sync(kAllLanes, largest, 1);
            if (is_first) left = edge;
            is_low = left > target && (is_first || left > target + 1
                                       || left_largest >= high_word(kMiddle));
            if (is_low) {
                largest = largest && left == target + 1 && largest > kHighWordStep
                              ? largest - kHighWordStep : 0;
                target = left;
            }
        }
        below_left = left - target;
        if (target < exponent && least != ~0u) least += kHighWordStep;
        const bool is_safe = target <= exponent && (is_first || left >= target)
                             && least >= high_word(kSafe) - 1;
        if (target != exponent) raise_exponent(target - exponent, is_active);
        return __all_sync(kAllLanes, is_safe || is_over);
    }

    // Adds the last row of all columns of a group to a sum, from the first of `count` columns to
    // the last; `weight` is the factor of I.
    __device__ void add_to(Scaled& sum, const Group& group, int count, double weight) {
        bool is_any = false;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            double term = fma(weight, insertion[k], match[k]);
            match[k] = group.lane * kColumns + k < count ? term : 0.0;
            is_any |= match[k] > 0.0;
        }
        const int own = is_any ? exponent : kNoExponent;
        const int most_lanes = warp_max(group.lanes);
        int largest = sum.exponent;
        for (int lane = 0; lane < most_lanes; ++lane) {
            const int other = __shfl_sync(kAllLanes, own, group.first() + lane);
            if (lane < group.lanes) largest = max(largest, other);
        }
        for (; sum.exponent < largest && sum.value > 0.0; ++sum.exponent) sum.value *= kDown;
#pragma unroll 1
        for (int each = own; each < largest && is_any; ++each) {
            is_any = false;
#pragma unroll
            for (int k = 0; k < kColumns; ++k) is_any |= (match[k] *= kDown) > 0.0;
        }
#pragma unroll 1
        for (int lane = 0; lane < most_lanes; ++lane) {
            double value = sum.value;
#pragma unroll
            for (int k = 0; k < kColumns; ++k) value += match[k];
            value = __shfl_sync(kAllLanes, value, group.first() + lane);
            if (lane < group.lanes) sum.value = value;
        }
        sum.exponent = largest;
    }

  private:
    __device__ void note(double value) { smallest = min(smallest, high_word(value) - 1); }

    template <bool kIsTested>
    __device__ void convert(const Factor& factor) {
        const unsigned least = min(high_word(incoming) - 1, high_word(deletion) - 1);
        if (kIsTested && least < factor.kept) smallest = 0;
        incoming *= factor.value;
        deletion *= factor.value;
    }

    __device__ void raise_exponent(int steps, bool is_active) {
        const Factor factor(steps);
        unsigned least = ~0u;
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            least = min(least, min(high_word(match[k]) - 1, high_word(insertion[k]) - 1));
            match[k] *= factor.value;
            insertion[k] *= factor.value;
        }
        if (least < factor.kept) smallest = 0;
        if (is_active) convert<true>(factor);
        exponent += steps;
    }
};
