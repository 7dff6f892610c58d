// Left-alignment of indels, as in GATK's leftAlignIndels: the same as hapgpu/cigar/left_align.py.

#include "cigar/builder.cuh"

struct Sequence {
    const unsigned char* bases;
    long long size;

    __device__ unsigned char operator[](long long k) const { return bases[k]; }
};

// Ranges of reference and query that an indel replaces; both empty for no indel.
struct Indel {
    long long reference_start, reference_end, query_start, query_end;

    __device__ long long size() const {
        return reference_end - reference_start + query_end - query_start;
    }
    // Extends the indel to its left by the bases of an element.
    __device__ void extend(long long length, int operation) {
        if (consumes_reference(operation)) reference_start -= length;
        if (consumes_query(operation)) query_start -= length;
    }
    // Makes it the empty indel at its start.
    __device__ void clear() {
        reference_end = reference_start;
        query_end = query_start;
    }
};

// Moves indels as far left as repeats allow, and merges indels that touch.
class LeftAligner {
public:
    // Returns the room needed for CIGARs of at most `elements` elements, in `reversed` and in the
    // memory of the result.
    static __device__ long long room(long long elements) { return 5 * (elements + 1) + 2; }

    __device__ __forceinline__ LeftAligner(const Elements& reversed, const Sequence& reference,
                                           const Sequence& query)
        : reversed_(reversed), count_(0), reference_(reference), query_(query) {}

    // Goes through the CIGAR from its end, and moves each indel until aligned bases stop it. Returns
    // whether the CIGAR matches the sequences and the result is valid.
    __device__ __forceinline__ bool align(CigarBuilder& out, const Built& cigar, long long start) {
        if (query_length(cigar) != query_.size) return false;
        const long long last = last_indel(cigar);
        if (last < 0) {
            out.add_all(cigar);
            return true;
        }
        if (start + reference_length(cigar, last + 1) > reference_.size) return false;
        const long long end = start + reference_length(cigar, cigar.size);
        Indel indel = {end, end, query_.size, query_.size};
        for (long long k = cigar.size - 1; k >= 0; --k) {
            const int operation = operation_of(cigar[k]);
            const long long length = length_of(cigar[k]);
            if (operation == kI || operation == kD) {
                indel.extend(length, operation);
            } else if (indel.size() == 0) {
                put(length, operation);
                indel.extend(length, operation);
                indel.clear();
            } else {
                shift(indel, length, operation);
            }
        }
        put_indel(indel);
        for (long long k = count_ - 1; k >= 0; --k) {
            const long long element = reversed_[k];
            out.add(length_of(element), operation_of(element));
        }
        return out.finish();
    }

private:
    Elements reversed_;  // the new CIGAR, from its last element to its first
    long long count_;
    Sequence reference_, query_;

    static __device__ __forceinline__ long long last_indel(const Built& cigar) {
        long long k = cigar.size - 1;
        for (; k >= 0; --k) {
            const int operation = operation_of(cigar[k]);
            if (operation == kI || operation == kD) break;
        }
        return k;
    }

    __device__ __forceinline__ void put(long long length, int operation) {
        reversed_[count_] = length << 4 | operation;
        ++count_;
    }

    __device__ __forceinline__ void put_indel(const Indel& indel) {
        put(indel.reference_end - indel.reference_start, kD);
        put(indel.query_end - indel.query_start, kI);
    }

    // Moves an indel left into an element; writes it unless it reaches the next element.
    __device__ __forceinline__ void shift(Indel& indel, long long length, int operation) {
        const long long max_shift = is_alignment(operation) ? length : 0;
        const long long old_end = indel.reference_end;
        const long long start_shift = shifted(indel, max_shift);
        put(old_end - indel.reference_end, kM);
        const long long before = max(0ll, -start_shift);
        const long long remaining = length - max(0ll, start_shift);
        if (start_shift < max_shift || !is_alignment(operation)) {
            put_indel(indel);
            indel.extend(before, kM);
            indel.extend(remaining, operation);
            indel.clear();
        }
        put(before, kM);
        put(remaining, operation);
    }

    // Moves start and end of an indel left, at most by `max_shift`, and returns how far the start
    // moved. Bases that both ranges share at their ends are removed first, so the start may also
    // move right (a shift below 0).
    __device__ __forceinline__ long long shifted(Indel& indel, long long max_shift) {
        long long smaller = min(indel.reference_end - indel.reference_start,
                                indel.query_end - indel.query_start);
        long long start_shift = 0;
        for (; smaller > 0 && same(indel.reference_end - 1, indel.query_end - 1); --smaller) {
            --indel.reference_end;
            --indel.query_end;
        }
        for (; smaller > 0 && same(indel.reference_start, indel.query_start); --smaller) {
            ++indel.reference_start;
            ++indel.query_start;
            --start_shift;
        }
        while (start_shift < max_shift &&
               reference_[indel.reference_start - 1] == query_[indel.query_start - 1] &&
               reference_[indel.reference_end - 1] == query_[indel.query_end - 1]) {
            --indel.reference_start;
            --indel.query_start;
            --indel.reference_end;
            --indel.query_end;
            ++start_shift;
        }
        return start_shift;
    }

    __device__ __forceinline__ bool same(long long on_reference, long long on_query) const {
        return reference_[on_reference] == query_[on_query];
    }
};
