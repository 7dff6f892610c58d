// Sizes of pairs to align (hapgpu/realign/align/cuda/buckets.py).

// Writes for each pair a key of its query length and of the class of its reference length, which
// is the number of its binary digits, and the reference length itself.
extern "C" __global__ void pair_sizes(
    const long long* reference_offsets,
    const long long* query_offsets,
    const int* reference_index,
    const int* query_index,
    int n_references,
    int n_queries,
    int pairs,
    int classes,
    long long* keys,
    int* rows
) {
    const int threads = gridDim.x * blockDim.x;
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < pairs; p += threads) {
        const int r = reference_index[p], q = query_index[p];
        const long long length = reference_offsets[r + 1] - reference_offsets[r];
        const long long columns = query_offsets[q + 1] - query_offsets[q];
        keys[p] = columns * classes + (64 - __clzll(length));
        rows[p] = (int)length;
    }
}
