// Operations of a CIGAR, neighbours of one kind merged, by all threads of a block.

#include "common/cigar.cuh"
#include "common/warp.cuh"

constexpr int kBlockThreads = 256;
constexpr int kBlockWarps = kBlockThreads / kWarpLanes;

__device__ inline int warp_of_block() { return threadIdx.x / kWarpLanes; }

struct RunScratch {
    unsigned runs[kBlockThreads + 1];
    int kinds[kBlockWarps];
    int starts[kBlockWarps];
};

// Writes the merged operations of a CIGAR that comes in tiles of one operation per thread. The last
// run of a tile may go on in the next one: until then, it is `runs[0]` in shared memory.
struct MergedRuns {
    RunScratch& shared;
    unsigned* out;
    long long count;  // runs that are written
    int kind;         // of the last run, which is not; -1 if there is none

    __device__ MergedRuns(RunScratch& scratch, unsigned* memory)
        : shared(scratch), out(memory), count(0), kind(-1) {
        shared.runs[threadIdx.x] = 0;
        if (threadIdx.x == 0) shared.runs[kBlockThreads] = 0;
    }

    // Appends a tile, without the operations that are not kept. `out` may be the CIGAR itself: all
    // threads hold their operations before one writes, and no more are written than came.
    __device__ void add(unsigned operation, bool is_kept) {
        const int own = kind_of(operation), warp = warp_of_block();
        const unsigned kept = __ballot_sync(kAllLanes, is_kept);
        const int last = __shfl_sync(kAllLanes, own, kept ? 31 - __clz(kept) : 0);
        const unsigned lower = kept & lower_lanes();
        int before = __shfl_sync(kAllLanes, own, lower ? 31 - __clz(lower) : 0);
        if (lane_id() == 0) shared.kinds[warp] = kept ? last : -1;
        __syncthreads();  // kinds, and `runs` of the tile before
        int end = kind, of_warps = kind;
        for (int other = 0; other < kBlockWarps; ++other) {
            if (other == warp) of_warps = end;
            if (shared.kinds[other] >= 0) end = shared.kinds[other];
        }
        if (!lower) before = of_warps;
        const bool is_start = is_kept && own != before;
        const unsigned starts = __ballot_sync(kAllLanes, is_start);
        if (lane_id() == 0) shared.starts[warp] = __popc(starts);
        __syncthreads();
        int slot = __popc(starts & (lower_lanes() << 1 | 1)), total = 0;
        for (int other = 0; other < kBlockWarps; ++other) {
            if (other < warp) slot += shared.starts[other];
            total += shared.starts[other];
        }
        if (is_kept) atomicAdd(&shared.runs[slot], is_start ? operation : operation & ~15u);
        __syncthreads();  // sums of lengths
        flush(total, kind < 0);
        kind = end;
    }

    // Writes all runs of a tile except the last, which becomes `runs[0]`, an empty one if it is
    // the first at all.
    __device__ void flush(int total, int first) {
        const int slot = threadIdx.x;
        const unsigned value = shared.runs[slot], last = shared.runs[total];
        if (slot >= first && slot < total) out[count + slot - first] = value;
        __syncthreads();  // before the slots are cleared
        shared.runs[slot] = slot == 0 ? last : 0;
        if (slot == 0 && total == kBlockThreads) shared.runs[total] = 0;
        count += max(total - first, 0);
    }

    // Writes the last run; returns the number of runs.
    __device__ long long finish() {
        if (kind < 0) return count;
        if (threadIdx.x == 0) out[count] = shared.runs[0];
        return count + 1;
    }
};
