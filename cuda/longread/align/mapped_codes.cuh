// Bases of a mapping.

#include "longread/align/rows.cuh"

// First code of the read's part of a mapping, on the strand of the mapping.
__device__ inline long long first_query_code(const ReadCodes& reads, const Mapping& mapping) {
    const long long first = reads.starts[mapping.read];
    if (!mapping.is_reverse) return first + mapping.query_start;
    return first + 2ll * reads.lengths[mapping.read] - mapping.query_end;
}

// First code of the reference's part of a mapping.
__device__ inline long long first_target_code(const TargetCodes& targets, const Mapping& mapping) {
    return targets.starts[mapping.sequence] + mapping.target_start;
}
