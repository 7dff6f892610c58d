// Columns of Outputs of hapgpu/realign/align/cuda/outputs.py.

constexpr int kFixedRuns = 3;

// scores[p] is the best score of pair p, in the unit of the weights, offsets[p] the 0-based start in
// the reference, and the CIGAR is at pool[cigar_starts[p]] with cigar_counts[p] runs: in the
// kFixedRuns from kFixedRuns * p on, or in runs taken from pool_used. If pool_used is above
// pool_capacity at the end, the pool was too small and is invalid.
struct Outputs {
    int* scores;
    int* offsets;
    int* cigar_starts;
    int* cigar_counts;
    unsigned* pool;
    unsigned long long* pool_used;
    int pool_capacity;
    int count;
};
