// The coefficients of rows, which reach the lanes of a warp through rings in shared memory.

#include "common/warp.cuh"
#include "pairhmm/piece.cuh"

namespace {

constexpr int kMostRows = 8;     // of a turn of the inner loop; chunks are multiples of it
constexpr int kRingSlots = 416;  // of all groups of a warp, at most 16 rings of 3 * 8 + 2 slots

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

struct RingMemory {
    float4 coefficients[kRingSlots];
    float2 emissions[kRingSlots];
};

// A row of a read: coefficients of hapgpu/pairhmm/forward/coefficients.py, and the byte offset of
// the letter in the table of masks. The compiler keeps four numbers of one load in neighbouring
// registers; with a and b in different banks, the loop of forward.cu waits for registers least.
struct Row {
    float a, b, c, mismatch, extend;
    int letter;

    __device__ Row(const RingMemory& memory, int slot) {
        const float4 own = memory.coefficients[slot];
        const float2 emission = memory.emissions[slot];
        a = own.x, b = own.y, c = own.z, mismatch = own.w;
        letter = __float_as_int(emission.x), extend = emission.y;
    }
};

// The rows of the read of a group of lanes, in chunks: the previous one, which lanes to the right
// still need, the current one, and the next one. The last rows are repeated before the first slot,
// so that the rows of a turn are neighbours wherever a lane is. Groups with the same read share one
// ring, which takes fewer copies. Other rings have sizes such that lanes use different banks.
//
// A chunk is written while lanes read the two chunks before it; the rows before the first slot are
// written with the last chunk, while all lanes are after the first one.
struct Ring {
    RingMemory& memory;
    int lanes;  // of the group
    int copying_lanes, chunk_rows;
    int first_slot;
    int position = 0;  // slot of the row of the first lane, the same in all lanes of a warp

    __device__ Ring(RingMemory& memory, int lanes, bool is_shared) : memory(memory), lanes(lanes) {
        copying_lanes = is_shared ? kWarpLanes : lanes;
        chunk_rows = max(copying_lanes, kMostRows);
        first_slot = lane_id() / copying_lanes * (slots() + lanes) + lanes - 1;
        const int lane = lane_id() & lanes - 1;
        if (lane == 0) return;
        // Rows before the first one leave a lane unchanged.
        memory.coefficients[first_slot - lane] = {0.0f, 1.0f, 0.0f, 0.0f};
        memory.emissions[first_slot - lane] = {__int_as_float(0), 0.0f};
    }

    __device__ int slots() const { return 3 * chunk_rows; }

    // Returns the slot of the row of a lane at the current step.
    __device__ int slot_of(int lane) const { return first_slot - lane + position; }

    // Starts the copy of the chunk that begins with a row, to a slot. `read` has the first row and
    // the last row of the read.
    __device__ void fetch(const Coefficients& coefficients, int2 read, int first_row, int slot) {
        const int own = lane_id() & copying_lanes - 1;
        for (int k = own; k < chunk_rows; k += copying_lanes) {
            copy(coefficients, first_slot + slot + k, min(read.x + first_row + k, read.y));
        }
        if (slot + chunk_rows < slots() || own >= lanes - 1) return;
        const int k = chunk_rows - 1 - own;
        copy(coefficients, first_slot - chunk_rows + k, min(read.x + first_row + k, read.y));
    }

    // Waits for the chunk of a step, and starts the copy of the next one.
    __device__ void refill(const Coefficients& coefficients, const int2& read, int step) {
        if (step & chunk_rows - 1) return;
        wait_for_copies();
        const int next = position + chunk_rows;
        fetch(coefficients, read, step + chunk_rows, next == slots() ? 0 : next);
    }

    __device__ void advance(int steps) {
        position += steps;
        if (position == slots()) position = 0;
    }

  private:
    __device__ void copy(const Coefficients& coefficients, int slot, int row) {
        copy_ahead<16>(&memory.coefficients[slot], &coefficients.rows[row]);
        copy_ahead<8>(&memory.emissions[slot], &coefficients.emissions[row]);
    }
};

}  // namespace
