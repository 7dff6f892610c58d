// Words at any bit of other words.

// Returns words from bit `shift`, below 64, of one word more.
template <int kWords>
struct Shifted {
    Word words[kWords];

    __device__ Shifted(const Word (&source)[kWords + 1], int shift) {
        const bool is_upper = shift >= 32;
        unsigned parts[2 * kWords + 1], bits[2 * kWords];
#pragma unroll
        for (int k = 0; k <= kWords; ++k) {
            parts[2 * k] = (unsigned)(is_upper ? source[k] >> 32 : source[k]);
            if (k == kWords) break;
            parts[2 * k + 1] = (unsigned)(is_upper ? source[k + 1] : source[k] >> 32);
        }
#pragma unroll
        for (int k = 0; k < 2 * kWords; ++k) {
            bits[k] = __funnelshift_r(parts[k], parts[k + 1], shift);
        }
#pragma unroll
        for (int k = 0; k < kWords; ++k) words[k] = bits[2 * k] | (Word)bits[2 * k + 1] << 32;
    }
};
