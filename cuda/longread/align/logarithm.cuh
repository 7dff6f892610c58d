// minimap2's approximate binary logarithm; same as `logarithm` of
// hapgpu/longread/align/cigars.py.

// Of an integer above 0: a parabola in the mantissa, each operation rounded.
__device__ inline float approximate_log2(int value) {
    const int bits = __float_as_int((float)value);
    const float mantissa = __int_as_float((bits & 0x7fffff) | 0x3f800000);
    float parabola = -0.34484843f * mantissa + 2.02466578f;
    parabola = parabola * mantissa - 0.67487759f;
    return (float)((bits >> 23) - 128) + parabola;
}
