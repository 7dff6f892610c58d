// Rows of different lengths, end to end in one array: DeviceRagged of hapgpu/arrays/cuda.py.

template <typename Item>
struct Rows {
    const Item* data;
    const long long* offsets;
    int count;

    __device__ const Item* at(long long row) const { return data + offsets[row]; }
    __device__ long long size(long long row) const { return offsets[row + 1] - offsets[row]; }
};
