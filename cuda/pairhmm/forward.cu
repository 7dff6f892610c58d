// Pair-HMM forward likelihoods, as GATK's LoglessPairHMM defines them (read rows i, haplotype
// columns j; hapgpu/pairhmm/forward/reference.py and coefficients.py; Schmidt et al. 2024, gpuPairHMM, for the
// problem on GPUs: the layout and the arithmetic here are different).
//
// Row scales are divided out of the recurrence: with g = alpha (1 - Q), M = Mx prod(g_1..g_i) and
// likewise for I and D, a cell costs four FMAs and one multiplication,
//     T(i,j)  = Mx(i-1,j-1) + a Ix(i-1,j-1) + c Dx(i-1,j-1)      Mx(i,j) = T or r T
//     Ix(i,j) = Mx(i-1,j) + b Ix(i-1,j)                          Dx(i,j) = Mx(i,j-1) + eps Dx(i,j-1)
// and a base that matches costs no rounding. The factor r of a mismatch is applied under a
// predicate; the bits that say where lie in a table by letter of the read.
//
// A group of neighbouring lanes owns the columns of one haplotype, kColumns to a lane, in
// registers. A lane works one row behind the lane to its left, which hands it T and D by shuffle.
// D is carried along the columns of the row above, so that nothing waits for M of its own row.
// The constants of a row come to all lanes through a ring in shared memory, filled ahead.

#include "pairhmm/masks.cuh"
#include "common/warp.cuh"

namespace {

constexpr int kWordStride = kLetters * kMaskStride;  // bytes from word to word
constexpr int kUnrolled = 4;                         // rows; chunks are multiples of it
constexpr int kRingSlots = 8 * kWarpLanes;           // of all groups of a warp
constexpr double kLog10Of2 = 0.30102999566398119521;

// Copies to shared memory in the background where the architecture can.
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

// The row constants of all groups of a warp: [group][row % slots]. They come in chunks, of which
// the rows behind the first lane that others still need, the chunk at hand and the next are in use.
// Groups begin at different slots so that no two use the same banks at a time.
struct Ring {
    float4 coefficients[kRingSlots];
    float4 emissions[kRingSlots];  // of which half is used: the same offset serves both
};

// What a read needs once all of its rows are done.
struct ReadValues {
    double log10_matching;
    float last_insertion, threshold;
};

// Constants of one row as the inner loop wants them.
struct Row {
    float4 coefficients;  // a, b, c, eps of the row above
    float2 emission;      // r, and the byte offset of the letter in the mask table

    __device__ Row(const Ring& ring, int offset) {
        coefficients = *(const float4*)((const char*)ring.coefficients + offset);
        emission = *(const float2*)((const char*)ring.emissions + offset);
    }
};

// State of the columns of a lane, and what goes from lane to lane.
template <int kColumns>
struct Columns {
    float match[kColumns], insertion[kColumns];
    float incoming;  // T of the first column, before a row; of the next lane's, after it
    float deletion;  // D of the row above at the first column, likewise

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

// Likelihoods in float32 of the pairs of one layout. Those whose sum is not finite, or less than
// the least that is trusted for the read, are listed in `exact_pairs` instead. A warp per block, which has a pair for each group of `lanes` lanes.
// If kIsUniform, gaps go on with the same probability everywhere, `uniform_extend`: that leaves
// the register file, of which the reads are what limits the loop, one operand fewer to deliver.
template <int kColumns, bool kIsUniform>
__global__ void __launch_bounds__(kWarpLanes, kColumns <= 24 ? 16 : kColumns <= 36 ? 12 : 8)
    forward(const float4* coefficients, const float2* emissions, const double* log10_matching,
            const float* last_insertions, const float* thresholds, const unsigned* masks,
            const int4* pairs, const int* layout_starts, const int* layout_pairs,
            double* likelihoods, int* exact_pairs, int* exact_count, int rows, int reads,
            int mask_words, int pair_count, int layout_count, int one, int layout, int lanes,
            float uniform_extend, float start, double log10_start) {
    constexpr int kWords = words_for(kColumns);
    __shared__ __align__(1024) Ring ring;
    __shared__ ReadValues values[kWarpLanes];
    __shared__ unsigned mask_table[kWords * kLetters][kWarpLanes];

    const int lane = lane_id() & (lanes - 1), group = lane_id() / lanes;
    const bool is_first = lane == 0;
    // Groups without a pair repeat the last one and keep silent.
    const int count = layout_pairs[layout], number = blockIdx.x * (kWarpLanes / lanes) + group;
    if (number - group >= count) return;
    const int at = layout_starts[layout] + min(number, count - 1);
    const int4 sizes = pairs[2 * at], rows_of_pair = pairs[2 * at + 1];
    const int begin = sizes.x, length = sizes.y, width = sizes.w;

    const int chunk_rows = max(lanes, 2 * min(lanes, kUnrolled)), slots = 4 * chunk_rows;
    const int turn = group * lanes;
    auto copy_row = [&](int row) {
        int slot = group * slots + (row + turn & slots - 1);
        int source = begin + min(row, length - 1);
        copy_ahead<16>(&ring.coefficients[slot], &coefficients[source]);
        copy_ahead<8>(&ring.emissions[slot], &emissions[source]);
    };
    auto fetch = [&](int first_row) {
        copy_row(first_row + lane);
        if (lanes < chunk_rows) copy_row(first_row + lanes + lane);
    };
    fetch(0);
    for (int row = lane - chunk_rows; row < 0; row += lanes) {  // keeps a waiting lane as it is
        int slot = group * slots + (row + turn & slots - 1);
        ring.coefficients[slot] = {0.0f, 1.0f, 0.0f, 0.0f};
        ring.emissions[slot] = {0.0f, __int_as_float(0), 0.0f, 0.0f};
    }
    if (is_first) {
        copy_ahead<8>(&values[group].log10_matching, &log10_matching[rows_of_pair.x]);
        copy_ahead<4>(&values[group].last_insertion, &last_insertions[rows_of_pair.x]);
        copy_ahead<4>(&values[group].threshold, &thresholds[rows_of_pair.x]);
    }
    const unsigned* own_masks = masks + sizes.z + lane;
#pragma unroll
    for (int k = 0; k < kWords * kLetters; ++k) mask_table[k][lane_id()] = own_masks[k * lanes];
    const char* lane_masks = (const char*)&mask_table[0][lane_id()];

    // D of row 0 stands in I, which the first row takes in and clears, so that D is a chain with
    // the same factor in all rows.
    Columns<kColumns> columns;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
        columns.match[k] = 0.0f;
        columns.insertion[k] = start / width;
    }
    columns.deletion = 0.0f;
    columns.incoming = is_first ? start / width * coefficients[begin].x : 0.0f;

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
    // The ends: a lane stops behind its last row.
#pragma unroll 1
    for (; step < longest + lanes - 1; ++step) {
        refill(step);
        Row row = next_row();
        if (step - lane < length) columns.advance(row, extend_of(row), lane_masks);
        columns.pass_on(is_first);
    }

    // From the first column to the last, whatever the layout: the sum depends on nothing else.
    const float last_insertion = values[group].last_insertion;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
        float ends_here = fmaf(last_insertion, columns.insertion[k], columns.match[k]);
        columns.match[k] = lane * kColumns + k < width ? ends_here : 0.0f;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int owner = group * lanes; owner < (group + 1) * lanes; ++owner) {
#pragma unroll
        for (int k = 0; k < kColumns; ++k) sum += columns.match[k];
        sum = __shfl_sync(kAllLanes, sum, owner);  // of the lane whose turn it was
    }
    if (!is_first || number >= count) return;
    if (sum >= values[group].threshold && sum < __int_as_float(0x7f800000)) {
        int bits = __float_as_int(sum), exponent = (bits >> 23) - 127;
        float mantissa = __int_as_float((bits & 0x7fffff) | 127 << 23);
        double log10_sum = (exponent + (double)log2f(mantissa)) * kLog10Of2;
        likelihoods[rows_of_pair.z] =
            fmin(0.0, log10_sum + values[group].log10_matching - log10_start);
    } else {
        exact_pairs[atomicAdd(exact_count, 1)] = at;
    }
}
