// Blocks of the reference with letters other than A, C, G and T: one bit each, which is read instead
// of their positions where there are none.

// Sets bit b % 32 of word b / 32 if block b, or one of the next two, has such letters; one thread
// per word.
extern "C" __global__ void __launch_bounds__(256) mark_other_blocks(
    const unsigned long long* others, unsigned* words, int blocks, int count
) {
    const int word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= count) return;
    unsigned bits = 0, before = 0;  // `before`: of the last two blocks
    for (int k = 33; k >= 0; --k) {
        const long long block = 32ll * word + k;
        const bool has_others = block < blocks && others[block];
        before = (before << 1 | has_others) & 7;
        if (k < 32 && before) bits |= 1u << k;
    }
    words[word] = bits;
}
