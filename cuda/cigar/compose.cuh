// Trimming and composition of CIGARs: the same as hapgpu/cigar/compose.py.

#include "cigar/builder.cuh"

// Trims a CIGAR to the bases `first` to `last` of its query; adds no elements. Returns whether the
// query has these bases and the result is valid.
template <typename Cigar>
__device__ __forceinline__ bool trim_cigar(CigarBuilder& out, const Cigar& cigar, long long first,
                                           long long last) {
    if (first < 0 || last < first) return false;
    long long end = 0;
    for (long long k = 0; k < cigar.size; ++k) {
        const int operation = operation_of(cigar[k]);
        long long length = length_of(cigar[k]);
        const long long start = end;
        if (consumes_query(operation)) end += length;
        if (end < first || (end == first && start < first)) continue;
        if (start > last && end > last + 1) break;
        if (start < end) length = min(last + 1, end) - max(first, start);
        out.add(length, operation);
    }
    return end > last && out.finish();
}

// The composition of two operations, and which of them it consumes.
struct Composition {
    int operation;  // -1 for none
    bool uses_first, uses_second;

    __device__ __forceinline__ Composition(int first, int second)
        : operation(-1), uses_first(false), uses_second(false) {
        const bool inserts = second == kI || second == kS;
        const bool aligns = is_alignment(second);
        if (first == kI || first == kS) {
            operation = kI;
            uses_first = aligns || inserts || second == kD;
        } else if (first == kD || is_alignment(first)) {
            if (second == kD) {
                operation = kD;
                uses_second = true;
            } else if (aligns || inserts) {
                uses_first = uses_second = true;
                if (aligns) operation = first == kD ? kD : kM;
                else operation = first == kD ? -1 : kI;
            }
        }
    }
};

// Composes CIGARs a to b and b to c into a to c; makes at most as many elements as both have.
// Returns whether the CIGARs match and the result is valid.
template <typename First, typename Second>
__device__ __forceinline__ bool compose_cigars(CigarBuilder& out, const First& first,
                                               const Second& second) {
    long long i = 0, j = 0, first_done = 0, second_done = 0;
    while (i < first.size && j < second.size) {
        const long long one = first[i], other = second[j];
        long long left = length_of(one) - first_done, right = length_of(other) - second_done;
        const Composition both(operation_of(one), operation_of(other));
        if (!both.uses_first && !both.uses_second) return false;
        if (both.uses_first && both.uses_second) left = right = min(left, right);
        if (both.operation >= 0) out.add(both.uses_first ? left : right, both.operation);
        if (both.uses_first) first_done += left;
        if (both.uses_second) second_done += right;
        if (first_done == length_of(one)) {
            ++i;
            first_done = 0;
        }
        if (second_done == length_of(other)) {
            ++j;
            second_done = 0;
        }
    }
    return out.finish();
}
