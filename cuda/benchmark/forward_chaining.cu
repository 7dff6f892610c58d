// Chain scores by forward transformation (mm2-ax, Sadasivan et al. 2023): an anchor updates the
// scores of its possible successors. Launched by
// hapgpu/benchmark/cuda/chaining.py.

#include "longread/chain/pair_score.cuh"

// Scores and predecessors of all anchors; one thread block per read.
extern "C" __global__ void __launch_bounds__(1024) update_successors(
    const __grid_constant__ Anchors anchors, const __grid_constant__ ChainParameters parameters,
    int max_iterations, const __grid_constant__ ChainScores scores
) {
    const int thread = threadIdx.x, threads = blockDim.x;
    for (int read = blockIdx.x; read < anchors.reads; read += gridDim.x) {
        const long long first = anchors.offsets[read];
        const int length = (int)(anchors.offsets[read + 1] - first);
        const Word *own_x = anchors.x + first, *own_y = anchors.y + first;
        int* own_scores = scores.scores + first;
        int* own_predecessors = scores.predecessors + first;
        const auto follows = [&](int later, int earlier) {
            return own_x[later] >> 32 == own_x[earlier] >> 32
                && own_x[later] - own_x[earlier] <= parameters.max_distance_x;
        };
        for (int i = thread; i < length; i += threads) {
            own_scores[i] = (int)(own_y[i] >> 32 & 255);
            own_predecessors[i] = -1;
        }
        __syncthreads();
        for (int i = 0; i + 1 < length; ++i) {
            if (!follows(i + 1, i)) continue;
            const Anchor anchor = anchor_of(own_x[i], own_y[i]);
            const int score = own_scores[i];
            const int end = (int)min((long long)length, (long long)i + 1 + max_iterations);
            for (int j = i + 1 + thread; j < end && follows(j, i); j += threads) {
                const Anchor successor = anchor_of(own_x[j], own_y[j]);
                const PairScore step = pair_score(parameters, successor, anchor);
                if (!step.is_valid) continue;
                // The nearer predecessor wins a tie; starting a chain wins a tie against any.
                const int threshold = own_scores[j] + (own_predecessors[j] < 0);
                if (step.gain + score >= threshold) {
                    own_scores[j] = step.gain + score;
                    own_predecessors[j] = i;
                }
            }
            __syncthreads();
        }
    }
}
