// Pair-HMM in float32: forward likelihoods of GATK's LoglessPairHMM (read rows i, haplotype
// columns j; reference implementation: tests/pairhmm/forward/reference.py; coefficients:
// hapgpu/pairhmm/forward/coefficients.py). Schmidt et al. 2024, gpuPairHMM, describe the problem
// on GPUs; the layout and the arithmetic here are different.
//
// The recurrence is normalised by row: with g = alpha (1 - Q), M = Mx prod(g_1..g_i), and I and D
// in the same way, a cell costs four FMAs and one multiplication,
//     T(i,j)  = Mx(i-1,j-1) + a Ix(i-1,j-1) + c Dx(i-1,j-1)      Mx(i,j) = T or r T
//     Ix(i,j) = Mx(i-1,j) + b Ix(i-1,j)                         Dx(i,j) = Mx(i,j-1) + eps Dx(i,j-1)
// and a matching base causes no rounding. The CPU (hapgpu/pairhmm/forward/lanes.py) has the same
// operations in the same order, and both treat subnormal numbers as 0: all bits are the same. The
// compiler fuses nothing (hapgpu/runtime/gpu/launch.py). The factor r of a mismatch is applied
// under a predicate; a table by letter of the read has a bit per column.
//
// A group of neighbouring lanes holds the columns of one haplotype in registers, kColumns per
// lane. Each lane is one row after the lane to its left, from which it gets T and D by shuffle.
// D is carried along the columns of the row above, so that it does not wait for M of its own row.
// The coefficients of rows reach all lanes through a ring in shared memory, filled ahead.

#include "common/arithmetic.cuh"
#include "common/warp.cuh"
#include "pairhmm/masks.cuh"
#include "pairhmm/piece.cuh"
#include "pairhmm/ring.cuh"

namespace {

constexpr int kWordStride = kLetters * kMaskStride;  // bytes from word to word

// Values of a pair that are needed rarely: in shared memory they take no registers.
struct PairValues {
    int2 rows;  // the first and the last of the read
    double matching, threshold;
    float last_insertion;
    int place, columns;  // in the list of all pairs; of the haplotype
    int result;          // offset of the likelihood; negative for no output
};

// Returns a mask of all bits, or none in the first lane of a group. The compiler must not know how
// it comes about: a predicate costs more, because the columns need all predicates.
__device__ inline int kept_bits(bool is_first) {
    int kept = is_first ? 0 : -1;
    asm volatile("" : "+r"(kept));
    return kept;
}

// The columns of a lane, and the values that it passes to the next lane.
template <int kColumns>
struct Columns {
    float match[kColumns], insertion[kColumns];
    float incoming;  // T of the first column before a row; of the next lane's column after it
    float deletion;  // D of the row above at the same column

    __device__ void advance(const Row& row, float extend, const char* masks) {
        constexpr int kPerWord = columns_per_word(kColumns);
        unsigned differs[words_for(kColumns)];
#pragma unroll
        for (int word = 0; word < words_for(kColumns); ++word) {
            differs[word] = *(const unsigned*)(masks + row.letter + word * kWordStride);
        }
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            float outgoing = fmaf(row.a, insertion[k], fmaf(row.c, deletion, match[k]));
            insertion[k] = fmaf(row.b, insertion[k], match[k]);
            deletion = fmaf(extend, deletion, match[k]);
            match[k] = incoming;
            if (differs[k / kPerWord] >> bit_of(k, kColumns) & 1) match[k] *= row.mismatch;
            incoming = outgoing;
        }
    }

    // Adds neighbouring rows of a ring.
    template <int kRows, bool kIsUniform>
    __device__ void add_rows(const RingMemory& memory, int slot, float uniform_extend,
                             const char* masks, int kept) {
#pragma unroll
        for (int k = 0; k < kRows; ++k) {
            const Row row(memory, slot + k);
            advance(row, kIsUniform ? uniform_extend : row.extend, masks);
            pass_on(kept);
        }
    }

    __device__ void pass_on(int kept) {
        incoming = masked(__shfl_up_sync(kAllLanes, incoming, 1), kept);
        deletion = masked(__shfl_up_sync(kAllLanes, deletion, 1), kept);
    }

  private:
    __device__ static float masked(float value, int kept) {
        return __int_as_float(__float_as_int(value) & kept);
    }
};

}  // namespace

// Computes the likelihoods of the pairs of one layout. Pairs whose sum is not finite, or below the
// threshold of the read, are added to `exact_pairs` instead. One warp per block, with one pair per
// group of `lanes` lanes. If kIsUniform, all gap continuations are `uniform_extend`: the loop is
// limited by reads of registers, and then reads one operand less.
template <int kColumns, bool kIsUniform>
__global__ void __launch_bounds__(kWarpLanes, kColumns <= 24 ? 16 : kColumns <= 36 ? 12 : 8)
    forward(Coefficients coefficients, const unsigned* masks, const int4* pairs, Layouts layouts,
            double* likelihoods, ExactPairs exact_pairs, int layout, int lanes,
            float uniform_extend, float start, int start_exponent) {
    constexpr int kWords = words_for(kColumns);
    // Rows of a turn. 8 take fewer instructions than 4, and with many columns fewer registers. In
    // between, their code exceeds the instruction cache, and they leave more rows for the end.
    constexpr int kRows = kColumns > 32 && kColumns < 60 ? 4 : kMostRows;
    __shared__ RingMemory ring_memory;
    __shared__ PairValues values[kWarpLanes / 2];
    __shared__ unsigned mask_table[kWords * kLetters][kWarpLanes];

    const int lane = lane_id() & (lanes - 1), group = lane_id() / lanes;
    // Groups without a pair repeat the last pair, without output.
    const int count = layouts.pairs[layout], number = blockIdx.x * (kWarpLanes / lanes) + group;
    if (number - group >= count) return;
    const int place = layouts.starts[layout] + min(number, count - 1);
    const int4 sizes = pairs[2 * place], rows_of_pair = pairs[2 * place + 1];
    const int start_row = sizes.x, length = sizes.y, width = sizes.w;
    const int shortest = warp_min(length);
    const bool is_one_read =
        shortest == warp_max(length) && warp_min(start_row) == warp_max(start_row);
    const int2 own_rows = {start_row, start_row + length - 1};

    Ring ring(ring_memory, lanes, is_one_read);
    ring.fetch(coefficients, own_rows, 0, 0);
    PairValues& own = values[(lane_id() - lane) / 2];
    if (lane == 0) {
        const int read = rows_of_pair.x;
        copy_ahead<8>(&own.matching, &coefficients.products[read]);
        copy_ahead<8>(&own.threshold, &coefficients.thresholds[read]);
        copy_ahead<4>(&own.last_insertion, &coefficients.last_insertions[read]);
        own.rows = own_rows;
        own.place = place;
        own.columns = width;
        own.result = number < count ? rows_of_pair.z : -1;
    }
    const unsigned* own_masks = masks + sizes.z + lane;
#pragma unroll
    for (int k = 0; k < kWords * kLetters; ++k) mask_table[k][lane_id()] = own_masks[k * lanes];
    const char* lane_masks = (const char*)&mask_table[0][lane_id()];

    // D of row 0 is stored in I; the first row uses and clears it. So D has the same recurrence in
    // all rows.
    Columns<kColumns> columns;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
        columns.match[k] = 0.0f;
        columns.insertion[k] = start / width;
    }
    columns.deletion = 0.0f;
    columns.incoming = lane == 0 ? start / width * coefficients.rows[start_row].x : 0.0f;

    const int kept = kept_bits(lane == 0);
    int step = 0;
#pragma unroll 1
    for (; step + kRows <= shortest; step += kRows) {
        ring.refill(coefficients, own.rows, step);
        columns.template add_rows<kRows, kIsUniform>(ring_memory, ring.slot_of(lane),
                                                     uniform_extend, lane_masks, kept);
        ring.advance(kRows);
    }
    // The last rows: a lane stops after its last row. The rows are loaded again, so that they take
    // no registers in the loop before; without any turn, nothing else waits for them.
    __syncwarp();
    const int end = lane + own.rows.y - own.rows.x + 1, last_end = warp_max(end);
#pragma unroll 1
    for (; step < last_end; ++step) {
        ring.refill(coefficients, own.rows, step);
        const Row row(ring_memory, ring.slot_of(lane));
        if (step < end) {
            columns.advance(row, kIsUniform ? uniform_extend : row.extend, lane_masks);
        }
        columns.pass_on(kept);
        ring.advance(1);
    }

    // From the first column to the last, so that the sum does not depend on the layout.
    const float last_insertion = own.last_insertion;
    const int columns_in_use = own.columns;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
        float term = fmaf(last_insertion, columns.insertion[k], columns.match[k]);
        columns.match[k] = lane * kColumns + k < columns_in_use ? term : 0.0f;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int owner = lane_id() - lane; owner < lane_id() - lane + lanes; ++owner) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) sum += columns.match[k];
        sum = __shfl_sync(kAllLanes, sum, owner);
    }
    if (lane != 0 || own.result < 0) return;
    if (sum >= own.threshold && sum < __int_as_float(0x7f800000)) {
        const double product = sum * own.matching;
        likelihoods[own.result] = fmin(0.0, log10_scaled(product, -start_exponent));
    } else {
        exact_pairs.pairs[atomicAdd(exact_pairs.count, 1)] = own.place;
    }
}
