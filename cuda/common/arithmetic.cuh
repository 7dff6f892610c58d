// Logarithms and powers that have the same bits on every device: hapgpu/pairhmm/arithmetic.py.

// Returns log10(value * 2^exponent) of a normal, finite value.
__device__ inline double log10_scaled(double value, int exponent) {
    int own;
    double mantissa = 2.0 * frexp(value, &own);
    --own;
    if (mantissa > 0x1.6a09e667f3bcdp+0) {  // sqrt(2)
        mantissa *= 0.5;
        ++own;
    }
    const double s = (mantissa - 1.0) / (mantissa + 1.0), t = s * s;
    double total = fma(0x1.52d51963603d9p-5, t, 0x1.767fbdbeadbd5p-5);
    total = fma(total, t, 0x1.a28ec50249b58p-5);
    total = fma(total, t, 0x1.da5d89f186bcap-5);
    total = fma(total, t, 0x1.11ac1e5a1c808p-4);
    total = fma(total, t, 0x1.436e526a7ec67p-4);
    total = fma(total, t, 0x1.8b4df2f3f047dp-4);
    total = fma(total, t, 0x1.fc3fa615105c6p-4);
    total = fma(total, t, 0x1.63c62775250d7p-3);
    total = fma(total, t, 0x1.287a7636f435ep-2);
    total = fma(total, t, 0x1.bcb7b1526e50dp-1);
    return fma((double)(own + exponent), 0x1.34413509f79ffp-2, s * total);
}

// Returns 10^exponent, from -300 to 300.
__device__ inline double power_of_10(double exponent) {
    const double scaled = exponent * 0x1.a934f0979a371p+1;
    const double whole = floor(scaled + 0.5), t = (scaled - whole) * 0x1.62e42fefa39efp-1;
    double total = fma(0x1.6124613a86d09p-33, t, 0x1.1eed8eff8d898p-29);
    total = fma(total, t, 0x1.ae64567f544e4p-26);
    total = fma(total, t, 0x1.27e4fb7789f5cp-22);
    total = fma(total, t, 0x1.71de3a556c734p-19);
    total = fma(total, t, 0x1.a01a01a01a01ap-16);
    total = fma(total, t, 0x1.a01a01a01a01ap-13);
    total = fma(total, t, 0x1.6c16c16c16c17p-10);
    total = fma(total, t, 0x1.1111111111111p-7);
    total = fma(total, t, 0x1.5555555555555p-5);
    total = fma(total, t, 0x1.5555555555555p-3);
    total = fma(total, t, 0x1.0000000000000p-1);
    total = fma(total, t, 1.0);
    total = fma(total, t, 1.0);
    return ldexp(total, (int)whole);
}
