// The log10 likelihood of what is impossible.

__device__ inline double impossible() {
    return __longlong_as_double((long long)0xfff0000000000000ull);  // minus infinity
}
