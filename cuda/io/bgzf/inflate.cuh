// Raw DEFLATE of one BGZF block by a warp: all lanes decode the same symbols and share the copying.

#include "io/bgzf/huffman.cuh"

// Where the bytes of a block go. Literals wait in the lanes until every lane has one, or until a
// match needs them.
struct Output {
    u8* out;
    u32 size;
    int lane;
    u32 at = 0;  // bytes written, without those that wait
    int waiting = 0;
    u8 mine = 0;

    __device__ inline Output(u8* out, u32 size, int lane) : out(out), size(size), lane(lane) {}
    __device__ inline bool flush() {
        if (at + waiting > size) return false;
        if (lane < waiting) out[at + lane] = mine;
        at += waiting;
        waiting = 0;
        return true;
    }
    // At most as many literals as lanes may wait; `flush` checks that there is room for them.
    __device__ inline void put(u32 letter) {
        if (kLanes == 1) {
            if (at < size) out[at] = (u8)letter;
            ++at;
        } else {
            if (lane == waiting) mine = (u8)letter;
            ++waiting;
        }
    }
    // Both copies need that nothing waits.
    __device__ inline bool copy(const u8* from, u32 length) {
        if (length > size - at) return false;
        for (u32 k = lane; k < length; k += kLanes) out[at + k] = from[k];
        at += length;
        __syncwarp();
        return true;
    }
    __device__ inline bool repeat(u32 distance, u32 length) {
        if (distance > at || length > size - at) return false;
        __syncwarp();
        const u8* from = out + at - distance;
        if (distance >= length) {
            for (u32 k = lane; k < length; k += kLanes) out[at + k] = from[k];
        } else {
            // Byte k is byte k % distance. Runs of one byte are frequent, and division is slow.
            const u32 step = distance == 1 ? 0 : kLanes % distance;
            u32 source = distance == 1 ? 0 : lane % distance;
            for (u32 k = lane; k < length; k += kLanes) {
                out[at + k] = from[source];
                source += step;
                if (source >= distance) source -= distance;
            }
        }
        at += length;
        __syncwarp();
        return true;
    }
};

__device__ inline bool stored(Bits& in, Output& output) {
    in.drop(in.count & 7);
    in.fill();
    const u32 length = in.take(16), check = in.take(16);
    const u8* from = in.position();
    if ((length ^ check) != 0xffff || from > in.stop || length > in.stop - from) return false;
    if (!output.copy(from, length)) return false;
    in = Bits(from + length, (u32)(in.stop - (from + length)));
    return true;
}

__device__ inline void fixed_lengths(Tables& t, int lane) {
    for (int k = lane; k < kLiterals; k += kLanes) {
        t.lengths[k] = k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8;
    }
    for (int k = lane; k < kDistances; k += kLanes) t.lengths[kLiterals + k] = 5;
    __syncwarp();
}

// The symbol whose length comes k-th among the lengths of the code of lengths:
// 16 17 18 0 8 7 9 6 10 5 11 4, and 12 3 13 2 14 1 15, in five bits each. An array would be in memory.
__device__ inline int length_symbol(int k) {
    const u64 numbers = k < 12 ? 0x22caa324e804a30ull : 0x3c2e1346cull;
    return (int)(numbers >> (5 * (k < 12 ? k : k - 12)) & 31);
}

__device__ inline bool length_code(Bits& in, Tables& t, int count, int lane) {
    for (int k = lane; k < kLengthSymbols; k += kLanes) t.lengths[k] = 0;
    __syncwarp();
    for (int k = 0; k < count; ++k) {
        in.fill();
        const u32 length = in.take(3);
        if (lane == 0) t.lengths[length_symbol(k)] = (u8)length;
    }
    __syncwarp();
    return build(t.lengths, kLengthSymbols, kLengthBits, kComplete, t.length, t.literal_sorted,
                 t.literal_code, lane);
}

// The lengths of both codes of a block, behind each other.
__device__ inline bool dynamic_lengths(
    Bits& in, Tables& t, int& literals, int& distances, int lane
) {
    in.fill();
    literals = (int)in.take(5) + 257;
    distances = (int)in.take(5) + 1;
    const int count = (int)in.take(4) + 4;
    if (literals > 286 || distances > 30 || !length_code(in, t, count, lane)) return false;
    int previous = 0;
    for (int k = 0; k < literals + distances;) {
        in.fill();
        const int symbol = next_symbol(in, t.length, kLengthBits, t.literal_code, t.literal_sorted);
        if (symbol < 0 || (symbol == 16 && k == 0) || in.is_far_past_end()) return false;
        int times = 1;
        if (symbol < 16) {
            previous = symbol;
        } else if (symbol == 16) {
            times = 3 + (int)in.take(2);
        } else {
            previous = 0;
            times = symbol == 17 ? 3 + (int)in.take(3) : 11 + (int)in.take(7);
        }
        if (k + times > literals + distances) return false;
        for (int j = lane; j < times; j += kLanes) t.lengths[k + j] = (u8)previous;
        k += times;
    }
    __syncwarp();
    return t.lengths[256] != 0;  // without an end of the block, no decoder takes it
}

__device__ inline bool build_tables(Bits& in, Tables& t, bool is_fixed, int lane) {
    int literals = kLiterals, distances = kDistances;
    if (is_fixed) fixed_lengths(t, lane);
    else if (!dynamic_lengths(in, t, literals, distances, lane)) return false;
    return build(t.lengths, literals, kLiteralBits, kMayBeSingle, t.literal, t.literal_sorted,
                 t.literal_code, lane)
        && build(t.lengths + literals, distances, kDistanceBits, kMayBeSingle, t.distance,
                 t.distance_sorted, t.distance_code, lane);
}

// Bytes of a match. The base and the extra bits are computed: a table would be in memory.
__device__ inline u32 match_length(Bits& in, int symbol) {
    const u32 k = (u32)symbol - 257;
    if (k < 8) return 3 + k;
    if (k == 28) return 258;
    const int extra = (int)(k >> 2) - 1;
    return ((4 + (k & 3)) << extra) + 3 + in.take(extra);
}

__device__ inline u32 match_distance(Bits& in, int symbol) {
    const u32 k = (u32)symbol;
    if (k < 4) return 1 + k;
    const int extra = (int)(k >> 1) - 1;
    return ((2 + (k & 1)) << extra) + 1 + in.take(extra);
}

// Take a symbol whose entry is a literal; return the next entry.
__device__ inline u32 take_literal(Bits& in, Output& output, const Tables& t, u32 entry) {
    in.drop((int)(entry & 15));
    output.put(entry >> 4);
    return entry_of(in, t.literal, kLiteralBits);
}

// The symbol behind at most two literals; -1 if the bits are no code, kLiteral for a third literal.
// Most symbols are literals, so they are not asked for room and bits one by one: the reader has 33
// bits after `fill`, 23 after a literal of the table, enough for any code with its extra bits, and
// 13 after two, enough for an entry.
constexpr int kAtOnce = 3, kLiteral = 0;

__device__ inline int symbol_behind_literals(Bits& in, Output& output, const Tables& t) {
    in.fill();
    u32 entry = entry_of(in, t.literal, kLiteralBits);
    if (is_literal(entry)) {
        entry = take_literal(in, output, t, entry);
        if (is_literal(entry)) {
            entry = take_literal(in, output, t, entry);
            if (is_literal(entry)) {
                in.drop((int)(entry & 15));
                output.put(entry >> 4);
                return kLiteral;
            }
            in.fill();
        }
    }
    const int symbol =
        taken_symbol(in, entry, kLiteralBits, t.literal_code, t.literal_sorted);
    if (symbol < 0 || symbol >= 256) return symbol;
    output.put((u32)symbol);
    return kLiteral;
}

__device__ inline bool compressed(Bits& in, Output& output, Tables& t, int lane) {
    for (;;) {
        if (output.waiting > kLanes - kAtOnce && !output.flush()) return false;
        const int symbol = symbol_behind_literals(in, output, t);
        if (symbol == kLiteral) continue;
        if (symbol < 0 || !output.flush()) return false;
        if (symbol == 256) return true;
        if (symbol > 285) return false;
        const u32 length = match_length(in, symbol);
        in.fill();
        const int code =
            next_symbol(in, t.distance, kDistanceBits, t.distance_code, t.distance_sorted);
        if (code < 0 || code > 29) return false;
        if (!output.repeat(match_distance(in, code), length) || in.is_far_past_end()) return false;
    }
}

// Whether a stream of `packed` bytes inflates to exactly `size` bytes, which are written to `out`.
// Reads up to 7 bytes behind the stream; writes nothing else than out[0] to out[size - 1].
__device__ inline bool inflate(
    const u8* data, u32 packed, u8* out, u32 size, Tables& t, int lane
) {
    Bits in(data, packed);
    Output output(out, size, lane);
    for (bool is_last = false; !is_last;) {
        in.fill();
        is_last = in.take(1);
        const u32 kind = in.take(2);
        if (kind == 3) return false;
        if (kind == 0) {
            if (!stored(in, output)) return false;
        } else {
            __syncwarp();  // all lanes are done with the tables of the block before
            if (!build_tables(in, t, kind == 1, lane)) return false;
            if (!compressed(in, output, t, lane)) return false;
        }
        if (in.is_past_end()) return false;
    }
    return output.at == size;
}
