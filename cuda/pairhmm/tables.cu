// Tables of likelihoods as text: the same bytes as hapgpu/pairhmm/reads/tables.py.
//
// The text of a pair is a line, or its part of a line of the matrix: the columns after the pair
// before up to its own, and after the last pair of a read all other columns.

#include "common/grid.cuh"
#include "io/bam/record.cuh"
#include "io/bam/records.cuh"
#include "io/decimals.cuh"

namespace {

constexpr int kWarps = 4;            // per thread block of write_pairs
constexpr int kHead = 2;             // a tab and the mate, after the name
constexpr int kMissing = 3;          // "\tNA"
constexpr int kValue = 22;           // at most: a tab and a likelihood

constexpr unsigned kPaired = 1, kFirst = 64, kSecond = 128;

// Columns of DeviceLikelihoods of hapgpu/pairhmm/reads/cuda/tables.py.
struct Pairs {
    const long long* reads;
    const int* haplotypes;
    const double* likelihoods;
    int count;
};

// The labels of the haplotypes, powers of ten, and the format.
struct Table {
    const unsigned char* labels;
    const long long* label_offsets;
    const double* powers;
    int columns;  // of the matrix, or 0 for a line per pair
};

// The texts of pairs.
struct Texts {
    const Pairs& pairs;
    const Table& table;

    __device__ bool is_first(int pair) const {
        return !table.columns || pair == 0 || pairs.reads[pair - 1] != pairs.reads[pair];
    }
    __device__ bool is_last(int pair) const {
        return !table.columns || pair + 1 == pairs.count
            || pairs.reads[pair + 1] != pairs.reads[pair];
    }
    // Counts the bytes between the head and the likelihood: the label, or missing columns.
    __device__ int middle(int pair) const {
        const int haplotype = pairs.haplotypes[pair];
        if (!table.columns) {
            return (int)(table.label_offsets[haplotype + 1] - table.label_offsets[haplotype]);
        }
        return kMissing * (haplotype - (is_first(pair) ? 0 : pairs.haplotypes[pair - 1] + 1));
    }
    // Counts the missing columns after the likelihood.
    __device__ int missing_after(int pair) const {
        return table.columns && is_last(pair) ? table.columns - 1 - pairs.haplotypes[pair] : 0;
    }
};

__device__ inline unsigned char mate_of(unsigned flags) {
    if (!(flags & kPaired)) return '0';
    return flags & kFirst ? '1' : flags & kSecond ? '2' : '0';
}

__device__ inline unsigned char missing_at(int offset) {
    const int place = offset % kMissing;
    return place == 0 ? '\t' : place == 1 ? 'N' : 'A';
}

// Ends of the parts of a text: head, label or missing columns, likelihood, missing columns, end of
// line.
struct Ends {
    int head = 0, middle = 0, value = 0, tail = 0, line = 0;
};

}  // namespace

// Measures the text of each pair: sizes[pair + 1]. A thread per pair.
extern "C" __global__ void __launch_bounds__(128) measure_pairs(
    Records records, Pairs pairs, Table table, long long* sizes
) {
    const Texts texts{pairs, table};
    if (first_thread() == 0) sizes[0] = 0;
    for (int pair = first_thread(); pair < pairs.count; pair += all_threads()) {
        const bool has_head = texts.is_first(pair);
        const int head = has_head ? records.name_lengths[pairs.reads[pair]] + kHead : 0;
        TextSize value;
        Decimal(pairs.likelihoods[pair], table.powers).put(value);
        const int tail = kMissing * texts.missing_after(pair) + texts.is_last(pair);
        sizes[pair + 1] = (long long)head + texts.middle(pair) + 1 + value.size + tail;
    }
}

// Writes the texts of the pairs from `first` to `end`; `out` starts with the first of them. Each
// lane of a warp formats the likelihood of one pair; then all lanes copy text after text.
extern "C" __global__ void __launch_bounds__(32 * kWarps) write_pairs(
    Records records, Pairs pairs, Table table, const long long* offsets, unsigned char* out,
    int first, int end
) {
    __shared__ unsigned char values[kWarps][kWarpLanes][kValue];
    const Texts texts{pairs, table};
    const int warp = threadIdx.x / kWarpLanes;
    for (int group = first + first_warp() * kWarpLanes; group < end;
         group += all_warps() * kWarpLanes) {
        const int here = min(kWarpLanes, end - group);
        Ends own;
        long long own_name = 0, own_label = 0, own_out = 0;
        unsigned char own_mate = 0;
        if (lane_id() < here) {
            const int pair = group + lane_id();
            const long long read = pairs.reads[pair];
            unsigned char* value = values[warp][lane_id()];
            TextWriter writer = {value};
            writer.put('\t');
            Decimal(pairs.likelihoods[pair], table.powers).put(writer);
            own.head = texts.is_first(pair) ? records.name_lengths[read] + kHead : 0;
            own.middle = own.head + texts.middle(pair);
            own.value = own.middle + (int)(writer.out - value);
            own.tail = own.value + kMissing * texts.missing_after(pair);
            own.line = own.tail + texts.is_last(pair);
            own_name = records.starts[read] + kFixedBytes;
            own_mate = mate_of(records.flags[read]);
            own_label = table.columns ? 0 : table.label_offsets[pairs.haplotypes[pair]];
            own_out = offsets[pair] - offsets[first];
        }
        __syncwarp();
        for (int lane = 0; lane < here; ++lane) {
            const int head_end = __shfl_sync(kAllLanes, own.head, lane);
            const int middle_end = __shfl_sync(kAllLanes, own.middle, lane);
            const int value_end = __shfl_sync(kAllLanes, own.value, lane);
            const int tail_end = __shfl_sync(kAllLanes, own.tail, lane);
            const int line_end = __shfl_sync(kAllLanes, own.line, lane);
            const unsigned char mate = (unsigned char)__shfl_sync(kAllLanes, (int)own_mate, lane);
            const unsigned char* name = records.data + __shfl_sync(kAllLanes, own_name, lane);
            const unsigned char* label = table.labels + __shfl_sync(kAllLanes, own_label, lane);
            const unsigned char* value = values[warp][lane];
            unsigned char* text = out + __shfl_sync(kAllLanes, own_out, lane);
            for (int k = lane_id(); k < line_end; k += kWarpLanes) {
                unsigned char letter = '\n';
                if (k < head_end) {
                    letter = k < head_end - kHead ? name[k] : k == head_end - 1 ? mate : '\t';
                } else if (k < middle_end) {
                    letter = table.columns ? missing_at(k - head_end) : label[k - head_end];
                } else if (k < value_end) {
                    letter = value[k - middle_end];
                } else if (k < tail_end) {
                    letter = missing_at(k - value_end);
                }
                text[k] = letter;
            }
        }
        __syncwarp();  // before the next group overwrites `values`
    }
}
