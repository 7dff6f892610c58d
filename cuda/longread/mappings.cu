// Mappings of chains; same as hapgpu/longread/mappings/{mappings,selection,seed_counts}.py.

#include "common/binary_search.cuh"
#include "longread/batches.cuh"
#include "longread/seed/radix_order.cuh"
#include "longread/selection.cuh"
#include "longread/tie_breaker.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr unsigned kSalt = 11;

__device__ inline int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int thread_count() { return gridDim.x * blockDim.x; }
__device__ inline int warp_id() { return thread_id() / kWarpLanes; }
__device__ inline int warp_count() { return thread_count() / kWarpLanes; }
__device__ inline int query_position(Word y) { return (int)y; }
__device__ inline int target_position(Word x) { return (int)x; }
__device__ inline int span_of(Word y) { return (int)(y >> 32) & 0xff; }

// Table of the chains of all reads: column k starts at row k * chains.
struct ChainTable {
    int* values;
    const long long* offsets;
    int chains, reads;
};

// The parent of each row of the table; for a primary, the best score of its secondaries and the
// number of secondaries with at least as many anchors.
struct Parents {
    int* rows;
    int* second_scores;
    int* n_sub;
};

}  // namespace

// Hashes that break ties between chains; one thread per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) hash_names(
    const unsigned char* text, const int* name_starts, const int* name_lengths, const int* lengths,
    int uses_names, unsigned* hashes, int reads
) {
    for (int read = thread_id(); read < reads; read += thread_count()) {
        const int start = name_starts[read], end = uses_names ? start + name_lengths[read] : start;
        unsigned hash = 0;
        for (int at = start; at < end; ++at) hash = 31 * hash + text[at];
        hashes[read] = mixed(hash ^ (mixed((unsigned)lengths[read]) + mixed(kSalt)));
    }
}

// Fills the table with the chains of each read, the highest score first; one warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock, 8) sort_chains(
    const __grid_constant__ Chains chains, const int* lengths, const unsigned* hashes, Word* keys,
    unsigned* order, int* table
) {
    __shared__ RadixScratch scratch[kWarpsPerBlock];
    for (int read = warp_id(); read < chains.reads; read += warp_count()) {
        const long long first_chain = chains.offsets[read];
        const int count = (int)(chains.offsets[read + 1] - first_chain);
        for (int k = lane_id(); k < count; k += kWarpLanes) {
            const long long first = chains.anchor_offsets[first_chain + k];
            const Word size = chains.anchor_offsets[first_chain + k + 1] - first;
            const Word rank = (Word)chains.scores[first_chain + k] << 32 | size;
            keys[first_chain + k] =
                rank ^ tie_breaker(chains.x[first], chains.y[first], hashes[read]);
            order[first_chain + k] = k;
        }
        __syncwarp();
        RadixScratch& own_scratch = scratch[threadIdx.x / kWarpLanes];
        radix_order(keys + first_chain, order + first_chain, count, own_scratch);
        __syncwarp();
        const ReadRows rows{table, chains.count, first_chain};
        for (int row = lane_id(); row < count; row += kWarpLanes) {
            const long long chain = first_chain + order[first_chain + count - 1 - row];
            const long long first = chains.anchor_offsets[chain];
            const long long chain_end = chains.anchor_offsets[chain + 1];
            const int span = span_of(chains.y[first]);
            const int start = query_position(chains.y[first]) + 1 - span;
            const int end = query_position(chains.y[chain_end - 1]) + 1;
            const bool is_reverse = chains.x[first] >> 63;
            rows.at(kScore, row) = chains.scores[chain];
            rows.at(kCount, row) = (int)(chain_end - first);
            rows.at(kSequence, row) = (int)(chains.x[first] << 1 >> 33);
            rows.at(kIsReverse, row) = is_reverse;
            rows.at(kQueryStart, row) = is_reverse ? lengths[read] - end : start;
            rows.at(kQueryEnd, row) = is_reverse ? lengths[read] - start : end;
            rows.at(kTargetStart, row) = max(target_position(chains.x[first]) + 1 - span, 0);
            rows.at(kTargetEnd, row) = target_position(chains.x[chain_end - 1]) + 1;
            rows.at(kChain, row) = (int)chain;
        }
    }
}

// Parent of each chain, and `second_scores` and `n_sub` of primaries, which are initially 0; one
// warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) find_parents(
    const __grid_constant__ ChainTable table, float mask_level, int* covered, int* primaries,
    const __grid_constant__ Parents parents
) {
    for (int read = warp_id(); read < table.reads; read += warp_count()) {
        const long long first_chain = table.offsets[read];
        const int count = (int)(table.offsets[read + 1] - first_chain);
        const ReadRows rows{table.values, table.chains, first_chain};
        int* const parent_rows = parents.rows + first_chain;
        find_read_parents(rows, count, mask_level, (int2*)covered + first_chain,
                          primaries + first_chain, parent_rows);
        for (int row = lane_id(); row < count; row += kWarpLanes) {
            const int parent = parent_rows[row];
            if (parent == row) continue;
            atomicMax(&parents.second_scores[first_chain + parent], rows.at(kScore, row));
            if (rows.at(kCount, row) >= rows.at(kCount, parent)) {
                atomicAdd(&parents.n_sub[first_chain + parent], 1);
            }
        }
    }
}

// Lists the rows of each read to keep, and their parents among them; one thread per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) select_rows(
    const __grid_constant__ ChainTable table, const int* parents,
    const __grid_constant__ SelectionLimits limits, const __grid_constant__ Selection selection,
    int* new_rows, long long* counts
) {
    if (thread_id() == 0) counts[0] = 0;
    for (int read = thread_id(); read < table.reads; read += thread_count()) {
        const long long start = table.offsets[read];
        const int count = (int)(table.offsets[read + 1] - start);
        const ReadRows rows{table.values, table.chains, start};
        const Selection own{selection.rows + start, selection.numbers + start,
                            selection.is_retained + start};
        counts[read + 1] = select_read_rows(rows, count, parents + start, limits, own,
                                            new_rows + start, [](int) { return false; });
    }
}

// Mean span of the seeds of each read; one warp per read.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) average_spans(
    const __grid_constant__ Seeds seeds, float* means
) {
    for (int read = warp_id(); read < seeds.reads; read += warp_count()) {
        const long long start = seeds.offsets[read], end = seeds.offsets[read + 1];
        unsigned sum = 0;  // at most k per base of the read
        for (long long seed = start + lane_id(); seed < end; seed += kWarpLanes) {
            sum += seeds.spans[seed];
        }
        sum = warp_sum(sum);
        if (lane_id() == 0) means[read] = __fdiv_rn(sum, max(end - start, 1ll));
    }
}

namespace {

// The first seed of a read at or after `position`.
__device__ inline long long first_seed(
    const unsigned* positions, long long low, long long high, int position
) {
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if ((int)(positions[middle] >> 1) < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Position of an anchor in the read on its forward strand.
__device__ inline int forward_position(Word x, Word y, int length) {
    const int position = query_position(y);
    return x >> 63 ? length - 2 - position + span_of(y) : position;
}

// Columns of the mappings of a batch: hapgpu/longread/cuda/mappings.py.
enum MappingColumn {
    kScores, kCounts, kSequences, kQueryStarts, kQueryEnds, kTargetStarts, kTargetEnds, kMatches,
    kLengths, kParents, kSecondScores, kNSub, kMatched, kExpected, kMappedChains
};

// Mappings to report: the columns above, one after the other, and the others.
struct MappingTable {
    int* columns;
    unsigned char* is_reverse;
    unsigned char* is_retained;
    const long long* offsets;
    int count;

    __device__ int& at(MappingColumn column, int mapping) const {
        return columns[(long long)column * count + mapping];
    }
};

}  // namespace

// Fills the columns of the mappings to report; one warp per mapping. All anchors of a chain are
// seeds of the read, so the first and the last anchor give the number of seeds between them.
// With structs in constant memory it would take 8 registers more.
extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock) measure_mappings(
    Chains chains, const int* lengths, int* table, Selection selection, Parents parents,
    Seeds seeds, const float* means, const int* sequence_lengths, MappingTable mappings
) {
    for (int mapping = warp_id(); mapping < mappings.count; mapping += warp_count()) {
        const int read = count_at_most(mappings.offsets + 1, chains.reads, mapping);
        const long long first_chain = chains.offsets[read];
        const long long kept_row = first_chain + mapping - mappings.offsets[read];
        const ReadRows rows{table, chains.count, first_chain};
        const int row = selection.rows[kept_row];
        const int chain = rows.at(kChain, row);
        const long long first = chains.anchor_offsets[chain];
        const long long chain_end = chains.anchor_offsets[chain + 1];
        int matches = 0, columns_aligned = 0;
        for (long long k = first + 1 + lane_id(); k < chain_end; k += kWarpLanes) {
            const int on_target = target_position(chains.x[k]) - target_position(chains.x[k - 1]);
            const int on_query = query_position(chains.y[k]) - query_position(chains.y[k - 1]);
            matches += min(min(on_target, on_query), span_of(chains.y[k]));
            columns_aligned += max(on_target, on_query);
        }
        matches = warp_sum(matches);
        columns_aligned = warp_sum(columns_aligned);
        if (lane_id()) continue;

        mappings.at(kScores, mapping) = rows.at(kScore, row);
        mappings.at(kCounts, mapping) = rows.at(kCount, row);
        mappings.at(kSequences, mapping) = rows.at(kSequence, row);
        mappings.at(kQueryStarts, mapping) = rows.at(kQueryStart, row);
        mappings.at(kQueryEnds, mapping) = rows.at(kQueryEnd, row);
        mappings.at(kTargetStarts, mapping) = rows.at(kTargetStart, row);
        mappings.at(kTargetEnds, mapping) = rows.at(kTargetEnd, row);
        mappings.at(kMatches, mapping) = span_of(chains.y[first]) + matches;
        mappings.at(kLengths, mapping) = span_of(chains.y[first]) + columns_aligned;
        mappings.at(kParents, mapping) = selection.numbers[kept_row];
        mappings.at(kSecondScores, mapping) = parents.second_scores[first_chain + row];
        mappings.at(kNSub, mapping) = parents.n_sub[first_chain + row];
        mappings.at(kMappedChains, mapping) = chain;
        mappings.is_reverse[mapping] = chains.x[first] >> 63;
        mappings.is_retained[mapping] = selection.is_retained[kept_row];

        const int length = lengths[read], query_start = rows.at(kQueryStart, row);
        const int target_start = rows.at(kTargetStart, row);
        const int target_after =
            sequence_lengths[rows.at(kSequence, row)] - rows.at(kTargetEnd, row);
        const long long seed_start = seeds.offsets[read], seed_end = seeds.offsets[read + 1];
        const long long first_match = first_seed(
            seeds.positions, seed_start, seed_end,
            forward_position(chains.x[first], chains.y[first], length));
        const long long last_match = first_seed(
            seeds.positions, seed_start, seed_end,
            forward_position(chains.x[chain_end - 1], chains.y[chain_end - 1], length));
        const float mean = means[read];
        mappings.at(kMatched, mapping) = (int)(chain_end - first);
        // The start of the mapping in the read, not its end: as in minimap2.
        const long long between = max(first_match, last_match) - min(first_match, last_match);
        mappings.at(kExpected, mapping) = (int)between + 1
            + (query_start > mean && target_start > mean)
            + (length - query_start > mean && target_after > mean);
    }
}
