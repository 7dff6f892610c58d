// Tags of a record: fields that are kept, and values of old fields. All lanes of a warp call each
// function with the same values.

#include "realign/warp_bytes.cuh"

constexpr int kHeadBytes = 3, kArrayHeadBytes = 8;

__device__ constexpr unsigned tag_name(const char (&name)[3]) {
    return (unsigned)name[0] | (unsigned)name[1] << 8;
}

// Bytes of a value by its type; 0 for types of variable size and unknown types.
__device__ inline int value_width(unsigned char type) {
    switch (type) {
        case 'A': case 'c': case 'C': return 1;
        case 's': case 'S': return 2;
        case 'i': case 'I': case 'f': return 4;
        default: return 0;
    }
}

// Returns the offset of the first NUL in [at, end); `end` if there is none.
__device__ inline long long find_nul(const unsigned char* data, long long at, long long end) {
    for (; at < end; at += kWarpLanes) {
        const bool is_nul = at + lane_id() < end && data[at + lane_id()] == 0;
        const unsigned nuls = __ballot_sync(kAllLanes, is_nul);
        if (nuls) return at + __ffs(nuls) - 1;
    }
    return end;
}

// Returns the size of the field at `at`; 0 if it is malformed or ends after `end`.
__device__ inline long long field_bytes(const unsigned char* data, long long at, long long end) {
    if (at + kHeadBytes >= end) return 0;
    const unsigned char type = data[at + 2];
    long long size = 0;
    if (type == 'Z' || type == 'H') {
        size = find_nul(data, at + kHeadBytes, end) + 1 - at;
    } else if (type == 'B') {
        if (at + kArrayHeadBytes > end) return 0;
        const unsigned char element = data[at + kHeadBytes];
        const long long count = load_i32(data, at + 4);
        const int width = value_width(element);
        if (count < 0 || width == 0 || element == 'A') return 0;
        size = kArrayHeadBytes + count * width;
    } else {
        const int width = value_width(type);
        if (width == 0) return 0;
        size = kHeadBytes + width;
    }
    return at + size <= end ? size : 0;
}

__device__ inline bool is_integer(unsigned char type) {
    return type != 'A' && type != 'f' && value_width(type) > 0;
}

// Returns the value of the well-formed integer field at `at`.
__device__ inline long long integer_value(const unsigned char* data, long long at) {
    const long long value = at + kHeadBytes;
    switch (data[at + 2]) {
        case 'c': return (signed char)data[value];
        case 'C': return data[value];
        case 's': return (short)load_u16(data, value);
        case 'S': return load_u16(data, value);
        case 'i': return load_i32(data, value);
        default: return load_u32(data, value);
    }
}

// The tags of a record: two parts, because the tag that holds a long CIGAR is none of them.
struct Tags {
    const unsigned char* data;
    long long starts[2], ends[2];
};

// Offsets of the first fields NM and OA; -1 for none.
struct OldFields {
    long long nm = -1, oa = -1, oa_size = 0;
};

// Copies the fields that `is_kept` accepts by their names, and finds those of the old alignment.
// Fields that follow each other are copied at once.
template <bool kWrites, typename IsKept>
__device__ inline OldFields copy_fields(WarpBytes<kWrites>& out, const Tags& tags,
                                        const IsKept& is_kept) {
    OldFields old;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
        const long long end = tags.ends[part];
        long long at = tags.starts[part], copied = at;
        while (at < end) {
            const long long size = field_bytes(tags.data, at, end);
            if (size == 0) break;  // the reader refuses such records
            const unsigned name = load_u16(tags.data, at);
            if (name == tag_name("NM") && old.nm < 0) old.nm = at;
            if (name == tag_name("OA") && old.oa < 0) {
                old.oa = at;
                old.oa_size = size;
            }
            if (!is_kept(name)) {
                out.copy(tags.data + copied, at - copied);
                copied = at + size;
            }
            at += size;
        }
        out.copy(tags.data + copied, at - copied);
    }
    return old;
}

// Writes an integer field of the smallest type that holds the value, as samtools does.
template <bool kWrites>
__device__ inline void put_integer(WarpBytes<kWrites>& out, const char (&name)[3],
                                   long long value) {
    out.text(name);
    if (value < -128) {
        out.put(value < -32768 ? 'i' : 's');
    } else if (value < 256) {
        out.put(value < 0 ? 'c' : 'C');
    } else {
        out.put(value < 65536 ? 'S' : 'I');
    }
    const int width = value < -32768 || value >= 65536 ? 4 : value < -128 || value >= 256 ? 2 : 1;
    for (int k = 0; k < width; ++k) out.put((unsigned char)(value >> 8 * k));
}

// Writes the value of the field OA if it is a text, without its NUL.
template <bool kWrites>
__device__ inline void put_old_entries(WarpBytes<kWrites>& out, const Tags& tags,
                                       const OldFields& old) {
    if (old.oa < 0 || tags.data[old.oa + 2] != 'Z') return;
    out.copy(tags.data + old.oa + kHeadBytes, old.oa_size - kHeadBytes - 1);
}

// Writes the value of the field NM if it is an integer.
template <bool kWrites>
__device__ inline void put_old_distance(WarpBytes<kWrites>& out, const Tags& tags,
                                        const OldFields& old) {
    if (old.nm < 0 || !is_integer(tags.data[old.nm + 2])) return;
    out.signed_number(integer_value(tags.data, old.nm));
}
