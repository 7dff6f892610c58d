// Finished BAM records of new alignments: the same bytes as hapgpu/realign/records/build.py and
// hapgpu/io/bam/encode.py.

#include "common/rows.cuh"
#include "io/bam/records.cuh"
#include "realign/tags.cuh"

namespace {

constexpr int kThreads = 128, kMinBlocks = 4;

constexpr int kFixedBytes = 36;  // before the name
constexpr long long kMaxOperations = 65535;
constexpr unsigned kSoftClip = 4, kSkip = 3, kReferenceOperations = 0x18d;
constexpr unsigned kProperPair = 0x2, kUnmapped = 0x4, kMateUnmapped = 0x8, kReverse = 0x10,
                   kMateReverse = 0x20, kSecondary = 0x100, kSupplementary = 0x800;
constexpr unsigned kMissingQuality = 255, kUnknownMappingQuality = 255;

// Columns of NewAlignments of hapgpu/realign/records/build.py.
struct NewAlignments {
    const long long* rows;
    const unsigned char* mapped;
    const unsigned char* kept;
    const int* reference_ids;
    const int* positions;
    Rows<unsigned> cigars;
    const unsigned char* is_reversed;
    const unsigned char* is_secondary;
    const int* scores;
    const int* second_scores;
    const unsigned char* has_second_score;
    const int* edit_distances;
    Rows<unsigned char> mismatches;
    int count;
};

// The parts of a record as read.
struct Source {
    const unsigned char* data;
    long long start;
    int name_length, bases;
    Cigar cigar;
    Tags tags;

    __device__ Source(const Records& records, long long row)
        : data(records.data),
          start(records.starts[row]),
          name_length(records.name_lengths[row]),
          bases(records.base_counts[row]) {
        const long long cigar_start = records.cigar_starts[row];
        const int operations = records.cigar_lengths[row];
        cigar = {data + cigar_start, operations};
        // A long CIGAR is in the tag CG: 8 bytes and the operations.
        const long long tag_start = records.tag_starts[row], long_cigar = records.long_cigars[row];
        const int tag_length = records.tag_lengths[row];
        const long long long_end = cigar_start + 4ll * operations;
        tags.data = data;
        tags.starts[0] = tag_start;
        tags.ends[0] = long_cigar < 0 ? tag_start + tag_length : long_cigar;
        tags.starts[1] = long_end;
        tags.ends[1] = long_end + (long_cigar < 0 ? 0 : tag_length - (long_cigar - tag_start));
    }
    __device__ int reference_id() const { return load_i32(data, start + 4); }
    __device__ int position() const { return load_i32(data, start + 8); }
    __device__ unsigned mapping_quality() const { return data[start + 13]; }
    __device__ unsigned flags() const { return load_u16(data, start + 18); }
    __device__ const unsigned char* name() const { return data + start + kFixedBytes; }
    __device__ const unsigned char* qualities() const { return data + tags.starts[0] - bases; }
    __device__ const unsigned char* packed_bases() const {
        return qualities() - (bases + 1ll) / 2;
    }
};

// Tags of a new alignment.
struct NewTags {
    int score, second_score, edit_distance;
    bool has_second_score;
    const unsigned char* mismatches;
    long long mismatches_length;

    __device__ NewTags(const NewAlignments& alignments, int row)
        : score(alignments.scores[row]),
          second_score(alignments.second_scores[row]),
          edit_distance(alignments.edit_distances[row]),
          has_second_score(alignments.has_second_score[row]),
          mismatches(alignments.mismatches.at(row)),
          mismatches_length(alignments.mismatches.size(row)) {}
};

__device__ inline unsigned new_flags(unsigned flags, bool mapped, bool kept, bool is_reversed,
                                     bool is_secondary) {
    const unsigned own = flags & ~(kProperPair | kMateUnmapped | kMateReverse);
    const unsigned secondary = is_secondary ? kSecondary : 0;
    if (mapped) return ((own & ~kUnmapped) ^ (is_reversed ? kReverse : 0)) | secondary;
    if (kept) return own | secondary;
    return (own | kUnmapped) & ~(kSecondary | kSupplementary);
}

__device__ inline unsigned new_mapping_quality(const Source& source, bool mapped, bool kept) {
    if (mapped && source.flags() & kUnmapped) return kUnknownMappingQuality;
    return mapped || kept ? source.mapping_quality() : 0;
}

// The fields of a new record that differ from the record as read.
struct NewRecord {
    bool mapped, kept, is_reversed;
    int reference_id, position;
    unsigned flags, mapping_quality;
    Cigar cigar;

    __device__ NewRecord(const NewAlignments& alignments, int row, const Source& source)
        : mapped(alignments.mapped[row]),
          kept(alignments.kept[row]),
          is_reversed(mapped && alignments.is_reversed[row]),
          reference_id(-1),
          position(-1),
          cigar(source.cigar) {
        if (mapped) {
            reference_id = alignments.reference_ids[row];
            position = alignments.positions[row];
        } else if (kept) {
            reference_id = source.reference_id();
            position = source.position();
        }
        const bool is_secondary = alignments.is_secondary[row];
        flags = new_flags(source.flags(), mapped, kept, is_reversed, is_secondary);
        mapping_quality = new_mapping_quality(source, mapped, kept);
        if (!kept) {
            const unsigned* elements = alignments.cigars.at(row);
            cigar = {(const unsigned char*)elements, alignments.cigars.size(row)};
        }
    }
};

__device__ inline long long reference_span(const Cigar& cigar) {
    long long span = 0;
    for (long long k = lane_id(); k < cigar.count; k += kWarpLanes) {
        const unsigned element = cigar.element(k);
        if (kReferenceOperations >> (element & 15) & 1) span += element >> 4;
    }
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        span += __shfl_xor_sync(kAllLanes, span, distance);
    }
    return span;
}

// Returns the smallest bin of the BAI tree that contains an interval.
__device__ inline unsigned bin_of(long long start, long long end) {
    const long long last = end - 1;
    if (start >> 14 == last >> 14) return (unsigned)(4681 + (start >> 14));
    if (start >> 17 == last >> 17) return (unsigned)(585 + (start >> 17));
    if (start >> 20 == last >> 20) return (unsigned)(73 + (start >> 20));
    if (start >> 23 == last >> 23) return (unsigned)(9 + (start >> 23));
    if (start >> 26 == last >> 26) return (unsigned)(1 + (start >> 26));
    return 0;
}

// Fields that a record keeps: none about mates, none about its old alignment if that changed.
struct IsKept {
    bool changed, has_original;

    __device__ bool operator()(unsigned name) const {
        if (name == tag_name("SA") || name == tag_name("MC") || name == tag_name("MQ") ||
            name == tag_name("ms")) {
            return false;
        }
        if (changed && (name == tag_name("AS") || name == tag_name("XS") ||
                        name == tag_name("NM") || name == tag_name("MD"))) {
            return false;
        }
        return !(has_original && (name == tag_name("OC") || name == tag_name("OP") ||
                                  name == tag_name("OA")));
    }
};

template <bool kWrites>
__device__ inline void put_original(WarpBytes<kWrites>& out, const Source& source,
                                    const OldFields& old, const Rows<unsigned char>& contigs) {
    const unsigned position = (unsigned)source.position() + 1;
    out.text("OCZ");
    out.cigar_text(source.cigar);
    out.put(0);
    put_integer(out, "OP", position);
    out.text("OAZ");
    put_old_entries(out, source.tags, old);
    out.copy(contigs.at(source.reference_id()), contigs.size(source.reference_id()));
    out.put(',');
    out.number(position);
    out.put(',');
    out.put(source.flags() & kReverse ? '-' : '+');
    out.put(',');
    out.cigar_text(source.cigar);
    out.put(',');
    out.number(source.mapping_quality());
    out.put(',');
    put_old_distance(out, source.tags, old);
    out.put(';');
    out.put(0);
}

template <bool kWrites>
__device__ inline void put_tags(WarpBytes<kWrites>& out, const Source& source,
                                const NewRecord& record, const NewTags& tags,
                                const Rows<unsigned char>& contigs) {
    const bool was_mapped = !(source.flags() & kUnmapped) && source.reference_id() >= 0 &&
                            source.reference_id() < contigs.count && source.position() >= 0;
    const IsKept is_kept = {!record.kept, !record.kept && was_mapped};
    const OldFields old = copy_fields(out, source.tags, is_kept);
    if (record.kept) return;
    if (record.mapped) {
        put_integer(out, "AS", tags.score);
        if (tags.has_second_score) put_integer(out, "XS", tags.second_score);
        if (tags.mismatches_length > 0) {
            put_integer(out, "NM", tags.edit_distance);
            out.text("MDZ");
            out.copy(tags.mismatches, tags.mismatches_length);
            out.put(0);
        }
    }
    if (was_mapped) put_original(out, source, old, contigs);
}

// Writes all after the fixed fields. `span`, the reference bases of the CIGAR, is only written.
template <bool kWrites>
__device__ inline void put_parts(WarpBytes<kWrites>& out, const Source& source,
                                 const NewRecord& record, const NewTags& tags,
                                 const Rows<unsigned char>& contigs, long long span) {
    if (source.name_length == 0) out.put('*');
    out.copy(source.name(), source.name_length);
    out.put(0);
    const bool is_long = record.cigar.count > kMaxOperations;
    if (is_long) {
        out.word((unsigned)source.bases << 4 | kSoftClip);
        out.word((unsigned)span << 4 | kSkip);
    } else {
        out.copy(record.cigar.bytes, 4 * record.cigar.count);
    }
    const bool is_missing = source.bases > 0 && source.qualities()[0] == kMissingQuality;
    if (record.is_reversed) {
        out.complement(source.packed_bases(), source.bases);
    } else {
        out.bases(source.packed_bases(), source.bases);
    }
    if (is_missing) {
        out.fill(kMissingQuality, source.bases);
    } else if (record.is_reversed) {
        out.copy_reversed(source.qualities(), source.bases);
    } else {
        out.copy(source.qualities(), source.bases);
    }
    put_tags(out, source, record, tags, contigs);
    if (is_long) {
        out.text("CGBI");
        out.word((unsigned)record.cigar.count);
        out.copy(record.cigar.bytes, 4 * record.cigar.count);
    }
}

__device__ inline void put_fixed(WarpBytes<true>& out, const Source& source,
                                 const NewRecord& record, long long size, long long span) {
    const unsigned name_bytes = (unsigned)max(source.name_length, 1) + 1;
    const long long covered = record.flags & kUnmapped ? 1 : max(span, 1ll);
    const unsigned bin = bin_of(record.position, record.position + covered) & 0xffff;
    const unsigned operations = record.cigar.count > kMaxOperations ? 2 : record.cigar.count;
    out.word((unsigned)size - 4);
    out.word((unsigned)record.reference_id);
    out.word((unsigned)record.position);
    out.word(name_bytes | record.mapping_quality << 8 | bin << 16);
    out.word(operations | record.flags << 16);
    out.word((unsigned)source.bases);
    out.word(~0u);  // no mate: contig, position, template length
    out.word(~0u);
    out.word(0);
}

}  // namespace

// A warp per record. Measures records if not kWrites: offsets[i + 1] becomes the size of record i,
// and `first_bad` the first record whose contig is not one of `references`. Else writes record i
// at offsets[i]. Works with any number of thread blocks.
template <bool kWrites>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
finish_records(Records records, NewAlignments alignments, Rows<unsigned char> contigs,
               int references, long long* offsets, unsigned char* out, int* first_bad) {
    const int warps = gridDim.x * (kThreads / kWarpLanes);
    int i = (int)((blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes);
    if (!kWrites && i == 0 && lane_id() == 0) offsets[0] = 0;
    for (; i < alignments.count; i += warps) {
        const Source source(records, alignments.rows[i]);
        const NewRecord record(alignments, i, source);
        const NewTags tags(alignments, i);
        if constexpr (kWrites) {
            const long long span = reference_span(record.cigar);
            WarpBytes<true> bytes = {out + offsets[i], 0};
            put_fixed(bytes, source, record, offsets[i + 1] - offsets[i], span);
            put_parts(bytes, source, record, tags, contigs, span);
        } else {
            WarpBytes<false> bytes = {nullptr, kFixedBytes};
            put_parts(bytes, source, record, tags, contigs, 0);
            if (lane_id() == 0) {
                offsets[i + 1] = bytes.at;
                const bool is_listed = record.reference_id >= -1 &&
                                       record.reference_id < references;
                if (!is_listed) atomicMin(first_bad, i);
            }
        }
    }
}
