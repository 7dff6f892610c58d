// CIGARs in the bytes of BAM records: DeviceRecords of hapgpu/io/bam/cuda/device_records.py.

#include "common/bytes.cuh"

struct RecordCigars {
    const unsigned char* data;
    const long long* starts;
    const int* sizes;

    __device__ unsigned element(int row, long long k) const {
        return load_u32(data, starts[row] + 4 * k);
    }
};
