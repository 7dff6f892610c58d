// NM and MD, as `samtools calmd` computes them: the same as hapgpu/cigar/mismatches.py.
//
// A warp per alignment: 32 bases are compared at once. Texts are measured, then written, by the
// same code.

#include "cigar/alignments.cuh"
#include "cigar/operations.cuh"
#include "common/grid.cuh"

namespace {

constexpr unsigned kAnyBase = 15;

// Four-bit codes of bases, as htslib reads them from text.
struct BaseCodes {
    unsigned char codes[256];

    __device__ constexpr BaseCodes() : codes() {
        for (int k = 0; k < 256; ++k) codes[k] = kAnyBase;
        const char letters[] = "=ACMGRSVTWYHKDBN";
        for (int code = 0; code < 16; ++code) {
            codes[(int)letters[code]] = code;
            if (code > 0) codes[letters[code] + 32] = code;  // lower case
        }
        codes['U'] = codes['u'] = codes['3'] = codes['T'];
        codes['0'] = codes['A'];
        codes['1'] = codes['C'];
        codes['2'] = codes['G'];
    }
};

__device__ constexpr BaseCodes kBaseCodes{};

// Tells whether calmd treats two bases as equal: `=` always, N never.
__device__ inline bool matches(unsigned char base, unsigned char reference_base) {
    const unsigned code = kBaseCodes.codes[base];
    return code == 0 || (code == kBaseCodes.codes[reference_base] && code != kAnyBase);
}

__device__ inline unsigned char upper_case(unsigned char letter) {
    return letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
}

// Text of a warp: all lanes have the same end, one of them writes.
template <bool kWrites>
struct Text {
    unsigned char* out;
    long long size = 0;

    __device__ explicit Text(unsigned char* out) : out(out) {}

    __device__ void put(unsigned char letter) {
        if (kWrites && lane_id() == 0) out[size] = letter;
        ++size;
    }
    __device__ void number(unsigned value) {
        int digits = 1;
        for (unsigned rest = value; rest >= 10; rest /= 10) ++digits;
        size += digits;
        if (kWrites && lane_id() == 0) {
            unsigned char* to = out + size;
            for (; digits; --digits, value /= 10) *--to = '0' + value % 10;
        }
    }
    __device__ void upper_case_of(const unsigned char* letters, long long count) {
        if (kWrites) {
            for (long long k = lane_id(); k < count; k += kWarpLanes) {
                out[size + k] = upper_case(letters[k]);
            }
        }
        size += count;
    }
};

// Writes MD and returns NM. Stops where read or reference ends, as calmd does.
template <typename Out>
__device__ long long put_mismatches(Out& out, const Alignments& alignments, int row) {
    const long long query = alignments.rows[row], target = alignments.reference_index[row];
    const long long position = alignments.positions[row];
    if (target < 0 || position < 0) return 0;
    const long long read_size = alignments.bases.size(query);
    if (read_size == 0) return 0;
    const unsigned char* read = alignments.bases.at(query);
    const unsigned char* reference = alignments.references.at(target);
    const long long reference_size = alignments.references.size(target);
    const unsigned* cigar = alignments.cigars.at(row);
    const long long elements = alignments.cigars.size(row);
    long long on_read = 0, on_reference = position, distance = 0;
    unsigned matched = 0;
    for (long long k = 0; k < elements; ++k) {
        const unsigned operation = operation_of(cigar[k]);
        const long long length = length_of(cigar[k]);
        long long present = length;
        if (is_alignment(operation)) {
            present = min(read_size - on_read, reference_size - on_reference);
            present = min(length, max(0ll, present));
            for (long long first = 0; first < present; first += kWarpLanes) {
                const long long at = first + lane_id();
                const bool differs =
                    at < present && !matches(read[on_read + at], reference[on_reference + at]);
                unsigned left = __ballot_sync(kAllLanes, differs);
                distance += __popc(left);
                int done = 0;
                for (; left; left &= left - 1) {
                    const int lane = __ffs(left) - 1;
                    out.number(matched + lane - done);
                    out.put(upper_case(reference[on_reference + first + lane]));
                    matched = 0;
                    done = lane + 1;
                }
                matched += (unsigned)min((long long)kWarpLanes, present - first) - done;
            }
        } else if (operation == kD) {
            present = min(length, max(0ll, reference_size - on_reference));
            out.number(matched);
            out.put('^');
            out.upper_case_of(reference + on_reference, present);
            matched = 0;
            distance += present;
        } else if (operation == kI) {
            distance += length;
        }
        if (present < length) break;
        if (consumes_query(operation)) on_read += length;
        if (consumes_reference(operation)) on_reference += length;
    }
    out.number(matched);
    return distance;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128, 8) measure_mismatches(
    Alignments alignments, int* distances, long long* sizes
) {
    for (int row = first_warp(); row < alignments.cigars.count; row += all_warps()) {
        Text<false> text(nullptr);
        const long long distance = put_mismatches(text, alignments, row);
        if (lane_id() == 0) {
            distances[row] = (int)distance;
            sizes[row] = text.size;
        }
    }
}

extern "C" __global__ void __launch_bounds__(128, 8) write_mismatches(
    Alignments alignments, const long long* offsets, unsigned char* texts
) {
    for (int row = first_warp(); row < alignments.cigars.count; row += all_warps()) {
        Text<true> text(texts + offsets[row]);
        put_mismatches(text, alignments, row);
    }
}
