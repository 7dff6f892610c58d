// Hits as lines of SAM (hapgpu/mapping/sam/cuda.py): the same bytes as hapgpu/mapping/sam/cpu.py.

#include "mapping/hit.cuh"
#include "common/warp.cuh"

namespace {

constexpr int kWarps = 4;  // of a block of write_records
constexpr int kReverse = 16, kSecondary = 256;
constexpr int kTwoBest = 3;
constexpr int kMinReadBases = 10;
constexpr int kPartsText = 172;  // characters of a line that are formatted, at most 166; and as
                                 // an odd number of words, lanes write to different banks

// First of a read's hits in [begin, end) with a greater distance.
__device__ inline long long end_of_stratum(const unsigned long long* hits, long long begin,
                                           long long end, int distance) {
    while (begin < end) {
        long long middle = (begin + end) / 2;
        if (distance_of(hits[middle]) <= distance) begin = middle + 1; else end = middle;
    }
    return begin;
}

// Place of the last of `count` ascending values that is at most `value`; -1 if none is.
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

// Two that take the parts of a line: one counts characters, the other writes them.
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
        for (int place = size - 1;; --place) {
            text[place] = '0' + value % 10;
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

struct Reads {
    const int *name_starts, *name_lengths, *base_starts, *quality_starts, *lengths;
    bool has_qualities;
};

// The hits of reads, those of read i at offsets[i] and on, and what count_records has found: read
// i has the records record_offsets[i] and on.
struct Hits {
    const long long* offsets;
    const unsigned long long* hits;
    const long long* record_offsets;
    const int *best, *second;
    const int* reads_of_records;
    bool only_best;
};

struct Reference {
    const long long* contig_offsets;
    const long long* name_offsets;
    int contigs;
    const unsigned long long *planes, *others;
    const long long* letter_positions;
    const unsigned char* letters;
    int listed;

    __device__ unsigned char letter_at(long long position) const {
        const long long block = position / 64 + 1;
        const int bit = position % 64;
        if (!(others[block] >> bit & 1)) {
            const int low = planes[2 * block] >> bit & 1, high = planes[2 * block + 1] >> bit & 1;
            return high ? (low ? 'T' : 'G') : (low ? 'C' : 'A');
        }
        const int place = last_at_most(letter_positions, listed, position);
        return place >= 0 && letter_positions[place] == position ? letters[place] : 'N';
    }
};

// What a line consists of: the read's name, `before` characters, the contig's name, `middle`
// characters, bases and qualities if `has_bases`, `tail` characters, the read group, a newline.
struct Line {
    int read = 0;
    int before = 0, middle = 0, tail = 0;
    int contig_start = 0, contig_length = 0;
    int strand = 0;
    bool has_bases = false;
};

template <typename Out>
__device__ inline void put_cigar(Out& out, const Hit& hit, int length) {
    int behind = length;
    if (hit.kind != kUngapped) {
        behind -= hit.error + (hit.kind == kInsertion);
        if (hit.error > 0) {
            out.number(hit.error);
            out.put('M');
        }
        out.put('1');
        out.put(hit.kind == kInsertion ? 'I' : 'D');
    }
    if (behind > 0) {
        out.number(behind);
        out.put('M');
    }
}

// NM, MD and AS. The letter of the reference matters only where it is written.
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

// The parts of a line that are neither the read's nor a name go to `out`.
template <typename Out>
__device__ Line put_line(Out& out, long long record, const Reads& reads, const Hits& hits,
                         const Reference& reference, const unsigned char* mapping_qualities) {
    Line line;
    line.read = hits.reads_of_records[record];
    const int length = reads.lengths[line.read];
    const long long begin = hits.offsets[line.read];
    const unsigned every = (unsigned)(hits.offsets[line.read + 1] - begin);
    if (reads.name_lengths[line.read] == 0) out.put('*');
    if (every == 0) {
        line.has_bases = length > 0;
        put_text(out, "\t4\t*\t0\t0\t*\t*\t0\t0\t");
        line.before = out.size;
        if (!line.has_bases) put_text(out, "*\t*");
        line.middle = out.size - line.before;
        return line;
    }
    const long long first_record = hits.record_offsets[line.read];
    const unsigned number = (unsigned)(record - first_record);
    const unsigned written = (unsigned)(hits.record_offsets[line.read + 1] - first_record);
    const unsigned best = hits.best[line.read], second = hits.second[line.read];
    const unsigned told = hits.only_best ? best : every;
    const Hit hit(hits.hits[begin + number]);
    line.strand = hit.strand;
    line.has_bases = number == 0 && length > 0;

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
    out.number(best == 1 ? mapping_qualities[min(second, 255u)] : best == 2 ? kTwoBest : 0);
    out.put('\t');
    put_cigar(out, hit, length);
    put_text(out, "\t*\t0\t0\t");
    if (!line.has_bases) put_text(out, "*\t*");
    line.middle = out.size - line.before;

    put_differences(out, hit, length, reference);
    put_tag(out, "\tNH:i:", told);
    put_tag(out, "\tHI:i:", number + 1);
    put_tag(out, "\tX0:i:", best);
    put_tag(out, "\tX1:i:", second);
    if (written < told) put_tag(out, "\tXL:i:", written);
    line.tail = out.size - line.before - line.middle;
    return line;
}

// The lanes of a warp write together, each every 32nd character; all return what is behind.
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

// A thread counts the records of a read, and its hits of the least distance and of the next.
// record_counts[i + 1] is the number of read i, so that a running sum tells where they begin. Adds to `counts`: reads with hits, hits, records, cut reads, short reads.
extern "C" __global__ void __launch_bounds__(256)
count_records(const int* lengths, const long long* offsets, const unsigned long long* hits,
              int* best, int* second, long long* record_counts, unsigned long long* counts,
              long long /* hits */, int reads, int /* 5 */, int only_best, int unmapped,
              long long max_hits) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) record_counts[0] = 0;
    unsigned is_mapped = 0, is_cut = 0, is_short = 0;
    unsigned long long told = 0, records = 0;
    if (i < reads) {
        const long long begin = offsets[i], end = offsets[i + 1];
        is_short = lengths[i] < kMinReadBases;
        is_mapped = begin < end;
        long long end_of_best = begin, end_of_second = begin;
        if (is_mapped) {
            const int least = distance_of(hits[begin]);
            end_of_best = end_of_stratum(hits, begin, end, least);
            end_of_second = end_of_stratum(hits, end_of_best, end, least + 1);
            told = (only_best ? end_of_best : end) - begin;
            records = min((long long)told, max_hits);
            is_cut = records < told;
        } else if (unmapped) {
            records = 1;
        }
        best[i] = (int)(end_of_best - begin);
        second[i] = (int)(end_of_second - end_of_best);
        record_counts[i + 1] = records;
    }
    const unsigned long long sums[] = {warp_sum(is_mapped), warp_sum(told), warp_sum(records),
                                       warp_sum(is_cut), warp_sum(is_short)};
    if (lane_id() == 0) {
#pragma unroll
        for (int k = 0; k < 5; ++k) {
            if (sums[k]) atomicAdd(&counts[k], sums[k]);
        }
    }
}

// Tells each record its read: lanes write those of their reads, and all of them those of a read
// with many.
extern "C" __global__ void __launch_bounds__(256)
list_reads(const long long* record_offsets, int* reads_of_records, int reads,
           long long /* records */) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long begin = 0, end = 0;
    if (i < reads) {
        begin = record_offsets[i];
        end = record_offsets[i + 1];
    }
    const bool has_many = end - begin > kWarpLanes;
    if (!has_many) {
        for (long long record = begin; record < end; ++record) reads_of_records[record] = i;
    }
    __syncwarp();
    for (unsigned left = __ballot_sync(kAllLanes, has_many); left; left &= left - 1) {
        const int lane = __ffs(left) - 1;
        const long long from = __shfl_sync(kAllLanes, begin, lane);
        const long long to = __shfl_sync(kAllLanes, end, lane);
        const int read = __shfl_sync(kAllLanes, i, lane);
        for (long long record = from + lane_id(); record < to; record += kWarpLanes) {
            reads_of_records[record] = read;
        }
    }
}

// A thread measures the line of a record: sizes[record + 1] is its number of characters.
extern "C" __global__ void __launch_bounds__(256)
measure_lines(const int* name_lengths, const int* lengths, const long long* offsets,
              const unsigned long long* hit_numbers, const long long* record_offsets,
              const int* best, const int* second, const int* reads_of_records,
              const long long* contig_offsets, const long long* name_offsets,
              const unsigned long long* planes, const unsigned long long* others,
              const long long* letter_positions, const unsigned char* letters,
              const unsigned char* mapping_qualities, long long* sizes,
              long long /* hits */, int /* reads */, long long records, int contigs,
              int /* blocks */, int listed, int /* 256 */, int has_qualities, int only_best,
              int read_group_size) {
    const long long record = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (record == 0) sizes[0] = 0;
    if (record >= records) return;
    const Reads reads = {nullptr, name_lengths, nullptr, nullptr, lengths, has_qualities != 0};
    const Hits hits = {offsets, hit_numbers, record_offsets, best,
                       second,  reads_of_records, only_best != 0};
    const Reference reference = {contig_offsets, name_offsets,     contigs, planes,
                                 others,         letter_positions, letters, listed};
    Counter counter;
    const Line line = put_line(counter, record, reads, hits, reference, mapping_qualities);
    long long size = counter.size + name_lengths[line.read] + line.contig_length;
    if (line.has_bases) {
        const int length = lengths[line.read];
        size += length + 1 + (has_qualities ? length : 1);
    }
    sizes[record + 1] = size + read_group_size + 1;
}

// Writes lines. Each lane of a warp formats the numbers of a record of its own into shared
// memory; then all lanes copy record after record. Any number of blocks of 32 kWarps threads will
// do.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
write_lines(const unsigned char* text, const int* name_starts, const int* name_lengths,
            const int* base_starts, const int* quality_starts, const int* lengths,
            const long long* offsets, const unsigned long long* hit_numbers,
            const long long* record_offsets, const int* best, const int* second,
            const int* reads_of_records, const long long* contig_offsets,
            const unsigned char* contig_names, const long long* name_offsets,
            const unsigned long long* planes, const unsigned long long* others,
            const long long* letter_positions, const unsigned char* letters,
            const unsigned char* mapping_qualities, const unsigned char* complements,
            const unsigned char* read_group, const long long* line_offsets, unsigned char* lines,
            long long /* characters of text */, long long /* hits */, int /* reads */,
            long long records, int contigs, int /* characters of contig names */, int /* blocks */,
            int listed, int /* 256 */, int read_group_size, long long /* characters of lines */,
            int has_qualities, int only_best) {
    __shared__ unsigned char parts[kWarps][kWarpLanes][kPartsText];
    const Reads reads = {name_starts,    name_lengths, base_starts,
                         quality_starts, lengths,      has_qualities != 0};
    const Hits hits = {offsets, hit_numbers, record_offsets, best,
                       second,  reads_of_records, only_best != 0};
    const Reference reference = {contig_offsets, name_offsets,     contigs, planes,
                                 others,         letter_positions, letters, listed};
    const int warp = threadIdx.x / kWarpLanes;
    const long long step = (long long)gridDim.x * kWarps * kWarpLanes;
    long long group = ((long long)blockIdx.x * kWarps + warp) * kWarpLanes;
    for (; group < records; group += step) {
        const int count = (int)min((long long)kWarpLanes, records - group);
        Line own;
        long long own_offset = 0;
        if (lane_id() < count) {
            Writer writer(parts[warp][lane_id()]);
            own = put_line(writer, group + lane_id(), reads, hits, reference, mapping_qualities);
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

            out.copy(text + name_starts[read], name_lengths[read]);
            out.copy(part, before);
            out.copy(contig_names + contig_start, contig_length);
            out.copy(part + before, middle);
            if (has_bases) {
                const int length = lengths[read];
                const unsigned char* bases = text + base_starts[read];
                if (strand) out.complement(bases, length, complements);
                else out.bases(bases, length);
                out.put('\t');
                if (!has_qualities) {
                    out.put('*');
                } else if (strand) {
                    out.copy_reversed(text + quality_starts[read], length);
                } else {
                    out.copy(text + quality_starts[read], length);
                }
            }
            out.copy(part + before + middle, tail);
            out.copy(read_group, read_group_size);
            out.put('\n');
        }
        __syncwarp();
    }
}
