// Four-bit codes of bases, two in a byte, as in BAM records.

// The letter of code k in byte k.
constexpr unsigned long long kFirstLetters = 0x565352474d43413dull;   // =ACMGRSV
constexpr unsigned long long kSecondLetters = 0x4e42444b48595754ull;  // TWYHKDBN

__device__ inline unsigned char letter_of(unsigned code) {
    return (unsigned char)((code < 8 ? kFirstLetters : kSecondLetters) >> 8 * (code & 7));
}

// Returns the code of the complement: a code has a bit per base of ACGT.
__device__ inline unsigned complement_of(unsigned code) { return __brev(code) >> 28; }

__device__ inline unsigned base_code(const unsigned char* bases, int base) {
    const unsigned both = bases[base >> 1];
    return base & 1 ? both & 15 : both >> 4;
}
