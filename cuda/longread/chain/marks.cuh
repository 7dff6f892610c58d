// Marks on the predecessors of one anchor; by a warp.

#include "common/warp.cuh"

// One bit per rank, 32 per word; no bit is set between searches.
struct Marks {
    unsigned* words;
    int farthest = 0;  // highest rank that this lane has marked

    __device__ explicit Marks(unsigned* words) : words(words) {}

    __device__ void set(int rank) {
        atomicOr(&words[(unsigned)rank / kWarpLanes], 1u << (unsigned)rank % kWarpLanes);
        farthest = max(farthest, rank);
    }

    // The marks of 32 ranks, with that of `rank`, that lanes have set before a `__syncwarp`.
    __device__ unsigned chunk(int rank) const {
        return *(const volatile unsigned*)&words[rank / kWarpLanes];
    }

    // The mark of a rank, likewise.
    __device__ bool is_set(int rank) const {
        return chunk(rank) >> rank % kWarpLanes & 1;
    }

    // By the whole warp.
    __device__ void clear() {
        const int last_word = warp_max(farthest) / kWarpLanes;
        __syncwarp();
        for (int word = lane_id(); word <= last_word; word += kWarpLanes) words[word] = 0;
        __syncwarp();
        farthest = 0;
    }
};
