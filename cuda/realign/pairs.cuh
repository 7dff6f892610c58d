// Columns of DevicePairs of hapgpu/realign/align/cuda/batches.py.

#include "common/rows.cuh"

struct Pairs {
    Rows<unsigned char> references;
    Rows<unsigned char> queries;
    const int* reference_index;
    const int* query_index;
    int count;
};
