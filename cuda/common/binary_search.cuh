// Binary search in ascending values.

// Returns the number of values that are at most `limit`.
__device__ inline int count_at_most(const long long* values, int size, long long limit) {
    int low = 0, high = size;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (values[middle] <= limit) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
