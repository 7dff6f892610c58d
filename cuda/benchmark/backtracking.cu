// The search of Seide 2012, Algorithm 3, as a measure for mapping/search.cu: a thread goes through a
// strand of a read from its last base to its first, and at each base tries all errors.

#include "mapping/fm_index.cuh"
#include "mapping/packed_reads.cuh"

// Rows of the sorted suffixes, from `first` to before `last`.
struct Interval {
    unsigned first, last;
};

enum ResultKind { kMatch, kMismatch, kLeftOut, kAdded };

struct Searched {
    const Occurrences* occurrences;
    unsigned primary;
    const Word* read;
};

__device__ inline Interval extended(const Searched& searched, int base, Interval rows) {
    return {
        backward_step(searched.occurrences, searched.primary, base, rows.first),
        backward_step(searched.occurrences, searched.primary, base, rows.last)
    };
}

__device__ inline bool is_other(const Word* read, int place) {
    return read[kPlanes * (place / kWordBits) + 2] >> place % kWordBits & 1;
}

// The rows that remain when the bases before `place` are put in front (Algorithm 2).
__device__ inline Interval exactly_extended(const Searched& searched, int place, Interval rows) {
    while (place > 0 && rows.first < rows.last) {
        --place;
        if (is_other(searched.read, place)) return {0, 0};
        rows = extended(searched, base_at(searched.read, place), rows);
    }
    return rows;
}

// Results of one thread: those beyond `most` are counted, but lost.
struct Results {
    uint4* slots;
    int most, count;

    __device__ void add(ResultKind kind, Interval rows, int place, int base) {
        if (rows.first >= rows.last) return;
        if (count < most) {
            slots[count] = {rows.first, rows.last, (unsigned)place, (unsigned)(kind << 4 | base)};
        }
        ++count;
    }
};

extern "C" __global__ void __launch_bounds__(256) backtrack(
    const Occurrences* occurrences, int occurrence_blocks, unsigned primary, unsigned rows,
    const Word* words, int total_words, const int* word_offsets, const int* lengths, int reads,
    int strands, int most, uint4* slots, int* counts, int searches, long long total_slots
) {
    const int search = blockIdx.x * blockDim.x + threadIdx.x;
    if (search >= searches) return;
    const int number = search / strands, length = lengths[number];
    const Searched searched = {
        occurrences, primary, strand_words(words, word_offsets, number, search % strands)
    };
    Results results = {slots + (long long)search * most, most, 0};
    Interval next = {0, rows};
    int place = length;
    while (place > 0 && next.first < next.last) {
        --place;
        const Interval here = next;
        const int own = is_other(searched.read, place) ? 4 : base_at(searched.read, place);
        next = {0, 0};
        results.add(kLeftOut, exactly_extended(searched, place, here), place, 0);
        for (int base = 0; base < 4; ++base) {
            const Interval aside = extended(searched, base, here);
            if (base == own) {
                next = aside;
                continue;
            }
            if (aside.first >= aside.last) continue;
            results.add(kMismatch, exactly_extended(searched, place, aside), place, base);
            if (place < length - 1) {
                results.add(kAdded, exactly_extended(searched, place + 1, aside), place, base);
            }
        }
    }
    if (place == 0) results.add(kMatch, next, 0, 0);
    counts[search] = results.count;
}
