// Numbers as decimal text. Decimal writes the same bytes as put_decimal in
// hapgpu/io/text/decimals.py.

// Counts the bytes that a writer would write.
struct TextSize {
    long long size = 0;

    __device__ void put(unsigned char) { ++size; }
};

// Writes bytes to memory that has room for them.
struct TextWriter {
    unsigned char* out;

    __device__ void put(unsigned char byte) { *out++ = byte; }
};

template <typename Out, typename Unsigned>
__device__ inline void put_integer(Out& out, Unsigned value) {
    Unsigned power = 1;
    for (Unsigned rest = value; rest >= 10; rest /= 10) power *= 10;
    for (; power; power /= 10) {
        out.put('0' + value / power);
        value %= power;
    }
}

// A float64 rounded to ten significant digits, without trailing zeros. `powers` has 10^0 to 10^308,
// each the nearest float64.
class Decimal {
    static constexpr int kDigits = 10, kMinExponent = -9, kGreatestPower = 308;
    static constexpr long long kMantissaEnd = 10000000000ll;
    static constexpr long long kLog10Of2 = 1262611;  // times 2^22
    static constexpr int kLog10Shift = 22;

    double value_;
    long long mantissa_ = 0;
    int exponent_ = 0;

    // Returns value * 10^(9 - exponent) as the nearest integer; as on the CPU, without an FMA.
    __device__ static long long scaled(double value, int exponent, const double* powers) {
        int power = kDigits - 1 - exponent;
        if (power < 0) return (long long)__dadd_rn(__ddiv_rn(value, powers[-power]), 0.5);
        if (power > kGreatestPower) {
            value = __dmul_rn(value, powers[kGreatestPower]);
            power -= kGreatestPower;
        }
        return (long long)__dadd_rn(__dmul_rn(value, powers[power]), 0.5);
    }

    // Writes the mantissa, the first `whole` of its digits before the decimal point.
    template <typename Out>
    __device__ void put_digits(Out& out, int whole) const {
        constexpr unsigned long long kFirstDigit = kMantissaEnd / 10;
        unsigned long long rest = mantissa_;
        for (int digit = 0; digit < whole || rest; ++digit) {
            if (digit == whole && whole) out.put('.');
            out.put('0' + rest / kFirstDigit);
            rest = rest % kFirstDigit * 10;
        }
    }

    template <typename Out>
    __device__ static void put_word(Out& out, char first, char second, char third) {
        out.put(first);
        out.put(second);
        out.put(third);
    }

  public:
    __device__ Decimal(double value, const double* powers) : value_(value) {
        const double size = fabs(value);
        if (!(size > 0.0) || isinf(size)) return;
        int binary;
        frexp(size, &binary);
        exponent_ = (int)((binary - 1) * kLog10Of2 >> kLog10Shift);  // or one more
        mantissa_ = scaled(size, exponent_, powers);
        if (mantissa_ >= kMantissaEnd) mantissa_ = scaled(size, ++exponent_, powers);
    }

    template <typename Out>
    __device__ void put(Out& out) const {
        if (isnan(value_)) return put_word(out, 'n', 'a', 'n');
        if (value_ == 0.0) return out.put('0');
        if (value_ < 0.0) out.put('-');
        if (isinf(value_)) return put_word(out, 'i', 'n', 'f');
        if (exponent_ < kMinExponent || exponent_ >= kDigits) {
            put_digits(out, 1);
            out.put('e');
            out.put(exponent_ < 0 ? '-' : '+');
            const unsigned size = abs(exponent_);
            if (size < 10) out.put('0');
            put_integer(out, size);
        } else if (exponent_ >= 0) {
            put_digits(out, exponent_ + 1);
        } else {
            out.put('0');
            out.put('.');
            for (int zeros = -exponent_ - 1; zeros; --zeros) out.put('0');
            put_digits(out, 0);
        }
    }
};
