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
// compiler fuses nothing (hapgpu/runtime/gpu/launch.py). The factor r of a mismatch is applied under a predicate;
// a table by letter of the read has a bit per column.
//
// A group of neighbouring lanes holds the columns of one haplotype in registers, kColumns per
// lane. Each lane is one row after the lane to its left, from which it gets T and D by shuffle.
// D is carried along the columns of the row above, so that it does not wait for M of its own row.
// The coefficients of rows reach all lanes through a ring in shared memory, filled ahead.

#include "common/arithmetic.cuh"
#include "common/warp.cuh"
#include "pairhmm/masks.cuh"
#include "pairhmm/piece.cuh"

namespace {

constexpr int kWordStride = kLetters * kMaskStride;  // bytes from word to word
constexpr int kUnrolled = 4;                         // rows; chunks are multiples of it
constexpr int kRingSlots = 8 * kWarpLanes;           // of all groups of a warp

// Copies to shared memory, asynchronously where the architecture supports it.
template <int kBytes>
__device__ inline void copy_ahead(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(kBytes)
                 : "memory");
#else
    if constexpr (kBytes == 16) *(float4*)to = *(const float4*)from;
    if constexpr (kBytes == 8) *(float2*)to = *(const float2*)from;
    if constexpr (kBytes == 4) *(float*)to = *(const float*)from;
#endif
}

__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncwarp();
}

// The coefficients of rows for all groups of a warp: [group][row % slots]. They are copied in
// chunks; in use are the previous rows that lanes to the right still need, the current chunk and
// the next one. Groups start at different slots, so that they use different banks.
struct Ring {
    float4 coefficients[kRingSlots];
    float4 emissions[kRingSlots];  // only half is used, so that offsets are the same for both
};

// Values of a read for its final sum.
struct ReadValues {
    double matching, threshold;
    float last_insertion;
};

// Coefficients of one row for the inner loop.
struct Row {
    float4 coefficients;  // a, b, c, eps of the row above
    float2 emission;      // r, and the byte offset of the letter in the mask table

    __device__ Row(const Ring& ring, int offset) {
        coefficients = *(const float4*)((const char*)ring.coefficients + offset);
        emission = *(const float2*)((const char*)ring.emissions + offset);
    }
};

// The columns of a lane, and the values that it passes to the next lane.
template <int kColumns>
struct Columns {
    float match[kColumns], insertion[kColumns];
    float incoming;  // T of the first column before a row; of the next lane's column after it
    float deletion;  // D of the row above at the same column

    __device__ void advance(const Row& row, float extend, const char* masks) {
        const float a = row.coefficients.x, b = row.coefficients.y, c = row.coefficients.z;
        const float mismatch = row.emission.x;
        unsigned differs[words_for(kColumns)];
#pragma unroll
        for (int word = 0; word < words_for(kColumns); ++word) {
            differs[word] = *(const unsigned*)(masks + __float_as_int(row.emission.y) +
                                               word * kWordStride);
        }
#pragma unroll
        for (int k = 0; k < kColumns; ++k) {
            float outgoing = fmaf(a, insertion[k], fmaf(c, deletion, match[k]));
            insertion[k] = fmaf(b, insertion[k], match[k]);
            deletion = fmaf(extend, deletion, match[k]);
            match[k] = incoming;
            if (differs[k / kColumnsPerWord] >> bit_of(k) & 1) match[k] *= mismatch;
            incoming = outgoing;
        }
    }

    __device__ void pass_on(bool is_first) {
        incoming = __shfl_up_sync(kAllLanes, incoming, 1);
        deletion = __shfl_up_sync(kAllLanes, deletion, 1);
        if (is_first) incoming = deletion = 0.0f;
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
    __shared__ __align__(1024) Ring ring;
    __shared__ ReadValues values[kWarpLanes];
    __shared__ unsigned mask_table[kWords * kLetters][kWarpLanes];

    const int lane = lane_id() & (lanes - 1), group = lane_id() / lanes;
    const bool is_first = lane == 0;
    // Groups without a pair repeat the last pair, without output.
    const int count = layouts.pairs[layout], number = blockIdx.x * (kWarpLanes / lanes) + group;
    if (number - group >= count) return;
    const int at = layouts.starts[layout] + min(number, count - 1);
    const int4 sizes = pairs[2 * at], rows_of_pair = pairs[2 * at + 1];
    const int start_row = sizes.x, length = sizes.y, width = sizes.w;

    const int chunk_rows = max(lanes, 2 * min(lanes, kUnrolled)), slots = 4 * chunk_rows;
    const int turn = group * lanes;
    auto copy_row = [&](int row) {
        int slot = group * slots + (row + turn & slots - 1);
        int source = start_row + min(row, length - 1);
        copy_ahead<16>(&ring.coefficients[slot], &coefficients.rows[source]);
        copy_ahead<8>(&ring.emissions[slot], &coefficients.emissions[source]);
    };
    auto fetch = [&](int first_row) {
        copy_row(first_row + lane);
        if (lanes < chunk_rows) copy_row(first_row + lanes + lane);
    };
    fetch(0);
    for (int row = lane - chunk_rows; row < 0; row += lanes) {  // rows that leave a lane unchanged
        int slot = group * slots + (row + turn & slots - 1);
        ring.coefficients[slot] = {0.0f, 1.0f, 0.0f, 0.0f};
        ring.emissions[slot] = {0.0f, __int_as_float(0), 0.0f, 0.0f};
    }
    if (is_first) {
        const int read = rows_of_pair.x;
        copy_ahead<8>(&values[group].matching, &coefficients.products[read]);
        copy_ahead<8>(&values[group].threshold, &coefficients.thresholds[read]);
        copy_ahead<4>(&values[group].last_insertion, &coefficients.last_insertions[read]);
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
    columns.incoming = is_first ? start / width * coefficients.rows[start_row].x : 0.0f;

    const int base = group * slots * 16, wrap = slots * 16 - 1;
    int offset = base | ((turn - lane) * 16 & wrap);
    auto next_row = [&] {
        Row row(ring, offset);
        offset = base | (offset + 16 & wrap);
        return row;
    };
    auto extend_of = [&](const Row& row) {
        return kIsUniform ? uniform_extend : row.coefficients.w;
    };
    auto refill = [&](int step) {
        if (step & chunk_rows - 1) return;
        wait_for_copies();
        fetch(step + chunk_rows);
    };
    const int shortest = warp_min(length);
    const int longest = warp_max(length);
    int step = 0;
    for (; step + kUnrolled <= shortest; step += kUnrolled) {
        refill(step);
#pragma unroll
        for (int k = 0; k < kUnrolled; ++k) {
            Row row = next_row();
            columns.advance(row, extend_of(row), lane_masks);
            columns.pass_on(is_first);
        }
    }
    // The last rows: a lane stops after its last row.
#pragma unroll 1
    for (; step < longest + lanes - 1; ++step) {
        refill(step);
        Row row = next_row();
        if (step - lane < length) columns.advance(row, extend_of(row), lane_masks);
        columns.pass_on(is_first);
    }

    // From the first column to the last, so that the sum does not depend on the layout.
    const float last_insertion = values[group].last_insertion;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
        float term = fmaf(last_insertion, columns.insertion[k], columns.match[k]);
        columns.match[k] = lane * kColumns + k < width ? term : 0.0f;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int owner = group * lanes; owner < (group + 1) * lanes; ++owner) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) sum += columns.match[k];
        sum = __shfl_sync(kAllLanes, sum, owner);
    }
    if (!is_first || number >= count) return;
    if (sum >= values[group].threshold && sum < __int_as_float(0x7f800000)) {
        const double product = sum * values[group].matching;
        likelihoods[rows_of_pair.z] = fmin(0.0, log10_scaled(product, -start_exponent));
    } else {
        exact_pairs.pairs[atomicAdd(exact_pairs.count, 1)] = at;
    }
}
