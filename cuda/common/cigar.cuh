// CIGARs in BAM encoding: length << 4 | operation.

enum CigarOperation : unsigned { kM, kI, kD, kN, kS, kH, kP, kEqual, kDifferent };

__device__ inline unsigned cigar_run(int length, unsigned operation) {
    return (unsigned)length << 4 | operation;
}
__device__ inline int kind_of(unsigned operation) { return operation & 15; }
__device__ inline int length_of(unsigned operation) { return operation >> 4; }

// Builds a CIGAR, last operation first; all lanes of a group hold the same values.
struct RunWriter {
    unsigned* runs;
    int count;
    unsigned operation;
    int length;

    __device__ RunWriter(unsigned* memory) : runs(memory), count(0), operation(kM), length(0) {}

    // Lengthens the current run, or starts a new one. Only one lane of the group writes.
    __device__ void add(int added, unsigned added_operation, bool writes) {
        if (added == 0) return;
        if (added_operation != operation) {
            flush(writes);
            operation = added_operation;
        }
        length += added;
    }

    __device__ void flush(bool writes) {
        if (length == 0) return;
        if (writes) runs[count] = cigar_run(length, operation);
        ++count;
        length = 0;
    }
};
