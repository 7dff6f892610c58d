// Queue of items of very different sizes: each warp of a grid takes the next item when it is free.

#include "common/warp.cuh"

// `order` should start with the items that take longest.
struct WorkQueue {
    const long long* order;
    int* taken;
    int size;

    // Returns the next item, -1 if none is left. Called by all lanes of a warp.
    __device__ int next() {
        int rank = 0;
        if (lane_id() == 0) rank = atomicAdd(taken, 1);
        rank = __shfl_sync(kAllLanes, rank, 0);
        return rank < size ? static_cast<int>(order[rank]) : -1;
    }
};
