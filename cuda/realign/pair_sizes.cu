// Sizes of pairs to align (hapgpu/realign/align/cuda/buckets.py).

#include "common/grid.cuh"
#include "realign/pairs.cuh"

// Writes for each pair a key of its query length and of the class of its reference length, which
// is the number of its binary digits, and the reference length itself. Raises the four extremes to
// the largest reference and query length, and to the largest negative ones: those of the shortest.
extern "C" __global__ void pair_sizes(
    Pairs pairs, int classes, long long* keys, int* rows, int* extremes
) {
    int most[4] = {-0x7fffffff, -0x7fffffff, -0x7fffffff, -0x7fffffff};
    for (int p = first_thread(); p < pairs.count; p += all_threads()) {
        const int length = (int)pairs.references.size(pairs.reference_index[p]);
        const int columns = (int)pairs.queries.size(pairs.query_index[p]);
        keys[p] = (long long)columns * classes + (32 - __clz(length));
        rows[p] = length;
        most[0] = max(most[0], length);
        most[1] = max(most[1], columns);
        most[2] = max(most[2], -length);
        most[3] = max(most[3], -columns);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int largest = warp_max(most[k]);
        if (lane_id() == 0) atomicMax(&extremes[k], largest);
    }
}

// Writes the slot of each pair in a table of keys, with a row per query length from `shortest` on and
// a column per class from `first_class` on; counts the pairs of each slot. The lanes of a warp add up
// first, as most pairs may have one size.
extern "C" __global__ void count_sizes(
    const long long* keys, int count, int classes, int shortest, int first_class, int columns,
    int* slots, int* counts
) {
    for (int first = first_warp() * kWarpLanes; first < count; first += all_threads()) {
        const int p = first + lane_id();
        int slot = -1;
        if (p < count) {
            const int length = (int)(keys[p] / classes), row_class = (int)(keys[p] % classes);
            slot = (length - shortest) * columns + row_class - first_class;
            slots[p] = slot;
        }
        const unsigned alike = __match_any_sync(kAllLanes, slot);
        if (p < count && __ffs(alike) - 1 == lane_id()) atomicAdd(&counts[slot], __popc(alike));
    }
}
