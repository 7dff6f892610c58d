// CIGARs in the bytes of BAM records.

#include "common/bytes.cuh"
#include "io/bam/records.cuh"

struct RecordCigars {
    const unsigned char* data;
    const long long* starts;
    const int* sizes;

    __device__ explicit RecordCigars(const Records& records)
        : data(records.data), starts(records.cigar_starts), sizes(records.cigar_lengths) {}

    __device__ unsigned element(int row, long long k) const {
        return load_u32(data, starts[row] + 4 * k);
    }
};
