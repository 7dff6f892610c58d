// A trivial kernel with which `hapgpu doctor` tests a GPU.

extern "C" __global__ void double_all(int* values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}
