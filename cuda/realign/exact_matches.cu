// Queries that are substrings of their reference (hapgpu/realign/align/cuda/exact_matches.py).

#include "common/grid.cuh"
#include "realign/pairs.cuh"

namespace {

constexpr int kFirstBases = 8;  // compared by a lane on its own

__device__ inline bool starts_with(
    const unsigned char* reference, const unsigned char* query, int bases
) {
    int k = 0;
    while (k < bases && reference[k] == query[k]) ++k;
    return k == bases;
}

// Compares two sequences; called by all lanes of a warp, with the same arguments.
__device__ inline bool are_equal(
    const unsigned char* reference, const unsigned char* query, int bases
) {
    for (int first = 0; first < bases; first += kWarpLanes) {
        const int k = first + lane_id();
        if (__any_sync(kAllLanes, k < bases && reference[k] != query[k])) return false;
    }
    return true;
}

// Returns the last position of a query in a reference, -1 if there is none. The lanes look for the
// first bases of the query at as many positions; the warp compares the rest.
__device__ inline int last_position(
    const unsigned char* reference, int rows, const unsigned char* query, int columns
) {
    const int first_bases = min(columns, kFirstBases);
    for (int last = rows - columns; last >= 0; last -= kWarpLanes) {
        const int start = last - lane_id();
        const bool is_candidate =
            start >= 0 && starts_with(reference + start, query, first_bases);
        unsigned candidates = __ballot_sync(kAllLanes, is_candidate);
        for (; candidates; candidates &= candidates - 1) {
            const int candidate = last - (__ffs(candidates) - 1);
            if (are_equal(reference + candidate, query, columns)) return candidate;
        }
    }
    return -1;
}

}  // namespace

// Writes for each pair the last position of its query in its reference, -1 if there is none; a warp
// per pair.
extern "C" __global__ void exact_matches(Pairs pairs, int* positions) {
    for (int pair = first_warp(); pair < pairs.count; pair += all_warps()) {
        const int reference = pairs.reference_index[pair], query = pairs.query_index[pair];
        const int position = last_position(
            pairs.references.at(reference),
            (int)pairs.references.size(reference),
            pairs.queries.at(query),
            (int)pairs.queries.size(query)
        );
        if (lane_id() == 0) positions[pair] = position;
    }
}
