// Choice of the best pair of each read (hapgpu/realign/selection/cuda.py).

namespace {

constexpr int kNoScore = -2147483647 - 1;

// Finds the first pair of each read whose value is at most `tolerance` below the highest, -1
// without pairs, and the highest score of the other pairs; a thread per read.
template <typename Value>
__device__ inline void choose_best(
    const Value* values,
    const int* scores,
    const long long* offsets,
    Value tolerance,
    int reads,
    long long* best,
    int* second_scores
) {
    const int threads = gridDim.x * blockDim.x;
    for (int read = blockIdx.x * blockDim.x + threadIdx.x; read < reads; read += threads) {
        const long long start = offsets[read], end = offsets[read + 1];
        long long chosen = -1;
        int second = kNoScore;
        if (start < end) {
            Value highest = values[start];
            for (long long p = start + 1; p < end; ++p) highest = max(highest, values[p]);
            const Value limit = highest - tolerance;
            for (chosen = start; chosen < end - 1 && values[chosen] < limit; ++chosen) {}
            for (long long p = start; p < end; ++p) {
                if (p != chosen) second = max(second, scores[p]);
            }
        }
        best[read] = chosen;
        second_scores[read] = second;
    }
}

}  // namespace

extern "C" __global__ void choose_by_score(
    const int* scores, const long long* offsets, int reads, long long* best, int* second_scores
) {
    choose_best(scores, scores, offsets, 0, reads, best, second_scores);
}

extern "C" __global__ void choose_by_likelihood(
    const double* likelihoods, const int* scores, const long long* offsets, double tolerance,
    int reads, long long* best, int* second_scores
) {
    choose_best(likelihoods, scores, offsets, tolerance, reads, best, second_scores);
}
