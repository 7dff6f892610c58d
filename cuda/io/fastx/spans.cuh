// Columns of DeviceSpans of hapgpu/io/fastx/cuda.py.

struct ReadSpans {
    int* name_starts;
    int* name_lengths;
    int* base_starts;
    int* quality_starts;
    int* lengths;
    int reads;
};
