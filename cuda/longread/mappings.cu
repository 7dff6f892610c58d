// Mappings of chains; same as hapgpu/longread/mappings/{cpu,parents,selection,seed_counts}.py.

#include "common/binary_search.cuh"
#include "longread/batches.cuh"
#include "longread/seed/radix_order.cuh"
#include "longread/tie_breaker.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr unsigned kSalt = 11;

// Columns of the table of chains: hapgpu/longread/mappings/selection.py.
enum Column {
    kScore, kCount, kSequence, kIsReverse, kQueryStart, kQueryEnd, kTargetStart, kTargetEnd, kChain
};

__device__ inline int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int thread_count() { return gridDim.x * blockDim.x; }
__device__ inline int warp_id() { return thread_id() / kWarpLanes; }
__device__ inline int warp_count() { return thread_count() / kWarpLanes; }
__device__ inline unsigned lower_lanes() { return (1u << lane_id()) - 1; }
__device__ inline int query_position(Word y) { return (int)y; }
__device__ inline int target_position(Word x) { return (int)x; }
__device__ inline int span_of(Word y) { return (int)(y >> 32) & 0xff; }

__device__ inline int warp_sum(int value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
}

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

// Rows to report: row within the read, number of the parent among the rows to report, flag of
// `Mappings`. The rows to report of a read start at the first row of the read in the table.
struct Selection {
    int* rows;
    int* numbers;
    unsigned char* is_retained;
};

struct SelectionLimits {
    int keeps_all;
    float score_ratio;
    int max_secondary, near_score, strand_score;
};

// Rows of one read in the table.
struct ReadRows {
    int* table;
    long long stride, start;

    __device__ int& at(Column column, int row) const {
        return table[column * stride + start + row];
    }
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

namespace {

// Number of bases of an interval that disjoint other intervals cover.
__device__ inline int covered_length(const int2* covered, int count, int start, int end) {
    int length = 0;
    for (int k = lane_id(); k < count; k += kWarpLanes) {
        length += max(min(end, covered[k].y) - max(start, covered[k].x), 0);
    }
    return warp_sum(length);
}

// Adds an interval to disjoint intervals and merges those that it touches. Returns their number.
__device__ inline int add_interval(int2* covered, int count, int start, int end) {
    int kept = 0, low = start, high = end;
    for (int base = 0; base < count; base += kWarpLanes) {
        const int k = base + lane_id();
        const int2 other = k < count ? covered[k] : int2{start, end};
        const bool stays = other.x > end || other.y < start;
        const unsigned staying = __ballot_sync(kAllLanes, stays);
        __syncwarp();
        if (stays) {
            covered[kept + __popc(staying & lower_lanes())] = other;
        } else {
            low = min(low, other.x);
            high = max(high, other.y);
        }
        kept += __popc(staying);
        __syncwarp();
    }
    low = warp_min(low);
    high = warp_max(high);
    if (lane_id() == 0) covered[kept] = {low, high};
    __syncwarp();
    return kept + 1;
}

// Whether a mapping overlaps a primary enough to be secondary to it.
__device__ inline bool is_masked(
    int start, int end, int primary_start, int primary_end, int uncovered, float mask_level
) {
    const int overlap = min(end, primary_end) - max(start, primary_start);
    if (overlap <= 0) return false;
    const int length = end - start, primary_length = primary_end - primary_start;
    const float covered_share = __fdiv_rn(overlap, min(length, primary_length));
    const float uncovered_share = __fdiv_rn(uncovered, max(length, primary_length));
    return __fsub_rn(covered_share, uncovered_share) > mask_level;
}

// The first primary that masks a mapping; -1 if there is none.
__device__ inline int masking_primary(
    ReadRows rows, const int* primaries, int count, int start, int end, int uncovered,
    float mask_level
) {
    for (int base = 0; base < count; base += kWarpLanes) {
        const int k = base + lane_id();
        const int primary = k < count ? primaries[k] : -1;
        const bool masks = k < count
            && is_masked(start, end, rows.at(kQueryStart, primary), rows.at(kQueryEnd, primary),
                         uncovered, mask_level);
        const unsigned masking = __ballot_sync(kAllLanes, masks);
        if (masking) return __shfl_sync(kAllLanes, primary, __ffs(masking) - 1);
    }
    return -1;
}

}  // namespace

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
        int2* const intervals = (int2*)covered + first_chain;
        int interval_count = 0, primary_count = 0;
        for (int row = 0; row < count; ++row) {
            const int start = rows.at(kQueryStart, row), end = rows.at(kQueryEnd, row);
            const int length = covered_length(intervals, interval_count, start, end);
            int parent = -1;
            if (length) {
                parent = masking_primary(rows, primaries + first_chain, primary_count, start, end,
                                         end - start - length, mask_level);
            }
            if (lane_id() == 0) {
                parents.rows[first_chain + row] = parent < 0 ? row : parent;
                if (parent < 0) {
                    primaries[first_chain + primary_count] = row;
                } else {
                    int& second = parents.second_scores[first_chain + parent];
                    second = max(second, rows.at(kScore, row));
                    int& n_sub = parents.n_sub[first_chain + parent];
                    n_sub += rows.at(kCount, row) >= rows.at(kCount, parent);
                }
            }
            if (parent < 0) {
                ++primary_count;
                interval_count = add_interval(intervals, interval_count, start, end);
            }
            __syncwarp();
        }
    }
}

namespace {

// Whether a mapping scores nearly as much as its parent.
__device__ inline bool is_near(
    ReadRows rows, int row, int parent, float score_ratio, int near_score
) {
    const int score = rows.at(kScore, row), best = rows.at(kScore, parent);
    return (float)score >= __fmul_rn(best, score_ratio) || score + near_score >= best;
}

__device__ inline bool has_same_coordinates(ReadRows rows, int row, int parent) {
    constexpr Column kCoordinates[] = {kQueryStart, kQueryEnd, kSequence, kTargetStart, kTargetEnd};
    bool is_same = true;
    for (const Column column : kCoordinates) {
        is_same &= rows.at(column, row) == rows.at(column, parent);
    }
    return is_same;
}

}  // namespace

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
        int kept_count = 0, secondary = 0;
        for (int row = 0; row < count; ++row) {
            const int parent = parents[start + row];
            bool keeps = limits.keeps_all || parent == row, retains = false;
            if (!keeps && secondary < limits.max_secondary) {
                // minimap2 moves kept mappings up in place and looks the parent up at its old row.
                const bool is_moved = parent < kept_count;
                const int in_parent_row = is_moved ? selection.rows[start + parent] : parent;
                if (is_near(rows, row, in_parent_row, limits.score_ratio, limits.near_score)) {
                    keeps = !has_same_coordinates(rows, row, in_parent_row);
                } else {
                    keeps = retains = rows.at(kScore, row) > limits.strand_score
                        && rows.at(kIsReverse, row) != rows.at(kIsReverse, in_parent_row);
                }
                secondary += keeps;
            }
            if (!keeps) continue;
            new_rows[start + row] = kept_count;
            selection.rows[start + kept_count] = row;
            selection.numbers[start + kept_count] = parent < 0 ? -1 : new_rows[start + parent];
            selection.is_retained[start + kept_count] = retains;
            ++kept_count;
        }
        counts[read + 1] = kept_count;
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
