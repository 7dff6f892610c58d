// Hits written as SAM records: the same bytes as hapgpu/shortread/sam/cpu.py.

#include "common/warp.cuh"
#include "io/fastx/spans.cuh"
#include "shortread/hit.cuh"

namespace {

constexpr int kWarps = 4;  // per thread block of write_lines
constexpr int kReverse = 16, kSecondary = 256;
constexpr int kTwoBest = 3;
constexpr int kMinReadBases = 10;
constexpr int kPartsText = 172;  // formatted characters of a line (at most 166), rounded up to an
                                 // odd number of words, so that lanes write to different banks

// Returns the index of the last of `count` ascending values at most `value`; -1 if none is.
__device__ inline int last_at_most(const long long* values, int count, long long value) {
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (values[middle] <= value) low = middle + 1; else high = middle;
    }
    return low - 1;
}

__device__ inline int digits_of(unsigned value) {
    int digits = 1;
    for (; value >= 10; value /= 10) ++digits;
    return digits;
}

// Outputs for the parts of a line: Counter counts the characters, Writer writes them.
struct Counter {
    int size = 0;

    __device__ void put(unsigned char) { ++size; }
    __device__ void number(unsigned value) { size += digits_of(value); }
};

struct Writer {
    unsigned char* text;
    int size = 0;

    __device__ explicit Writer(unsigned char* text) : text(text) {}
    __device__ void put(unsigned char character) { text[size++] = character; }
    __device__ void number(unsigned value) {
        size += digits_of(value);
        for (int k = size - 1;; --k) {
            text[k] = '0' + value % 10;
            value /= 10;
            if (value == 0) break;
        }
    }
};

template <typename Out, int kSize>
__device__ inline void put_text(Out& out, const char (&text)[kSize]) {
#pragma unroll
    for (int k = 0; k < kSize - 1; ++k) out.put(text[k]);
}

template <typename Out, int kSize>
__device__ inline void put_tag(Out& out, const char (&tag)[kSize], unsigned value) {
    put_text(out, tag);
    out.number(value);
}

// Columns of DeviceHits of hapgpu/shortread/search/cuda/arrays.py: the hits of read i start at offsets[i].
// Offsets of hits and of records may be negative: hits and records before the first are not held.
struct Hits {
    const long long* offsets;
    const unsigned long long* hits;
    const int* exact;
    const int* inexact;
};

// Columns of DeviceSamRecords of hapgpu/shortread/sam/cuda.py: the records of read i start at
// offsets[i], and `best` is 0 for a read without hits.
struct Records {
    const long long* offsets;
    const int* best;
    const int* second;
    const int* reads;
    long long count;
};

struct LineFormat {
    const unsigned char* mapping_qualities;
    const unsigned char* complements;
    const unsigned char* read_group;
    int read_group_size, only_best, secondary_seq;
};

struct Reference {
    const long long* contig_offsets;
    const unsigned char* contig_names;
    const long long* name_offsets;
    int contigs;
    const unsigned long long* planes;
    const unsigned long long* others;
    const long long* letter_positions;
    const unsigned char* letters;
    int letter_count;

    __device__ unsigned char letter_at(long long position) const {
        const long long block = position / 64 + 1;
        const int bit = position % 64;
        if (!(others[block] >> bit & 1)) {
            const int low = planes[2 * block] >> bit & 1, high = planes[2 * block + 1] >> bit & 1;
            return high ? (low ? 'T' : 'G') : (low ? 'C' : 'A');
        }
        const int index = last_at_most(letter_positions, letter_count, position);
        return index >= 0 && letter_positions[index] == position ? letters[index] : 'N';
    }
};

// The parts of a line: the read name, `before` characters, the contig name, `middle` characters,
// bases and qualities if `has_bases`, `tail` characters, the read group, a newline.
struct Line {
    int read = 0;
    int before = 0, middle = 0, tail = 0;
    int contig_start = 0, contig_length = 0;
    int strand = 0;
    bool has_bases = false;
};

template <typename Out>
__device__ inline void put_cigar(Out& out, const Hit& hit, int length) {
    int after = length;
    if (hit.kind != kUngapped) {
        after -= hit.error + (hit.kind == kInsertion);
        if (hit.error > 0) {
            out.number(hit.error);
            out.put('M');
        }
        out.put('1');
        out.put(hit.kind == kInsertion ? 'I' : 'D');
    }
    if (after > 0) {
        out.number(after);
        out.put('M');
    }
}

// Writes NM, MD and AS. The reference letter is read only if it is written.
template <typename Out>
__device__ inline void put_differences(Out& out, const Hit& hit, int length,
                                       const Reference& reference) {
    put_tag(out, "\tNM:i:", hit.distance);
    put_text(out, "\tMD:Z:");
    if (hit.distance == 0 || hit.kind == kInsertion) {
        out.number(length - (hit.distance != 0));
    } else {
        out.number(hit.error);
        if (hit.kind == kDeletion) out.put('^');
        out.put(reference.letter_at(hit.start + hit.error));
        out.number(length - hit.error - (hit.kind == kUngapped));
    }
    put_text(out, "\tAS:i:");
    if (hit.distance == 0) {
        out.put('0');
    } else {
        out.put('-');
        out.put(hit.kind == kUngapped ? '6' : '8');
    }
}

// Writes all parts of a line to `out`, except names, bases, qualities and the read group.
template <typename Out>
__device__ Line put_line(Out& out, long long record, const ReadSpans& spans, const Hits& hits,
                         const Records& records, const Reference& reference,
                         const LineFormat& format) {
    Line line;
    line.read = records.reads[record];
    const int length = spans.lengths[line.read];
    const long long start = hits.offsets[line.read];
    if (spans.name_lengths[line.read] == 0) out.put('*');
    if (records.best[line.read] == 0) {
        line.has_bases = length > 0;
        put_text(out, "\t4\t*\t0\t0\t*\t*\t0\t0\t");
        line.before = out.size;
        if (!line.has_bases) put_text(out, "*\t*");
        line.middle = out.size - line.before;
        return line;
    }
    const long long first_record = records.offsets[line.read];
    const unsigned number = (unsigned)(record - first_record);
    const unsigned written = (unsigned)(records.offsets[line.read + 1] - first_record);
    const unsigned best = records.best[line.read], second = records.second[line.read];
    const unsigned reported = format.only_best ? best : best + second;
    const Hit hit(hits.hits[start + number]);
    line.strand = hit.strand;
    line.has_bases = (number == 0 || format.secondary_seq) && length > 0;

    out.put('\t');
    out.number(kReverse * hit.strand + (number ? kSecondary : 0));
    out.put('\t');
    line.before = out.size;

    const int contig = last_at_most(reference.contig_offsets, reference.contigs, hit.start);
    line.contig_start = (int)reference.name_offsets[contig];
    line.contig_length = (int)reference.name_offsets[contig + 1] - line.contig_start;
    out.put('\t');
    out.number((unsigned)(hit.start - reference.contig_offsets[contig] + 1));
    out.put('\t');
    const unsigned char* qualities = format.mapping_qualities;
    out.number(best == 1 ? qualities[min(second, 255u)] : best == 2 ? kTwoBest : 0);
    out.put('\t');
    put_cigar(out, hit, length);
    put_text(out, "\t*\t0\t0\t");
    if (!line.has_bases) put_text(out, "*\t*");
    line.middle = out.size - line.before;

    put_differences(out, hit, length, reference);
    put_tag(out, "\tNH:i:", reported);
    put_tag(out, "\tHI:i:", number + 1);
    put_tag(out, "\tX0:i:", best);
    put_tag(out, "\tX1:i:", second);
    if (written < reported) put_tag(out, "\tXL:i:", written);
    line.tail = out.size - line.before - line.middle;
    return line;
}

// Output of a warp: each lane writes every 32nd character, and all advance to the same end.
struct WarpText {
    unsigned char* at;

    __device__ void copy(const unsigned char* source, int length) {
        for (int k = lane_id(); k < length; k += kWarpLanes) at[k] = source[k];
        at += length;
    }
    __device__ void copy_reversed(const unsigned char* source, int length) {
        for (int k = lane_id(); k < length; k += kWarpLanes) at[k] = source[length - 1 - k];
        at += length;
    }
    __device__ void bases(const unsigned char* source, int length) {
        for (int k = lane_id(); k < length; k += kWarpLanes) {
            const unsigned char letter = source[k];
            at[k] = letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
        }
        at += length;
    }
    __device__ void complement(const unsigned char* source, int length,
                               const unsigned char* complements) {
        for (int k = lane_id(); k < length; k += kWarpLanes) {
            at[k] = complements[source[length - 1 - k]];
        }
        at += length;
    }
    __device__ void put(unsigned char character) {
        if (lane_id() == 0) *at = character;
        ++at;
    }
};

__device__ inline unsigned long long warp_sum(unsigned value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
}

__device__ inline unsigned long long warp_sum(unsigned long long value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
}

}  // namespace

// One thread per read: counts its records, its hits with the fewest errors and its hits with one
// error more. record_counts[i + 1] is the count of read i, so that the running sum gives the
// offsets of records. Adds RecordCounts to `counts`: reads with hits, hits, records, reads over
// max_hits, reads that are too short.
extern "C" __global__ void __launch_bounds__(256)
count_records(const int* lengths, Hits hits, int* best, int* second, long long* record_counts,
              unsigned long long* counts, int reads, int only_best, int unmapped,
              long long max_hits) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) record_counts[0] = 0;
    unsigned is_mapped = 0, is_over_max_hits = 0, is_too_short = 0;
    unsigned long long reported = 0, records = 0;
    if (i < reads) {
        is_too_short = lengths[i] < kMinReadBases;
        best[i] = hits.exact[i] ? hits.exact[i] : hits.inexact[i];
        second[i] = hits.exact[i] ? hits.inexact[i] : 0;
        is_mapped = best[i] > 0;
        if (is_mapped) {
            reported = best[i] + (only_best ? 0ll : second[i]);
            records = min((long long)reported, max_hits);
            is_over_max_hits = records < reported;
        } else if (unmapped) {
            records = 1;
        }
        record_counts[i + 1] = records;
    }
    const unsigned long long sums[] = {warp_sum(is_mapped), warp_sum(reported), warp_sum(records),
                                       warp_sum(is_over_max_hits), warp_sum(is_too_short)};
    if (lane_id() == 0) {
#pragma unroll
        for (int k = 0; k < 5; ++k) {
            if (sums[k]) atomicAdd(&counts[k], sums[k]);
        }
    }
}

// Writes the read of each record: one thread per read; one warp per read with many records.
extern "C" __global__ void __launch_bounds__(256)
list_reads(const long long* record_offsets, int* reads_of_records, int reads) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long start = 0, end = 0;
    if (i < reads) {
        start = record_offsets[i];
        end = record_offsets[i + 1];
    }
    const bool has_many = end - start > kWarpLanes;
    if (!has_many) {
        for (long long record = start; record < end; ++record) reads_of_records[record] = i;
    }
    __syncwarp();
    for (unsigned left = __ballot_sync(kAllLanes, has_many); left; left &= left - 1) {
        const int lane = __ffs(left) - 1;
        const long long lane_start = __shfl_sync(kAllLanes, start, lane);
        const long long lane_end = __shfl_sync(kAllLanes, end, lane);
        const int read = __shfl_sync(kAllLanes, i, lane);
        for (long long record = lane_start + lane_id(); record < lane_end; record += kWarpLanes) {
            reads_of_records[record] = read;
        }
    }
}

// One thread per record: measures its line; sizes[record + 1] is the number of characters.
extern "C" __global__ void __launch_bounds__(256)
measure_lines(ReadSpans spans, int has_qualities, Hits hits, Records records, Reference reference,
              LineFormat format, long long* sizes) {
    const long long record = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (record == 0) sizes[0] = 0;
    if (record >= records.count) return;
    Counter counter;
    const Line line = put_line(counter, record, spans, hits, records, reference, format);
    long long size = counter.size + spans.name_lengths[line.read] + line.contig_length;
    if (line.has_bases) {
        const int length = spans.lengths[line.read];
        size += length + 1 + (has_qualities ? length : 1);
    }
    sizes[record + 1] = size + format.read_group_size + 1;
}

// Writes the lines. Each lane of a warp formats the numbers of one record into shared memory; then
// all lanes copy record after record. Works with any number of thread blocks of 32 kWarps threads.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
write_lines(const unsigned char* text, ReadSpans spans, int has_qualities, Hits hits,
            Records records, Reference reference, LineFormat format, const long long* line_offsets,
            unsigned char* lines) {
    __shared__ unsigned char parts[kWarps][kWarpLanes][kPartsText];
    const int warp = threadIdx.x / kWarpLanes;
    const long long step = (long long)gridDim.x * kWarps * kWarpLanes;
    long long group = ((long long)blockIdx.x * kWarps + warp) * kWarpLanes;
    for (; group < records.count; group += step) {
        const int count = (int)min((long long)kWarpLanes, records.count - group);
        Line own;
        long long own_offset = 0;
        if (lane_id() < count) {
            Writer writer(parts[warp][lane_id()]);
            own = put_line(writer, group + lane_id(), spans, hits, records, reference, format);
            own_offset = line_offsets[group + lane_id()];
        }
        __syncwarp();
        for (int lane = 0; lane < count; ++lane) {
            const int read = __shfl_sync(kAllLanes, own.read, lane);
            const int before = __shfl_sync(kAllLanes, own.before, lane);
            const int middle = __shfl_sync(kAllLanes, own.middle, lane);
            const int tail = __shfl_sync(kAllLanes, own.tail, lane);
            const int contig_start = __shfl_sync(kAllLanes, own.contig_start, lane);
            const int contig_length = __shfl_sync(kAllLanes, own.contig_length, lane);
            const int strand = __shfl_sync(kAllLanes, own.strand, lane);
            const int has_bases = __shfl_sync(kAllLanes, (int)own.has_bases, lane);
            const unsigned char* part = parts[warp][lane];
            WarpText out = {lines + __shfl_sync(kAllLanes, own_offset, lane)};

            out.copy(text + spans.name_starts[read], spans.name_lengths[read]);
            out.copy(part, before);
            out.copy(reference.contig_names + contig_start, contig_length);
            out.copy(part + before, middle);
            if (has_bases) {
                const int length = spans.lengths[read];
                const unsigned char* bases = text + spans.base_starts[read];
                if (strand) out.complement(bases, length, format.complements);
                else out.bases(bases, length);
                out.put('\t');
                if (!has_qualities) {
                    out.put('*');
                } else if (strand) {
                    out.copy_reversed(text + spans.quality_starts[read], length);
                } else {
                    out.copy(text + spans.quality_starts[read], length);
                }
            }
            out.copy(part + before + middle, tail);
            out.copy(format.read_group, format.read_group_size);
            out.put('\n');
        }
        __syncwarp();
    }
}
