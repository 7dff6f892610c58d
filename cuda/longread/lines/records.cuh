// Lines of PAF and records of SAM for counters and writers of a warp.

#include "longread/lines/batches.cuh"

constexpr int kPieceBytes = 4096;  // of bases or qualities, which a warp copies

__device__ inline long long edit_distance(const Mapping& mapping) {
    return (long long)mapping.length - mapping.matches + mapping.ambiguous;
}

__device__ inline double divergence(const Mapping& mapping) {
    const long long columns =
        (long long)mapping.length + mapping.ambiguous - mapping.gap_bases + mapping.gaps;
    return 1.0 - (double)mapping.matches / (double)columns;
}

template <typename Out>
__device__ inline void put_name(Out& out, const LineBlock& block, long long read) {
    out.copy(block.text + block.spans.name_starts[read], block.spans.name_lengths[read]);
}

template <typename Out>
__device__ inline void put_target_name(Out& out, const LineBlock& block, int sequence) {
    const LineTarget& target = block.targets[sequence];
    out.copy(block.names + target.name, target.name_length);
}

template <typename Out>
__device__ inline void put_column(Out& out, long long value) {
    out.put('\t');
    out.number((unsigned long long)value);
}

template <typename Out>
__device__ inline void put_clip(Out& out, long long length, unsigned operation) {
    if (length == 0) return;
    out.number((unsigned)length);
    out.put(operation_letter(operation));
}

// Writes an operation of the tag CG, if it has bases.
template <typename Out>
__device__ inline void put_clip_element(Out& out, long long length, unsigned operation) {
    if (length == 0) return;
    out.put(',');
    out.number((unsigned long long)(length << 4 | operation));
}

// Writes a tab and the comment of a read, which is between its name and the end of the line.
template <typename Out>
__device__ inline void put_comment(Out& out, const LineBlock& block, long long read) {
    const long long name_end =
        (long long)block.spans.name_starts[read] + block.spans.name_lengths[read];
    long long end = name_end;
    for (unsigned ends = 0; ends == 0;) {
        const long long at = end + lane_id();
        ends = __ballot_sync(kAllLanes, at >= block.text_size || block.text[at] == '\n');
        end += ends ? __ffs(ends) - 1 : kWarpLanes;
    }
    end -= end > name_end && block.text[end - 1] == '\r';
    const long long start = min(name_end + 1, end);
    if (start == end) return;
    out.put('\t');
    out.copy(block.text + start, end - start);
}

template <typename Out>
__device__ inline void put_last(Out& out, const LineBlock& block, const LineForm& form,
                                long long read) {
    if (form.has_comments) put_comment(out, block, read);
    out.put('\n');
}

// Writes the tags from NM to zd.
template <typename Out>
__device__ inline void put_tags(Out& out, const Mapping& mapping) {
    const bool primary = is_primary(mapping);
    if (mapping.operations) {
        put_tag(out, "\tNM:i:", edit_distance(mapping));
        put_tag(out, "\tms:i:", mapping.first_dp_max);
        put_tag(out, "\tAS:i:", mapping.dp_score);
        put_tag(out, "\tnn:i:", mapping.ambiguous);
    }
    put_text(out, "\ttp:A:");
    out.put(mapping.is_inversion ? (primary ? 'I' : 'i') : (primary ? 'P' : 'S'));
    put_tag(out, "\tcm:i:", mapping.anchors);
    put_tag(out, "\ts1:i:", mapping.score);
    if (primary) put_tag(out, "\ts2:i:", mapping.second_score);
    if (mapping.operations) {
        put_text(out, "\tde:f:");
        put_four_decimals(out, divergence(mapping));
    }
    if (mapping.split) put_tag(out, "\tzd:i:", mapping.split);
}

// Writes the tag of a difference; another kernel writes the operations.
template <typename Out>
__device__ inline void put_difference(Out& out, const LineForm& form, const Mapping& mapping,
                                      Slot& slot) {
    if (mapping.operations == 0 || form.difference == kNoTag) return;
    if (form.difference == kTagMd) {
        put_text(out, "\tMD:Z:");
    } else if (form.difference == kTagDs) {
        put_text(out, "\tds:Z:");
    } else {
        put_text(out, "\tcs:Z:");
    }
    slot.differences = out.size;
    out.skip(slot.difference_bytes);
    if (slot.run) out.number((unsigned)slot.run);
}

template <typename Out>
__device__ inline void put_operations(Out& out, Slot& slot) {
    slot.operations = out.size;
    out.skip(slot.operation_bytes);
}

template <typename Out>
__device__ inline void put_paf(Out& out, const LineBlock& block, const LineForm& form, Slot& slot,
                               const Mapping& mapping) {
    put_name(out, block, slot.read);
    put_column(out, block.spans.lengths[slot.read]);
    put_column(out, mapping.query_start);
    put_column(out, mapping.query_end);
    out.put('\t');
    out.put(mapping.is_reverse ? '-' : '+');
    out.put('\t');
    put_target_name(out, block, mapping.sequence);
    put_column(out, block.targets[mapping.sequence].length);
    put_column(out, mapping.target_start);
    put_column(out, mapping.target_end);
    put_column(out, mapping.matches);
    put_column(out, mapping.length);
    put_column(out, mapping.quality);
    put_tags(out, mapping);
    put_tag(out, "\trl:i:", block.repeats[slot.read]);
    if (form.has_cigar && mapping.operations) {
        put_text(out, "\tcg:Z:");
        put_operations(out, slot);
    }
    put_difference(out, form, mapping, slot);
    put_last(out, block, form, slot.read);
}

// Writes SEQ, a tab and QUAL; another kernel copies the bases. Returns the number of bases.
template <typename Out>
__device__ inline long long put_sequence(Out& out, const LineBlock& block, Slot& slot,
                                         long long length) {
    slot.bases = out.size;
    if (length == 0) {
        put_text(out, "*\t*");
        return 0;
    }
    out.skip(length);
    out.put('\t');
    if (block.has_qualities) {
        out.skip(length);
    } else {
        out.put('*');
    }
    return length;
}

// Writes a mapping as an item of SA.
template <typename Out>
__device__ inline void put_place(Out& out, const LineBlock& block, const Mapping& mapping,
                                 int length) {
    const long long query = (long long)mapping.query_end - mapping.query_start;
    const long long target = (long long)mapping.target_end - mapping.target_start;
    const long long start = mapping.query_start, rest = (long long)length - mapping.query_end;
    put_target_name(out, block, mapping.sequence);
    out.put(',');
    out.number((unsigned)mapping.target_start + 1);
    out.put(',');
    out.put(mapping.is_reverse ? '-' : '+');
    out.put(',');
    put_clip(out, mapping.is_reverse ? rest : start, kS);
    out.number((unsigned)min(query, target));
    out.put('M');
    if (query > target) put_clip(out, query - target, kI);
    if (query < target) put_clip(out, target - query, kD);
    put_clip(out, mapping.is_reverse ? start : rest, kS);
    out.put(',');
    out.number((unsigned)mapping.quality);
    out.put(',');
    out.number((unsigned)edit_distance(mapping));
    out.put(';');
}

// Writes the tag SA: the other primary mappings of the read, each by a lane.
template <typename Out>
__device__ inline void put_other_places(Out& out, const LineBlock& block, long long read,
                                        long long row) {
    const long long start = block.offsets[read], end = block.offsets[read + 1];
    const int length = block.spans.lengths[read];
    bool has_any = false;
    for (long long first = start; first < end; first += kWarpLanes) {
        const long long other = min(first + lane_id(), end - 1);
        const Mapping& mapping = block.mappings[other];
        const bool is_place = first + lane_id() < end && other != row && is_primary(mapping) &&
                              mapping.operations;
        Counter counter;
        if (is_place) put_place(counter, block, mapping, length);
        long long total;
        const long long before = sum_before(counter.size, total);
        if (total == 0) continue;
        if (!has_any) put_text(out, "\tSA:Z:");
        has_any = true;
        if constexpr (Out::kWrites) {
            Writer writer{out.text + out.size + before};
            if (is_place) put_place(writer, block, mapping, length);
        }
        out.skip(total);
    }
}

// Writes CIGAR; one that is moved to the tag CG is replaced by its lengths.
template <typename Out>
__device__ inline void put_cigar(Out& out, const Mapping& mapping, const Parts& parts, Slot& slot,
                                 bool moved) {
    if (mapping.operations == 0) return out.put('*');
    if (moved) {
        out.number((unsigned)parts.length);
        out.put('S');
        out.number((unsigned)(mapping.target_end - mapping.target_start));
        return out.put('N');
    }
    put_clip(out, parts.before, parts.clip);
    put_operations(out, slot);
    put_clip(out, parts.after, parts.clip);
}

template <typename Out>
__device__ inline long long put_sam(Out& out, const LineBlock& block, const LineForm& form,
                                    Slot& slot, const Mapping& mapping, long long row) {
    const int length = block.spans.lengths[slot.read];
    const Parts parts = parts_of(mapping, length, form);
    const bool moved = is_moved(mapping, length, form);
    put_name(out, block, slot.read);
    put_column(out, parts.flag);
    out.put('\t');
    put_target_name(out, block, mapping.sequence);
    put_column(out, (long long)mapping.target_start + 1);
    put_column(out, mapping.quality);
    out.put('\t');
    put_cigar(out, mapping, parts, slot, moved);
    put_text(out, "\t*\t0\t0\t");
    const long long bases = put_sequence(out, block, slot, parts.length);
    out.copy(form.read_group, form.read_group_size);
    put_tags(out, mapping);
    if (is_primary(mapping) && mapping.operations) put_other_places(out, block, slot.read, row);
    put_difference(out, form, mapping, slot);
    if (moved) {
        put_text(out, "\tCG:B:I");
        put_clip_element(out, parts.before, parts.clip);
        put_operations(out, slot);
        put_clip_element(out, parts.after, parts.clip);
    }
    put_tag(out, "\trl:i:", block.repeats[slot.read]);
    put_last(out, block, form, slot.read);
    return bases;
}

// Writes the line of a mapping. Returns the number of bases that another kernel copies.
template <typename Out>
__device__ inline long long put_line(Out& out, const LineBlock& block, const LineForm& form,
                                     Slot& slot, long long row) {
    const Mapping& mapping = block.mappings[row];
    if (form.is_sam) return put_sam(out, block, form, slot, mapping, row);
    put_paf(out, block, form, slot, mapping);
    return 0;
}

// Writes the line of a read without mappings. Returns the number of bases that another kernel
// copies.
template <typename Out>
__device__ inline long long put_unmapped(Out& out, const LineBlock& block, const LineForm& form,
                                         Slot& slot) {
    const int length = block.spans.lengths[slot.read];
    long long bases = 0;
    put_name(out, block, slot.read);
    if (form.is_sam) {
        put_text(out, "\t4\t*\t0\t0\t*\t*\t0\t0\t");
        bases = put_sequence(out, block, slot, length);
        out.copy(form.read_group, form.read_group_size);
        put_tag(out, "\trl:i:", block.repeats[slot.read]);
        put_last(out, block, form, slot.read);
    } else {
        put_column(out, length);
        put_text(out, "\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0");
        put_tag(out, "\trl:i:", block.repeats[slot.read]);
        out.put('\n');
    }
    return bases;
}
