// Likelihoods of text batches as text: same as hapgpu/pairhmm/text_batches/tables.py.

#include "common/binary_search.cuh"
#include "common/grid.cuh"
#include "io/decimals.cuh"

namespace {

// Text batches. Each pair is an item, and so is a text batch without pairs.
struct Groups {
    const long long* items;  // offsets of the items of each text batch
    const long long* pairs;  // offsets of the pairs of each text batch
    const long long* reads;  // number of reads of each text batch
    const long long* haplotypes;  // number of haplotypes of each text batch
    int count;
    long long first;  // number of the first text batch
};

// Writes the text of an item: of a line per pair, or of a matrix per text batch.
template <typename Out>
__device__ void put_item(Out& out, long long item, const Groups& groups, const double* likelihoods,
                         const double* powers, bool as_matrix) {
    const int group = count_at_most(groups.items, groups.count, item) - 1;
    const unsigned reads = groups.reads[group], haplotypes = groups.haplotypes[group];
    const long long pair = item - groups.items[group];
    const bool has_pairs = reads && haplotypes;
    if (as_matrix && pair == 0) {
        put_integer(out, reads);
        out.put(' ');
        put_integer(out, haplotypes);
        out.put('\n');
        for (unsigned read = 0; read < reads && !haplotypes; ++read) out.put('\n');
    }
    if (!has_pairs) return;
    const unsigned haplotype = pair % haplotypes;
    if (!as_matrix) {
        put_integer(out, (unsigned long long)(groups.first + group));
        out.put('\t');
        put_integer(out, (unsigned)(pair / haplotypes));
        out.put('\t');
        put_integer(out, haplotype);
        out.put('\t');
    }
    Decimal(likelihoods[groups.pairs[group] + pair], powers).put(out);
    out.put(as_matrix && haplotype + 1 < haplotypes ? ' ' : '\n');
}

}  // namespace

// Counts the bytes of each item. One thread per item.
extern "C" __global__ void __launch_bounds__(256) measure_table(
    Groups groups, const double* likelihoods, const double* powers, long long* sizes,
    long long item_count, int as_matrix) {
    for (long long item = first_thread(); item < item_count; item += all_threads()) {
        TextSize size;
        put_item(size, item, groups, likelihoods, powers, as_matrix);
        sizes[item] = size.size;
    }
}

// Writes the text of each item; `ends` are the ends of the items. One thread per item.
extern "C" __global__ void __launch_bounds__(256) write_table(
    Groups groups, const double* likelihoods, const double* powers, const long long* ends,
    unsigned char* text, long long item_count, int as_matrix) {
    for (long long item = first_thread(); item < item_count; item += all_threads()) {
        TextWriter writer = {text + (item ? ends[item - 1] : 0)};
        put_item(writer, item, groups, likelihoods, powers, as_matrix);
    }
}
