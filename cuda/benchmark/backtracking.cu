// Search of Seide 2012, Algorithm 3: one thread visits a strand of a read from its last base to its
// first, and tries all errors at each base. Same as hapgpu/benchmark/backtracking.py.

#include "shortread/fm_index.cuh"
#include "shortread/packed_reads.cuh"

// Half-open range of rows of the sorted suffixes.
struct Interval {
    unsigned first, last;
};

enum ResultKind { kMatch, kMismatch, kLeftOut, kAdded };

struct Strand {
    const Bwt& bwt;
    const Word* read;
};

__device__ inline Interval extended(const Strand& strand, int base, Interval rows) {
    return {
        backward_step(strand.bwt, base, rows.first),
        backward_step(strand.bwt, base, rows.last)
    };
}

__device__ inline bool is_other(const Word* read, int position) {
    return read[kPlanes * (position / kWordBits) + 2] >> position % kWordBits & 1;
}

// The rows that remain after prepending the bases before `position` (Algorithm 2).
__device__ inline Interval exactly_extended(const Strand& strand, int position, Interval rows) {
    while (position > 0 && rows.first < rows.last) {
        --position;
        if (is_other(strand.read, position)) return {0, 0};
        rows = extended(strand, base_at(strand.read, position), rows);
    }
    return rows;
}

// Results of one thread; results beyond `max_results` are only counted.
struct ResultList {
    uint4* results;
    int max_results, count;

    __device__ void add(ResultKind kind, Interval rows, int position, int base) {
        if (rows.first >= rows.last) return;
        if (count < max_results) {
            const unsigned kind_and_base = kind << 4 | base;
            results[count] = {rows.first, rows.last, (unsigned)position, kind_and_base};
        }
        ++count;
    }
};

extern "C" __global__ void __launch_bounds__(256) backtrack(
    Bwt bwt, unsigned rows, PackedReads reads, int strands, int max_results, uint4* results,
    int* counts, int searches
) {
    const int search = blockIdx.x * blockDim.x + threadIdx.x;
    if (search >= searches) return;
    const int number = search / strands, length = reads.lengths[number];
    const Strand strand = {bwt, strand_words(reads, number, search % strands)};
    ResultList found = {results + (long long)search * max_results, max_results, 0};
    Interval next = {0, rows};
    int position = length;
    while (position > 0 && next.first < next.last) {
        --position;
        const Interval rows_here = next;
        const int read_base = is_other(strand.read, position) ? 4 : base_at(strand.read, position);
        next = {0, 0};
        found.add(kLeftOut, exactly_extended(strand, position, rows_here), position, 0);
        for (int base = 0; base < 4; ++base) {
            const Interval edited = extended(strand, base, rows_here);
            if (base == read_base) {
                next = edited;
                continue;
            }
            if (edited.first >= edited.last) continue;
            found.add(kMismatch, exactly_extended(strand, position, edited), position, base);
            if (position < length - 1) {
                found.add(kAdded, exactly_extended(strand, position + 1, edited), position, base);
            }
        }
    }
    if (position == 0) found.add(kMatch, next, 0, 0);
    counts[search] = found.count;
}
