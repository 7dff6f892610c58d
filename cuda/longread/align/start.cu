// Start of base alignment: same as hapgpu/longread/align/start.py.

#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "longread/align/rows.cuh"
#include "longread/batches.cuh"
#include "longread/tie_breaker.cuh"

// Sets the number of anchors of each chain that has a mapping among `rows`, and whether any mapping
// of these is retained; one thread per mapping. All numbers are initially 0.
extern "C" __global__ void __launch_bounds__(128) mark_chains(
    const long long* rows, const int* mapped_chains, const int* counts,
    const unsigned char* is_retained, long long* chain_sizes, int* has_retained, int count
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        const long long row = rows[k];
        chain_sizes[mapped_chains[row] + 1] = counts[row];
        if (is_retained[row]) *has_retained = 1;  // whoever writes it writes the same
    }
}

namespace {

// Columns of `Mappings`, in the order of hapgpu/longread/cuda/align/start.py.
struct MappingColumns {
    const int* scores;
    const int* counts;
    const int* sequences;
    const unsigned char* is_reverse;
    const int* query_starts;
    const int* query_ends;
    const int* target_starts;
    const int* target_ends;
    const int* matches;
    const int* lengths;
    const int* parents;
    const int* second_scores;
    const int* n_sub;
};

}  // namespace

// Fills the mappings to align, `offsets[i]` to `offsets[i + 1]` of read i; one thread per mapping.
extern "C" __global__ void __launch_bounds__(128) fill_mappings(
    const __grid_constant__ MappingColumns columns, const long long* rows,
    const long long* offsets, const int* mapped_chains, const __grid_constant__ Chains chains,
    const long long* squeezed, const unsigned* name_hashes, Mapping* mappings, int count
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        const long long row = rows[k];
        const int read = count_at_most(offsets + 1, chains.reads, k);
        const int chain = mapped_chains[row];
        const long long first = chains.anchor_offsets[chain];
        Mapping mapping{};
        mapping.first_anchor = squeezed[chain];
        mapping.read = read;
        mapping.sequence = columns.sequences[row];
        mapping.is_reverse = columns.is_reverse[row];
        mapping.query_start = columns.query_starts[row];
        mapping.query_end = columns.query_ends[row];
        mapping.target_start = columns.target_starts[row];
        mapping.target_end = columns.target_ends[row];
        mapping.anchors = columns.counts[row];
        mapping.score = mapping.first_score = columns.scores[row];
        mapping.second_score = columns.second_scores[row];
        mapping.n_sub = columns.n_sub[row];
        mapping.hash = tie_breaker(chains.x[first], chains.y[first], name_hashes[read]);
        mapping.number = (int)(k - offsets[read]);
        mapping.parent = columns.parents[row];
        mapping.next = k + 1 < offsets[read + 1] ? k + 1 : -1;
        mapping.matches = columns.matches[row];
        mapping.length = columns.lengths[row];
        mappings[k] = mapping;
    }
}

// Copies the anchors of the chains that have a mapping; one thread per anchor. The anchors of chain
// j become the rows `squeezed[j]` to `squeezed[j + 1]`; other chains have none.
extern "C" __global__ void __launch_bounds__(128) squeeze_anchors(
    const __grid_constant__ Chains chains, const long long* squeezed, Word* x, Word* y,
    long long anchors
) {
    for (long long k = first_thread(); k < anchors; k += all_threads()) {
        const int chain = count_at_most(squeezed + 1, chains.count, k);
        const long long from = chains.anchor_offsets[chain] + k - squeezed[chain];
        x[k] = chains.x[from];
        y[k] = chains.y[from];
    }
}
