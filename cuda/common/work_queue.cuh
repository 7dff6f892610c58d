// Items of very different sizes, shared out among the warps of a grid as these become free.

#include "common/warp.cuh"

// The order should begin with the items that take longest.
struct WorkQueue {
    const long long* order;
    int* taken;
    int size;

    // The next item, -1 if none is left. Called by all lanes of a warp.
    __device__ int next() {
        int place = 0;
        if (lane_id() == 0) place = atomicAdd(taken, 1);
        place = __shfl_sync(kAllLanes, place, 0);
        return place < size ? static_cast<int>(order[place]) : -1;
    }
};
