// Sizes of pairs to align (hapgpu/realign/align/cuda/buckets.py).

#include "common/grid.cuh"
#include "realign/pairs.cuh"

// Writes for each pair a key of its query length and of the class of its reference length, which
// is the number of its binary digits, and the reference length itself.
extern "C" __global__ void pair_sizes(
    Pairs pairs, int classes, long long* keys, int* rows
) {
    for (int p = first_thread(); p < pairs.count; p += all_threads()) {
        const long long length = pairs.references.size(pairs.reference_index[p]);
        const long long columns = pairs.queries.size(pairs.query_index[p]);
        keys[p] = columns * classes + (64 - __clzll(length));
        rows[p] = (int)length;
    }
}
