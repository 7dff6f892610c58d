// Arithmetic on two costs at a time, the 16-bit halves of a word.
//
// Bases are compared as half-precision numbers, and small costs added as such: a half below 2,048
// has the bits of that number of units of 2^-24. So the multipliers do what else the integer units
// would, of which there are half as many.

constexpr unsigned kHalves = 0x00010001u;  // a number times this has it in both halves
constexpr unsigned kBaseCode = 0x6400u;    // 1,024 in half precision; a base is added to it

// Returns the codes of two bases.
__device__ inline unsigned base_codes(unsigned low, unsigned high) {
    return low | high << 16 | kBaseCode * kHalves;
}

// Returns the lower of one + added and other; no sum exceeds 16 bits, or 4,094 if not kWide.
template <bool kWide = true>
__device__ inline unsigned add_min(unsigned one, unsigned added, unsigned other) {
#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
    // These have no such instruction, but a minimum in half precision. It is right for small costs.
    if constexpr (!kWide) {
        unsigned result;
        asm("min.f16x2 %0, %1, %2;" : "=r"(result) : "r"(one + added), "r"(other));
        return result;
    }
#endif
    return __viaddmin_u16x2(one, added, other);
#else
    const unsigned low = min((one & 0xffffu) + (added & 0xffffu), other & 0xffffu);
    return low | min((one >> 16) + (added >> 16), other >> 16) << 16;
#endif
}

// Returns 1 in half precision where codes of bases differ, else 0: the square of their difference,
// at most 1.
__device__ inline unsigned different(unsigned one, unsigned other) {
    unsigned result;
#ifdef __CUDACC__
    asm("{.reg .b32 d; sub.f16x2 d, %1, %2; mul.sat.f16x2 %0, d, d;}"
        : "=r"(result)
        : "r"(one), "r"(other));
#else
    result = ((one ^ other) & 0xffffu ? 0x3c00u : 0) | ((one ^ other) >> 16 ? 0x3c000000u : 0);
#endif
    return result;
}

// Returns cost where `is_different`, of `different`, is 1, else 0; the cost is below 2,048.
__device__ inline unsigned chosen(unsigned is_different, unsigned cost) {
    unsigned result;
#ifdef __CUDACC__
    asm("mul.f16x2 %0, %1, %2;" : "=r"(result) : "r"(is_different), "r"(cost));
#else
    result = (is_different & 0xffffu ? cost & 0xffffu : 0) |
             (is_different >> 16 ? cost & 0xffff0000u : 0);
#endif
    return result;
}

// Returns one + chosen(is_different, cost), if below 2,048; else any number from 2,048 on.
__device__ inline unsigned add_chosen(unsigned is_different, unsigned cost, unsigned one) {
    unsigned result;
#ifdef __CUDACC__
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(is_different), "r"(cost), "r"(one));
#else
    result = one + chosen(is_different, cost);
#endif
    return result;
}

// Returns the bits of `one` in `mask`, and the other bits of `other`.
__device__ inline unsigned selected_bits(unsigned mask, unsigned one, unsigned other) {
    return (one & mask) | (other & ~mask);
}

// Returns the cost of the first (0) or the second (1) pair.
__device__ inline int cost_of(unsigned costs, int half) { return costs >> 16 * half & 0xffffu; }
