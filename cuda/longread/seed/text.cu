// Minimizers if each base is a slot: without homopolymer compression and with odd k, so that no
// k-mer is its own reverse complement.
//
// Away from the start of the sequence and from ambiguous bases, a k-mer is a minimizer if and only
// if it is a smallest of some w consecutive k-mers. Other tiles follow minimap2 slot by slot.

#include "longread/seed/windows.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kWordBases = 16;
constexpr int kMarkWords = kTileSlots / kWarpLanes;  // of a tile
constexpr int kMaxEntries = kTileSlots + 2 * kWidestWindow;
// Two words hold the start of a k-mer.
constexpr int kMaxWords = 2 + (kMaxEntries + 2 * kWordBases - 1) / kWordBases;
constexpr int kWidestFast = 63;  // windows of more slots take the slow way
constexpr int kMaxHashes = kTileSlots + 2 * kWidestFast;
constexpr int kMaxShortKmer = 15;  // longest k-mer whose hash fits a word of 32 bits

// Text with loads of words that may start at any byte; bytes outside of it are 0.
struct Text {
    const unsigned char* bytes;
    long long size;

    __device__ unsigned aligned_word(long long at) const {
        if (at >= 0 && at + 4 <= size) return *(const unsigned*)(bytes + at);
        unsigned word = 0;
        for (int k = 0; k < 4; ++k) {
            if (at + k >= 0 && at + k < size) word |= (unsigned)bytes[at + k] << 8 * k;
        }
        return word;
    }

    __device__ int misalignment(long long at) const {
        return (int)(((unsigned long long)bytes + at) & 3);
    }
};

// Codes of four bases in the four bytes of a word.
__device__ inline unsigned base_codes(unsigned letters) {
    return (letters >> 1 & 0x03030303) ^ (letters >> 2 & 0x01010101);
}

// Nonzero bytes where letters are not those of the codes: A, C, G, T or U of either case.
__device__ inline unsigned wrong_letters(unsigned letters, unsigned codes) {
    const unsigned selector = __byte_perm(codes | codes >> 4, 0, 0x4420);
    const unsigned expected = __byte_perm(0x54474341, 0, selector);  // "ACGT"
    const unsigned differences = (letters & 0xdfdfdfdf) ^ expected;
    return differences & ~(codes & codes >> 1 & 0x01010101);  // U differs from T in this bit
}

// The codes in 8 bits, the first base in the highest.
__device__ inline unsigned packed_codes(unsigned codes) { return codes * 0x40100401u >> 24; }

// Both strands of a k-mer.
template <typename Hash>
struct Strands {
    Hash forward, reverse;

    __device__ bool is_reverse() const { return forward > reverse; }
    __device__ Hash smaller() const { return min(forward, reverse); }
};

__device__ inline unsigned reversed_bits(unsigned bits) { return __brev(bits); }
__device__ inline Entry reversed_bits(Entry bits) { return __brevll(bits); }

template <typename Hash>
__device__ inline Strands<Hash> strands_of(Hash bases, int k) {
    constexpr int kBits = 8 * sizeof(Hash);
    constexpr Hash kEven = (Hash)0x5555555555555555;
    const Hash forward = bases & (((Hash)1 << 2 * k) - 1);
    const Hash mirrored = reversed_bits((Hash)~forward);
    const Hash reverse = (mirrored >> 1 & kEven) | (mirrored & kEven) << 1;
    return {forward, (Hash)(reverse >> (kBits - 2 * k))};
}

// Bases of a tile and around it, by a warp.
struct PackedBases {
    unsigned words[kMaxWords];            // the first base in the highest bits
    unsigned short ambiguous[kMaxWords];  // likewise, one bit per base

    // Packs `count` words of a sequence from base `first` on; bases outside the sequence are
    // ambiguous. Returns whether a base of the sequence is.
    __device__ bool pack(Text text, long long start, int length, int first, int count) {
        bool is_any = false;
        for (int word = lane_id(); word < count; word += kWarpLanes) {
            const int at = first + word * kWordBases;
            const int offset = text.misalignment(start + at);
            const long long aligned = start + at - offset;
            unsigned codes = 0, others = 0;
            unsigned low = text.aligned_word(aligned);
#pragma unroll
            for (int k = 0; k < kWordBases; k += 4) {
                const unsigned high = text.aligned_word(aligned + k + 4);
                const unsigned letters = __funnelshift_r(low, high, 8 * offset);
                const unsigned four = base_codes(letters), wrong = wrong_letters(letters, four);
                codes = codes << 8 | packed_codes(four);
                others <<= 4;
                if (wrong) {
                    for (int base = 0; base < 4; ++base) {
                        others |= (wrong >> 8 * base & 255 ? 8u : 0u) >> base;
                    }
                }
                low = high;
            }
            // Bits of the bases at or after position 0, and of those before the end.
            const unsigned after_start = 0xffffu >> min(max(-at, 0), kWordBases);
            const unsigned before_end = ~(0xffffu >> min(max(length - at, 0), kWordBases));
            const unsigned inside = after_start & before_end;
            is_any |= (others & inside) != 0;
            words[word] = codes;
            ambiguous[word] = (unsigned short)(others | ~inside);
        }
        __syncwarp();
        return __any_sync(kAllLanes, is_any);
    }

    // Whether a base of the k-mer that ends with base `last` is ambiguous.
    __device__ bool is_broken(int last, int k) const {
        const int word = last / kWordBases, shift = kWordBases - 1 - last % kWordBases;
        const unsigned long long others = (unsigned long long)ambiguous[word - 2] << 32
            | (unsigned)ambiguous[word - 1] << 16 | ambiguous[word];
        return others >> shift & ((1u << k) - 1);
    }

    // The k-mer that ends with base `last`.
    template <typename Hash>
    __device__ Strands<Hash> kmer(int last, int k) const {
        const int word = last / kWordBases, shift = kWordBases - 1 - last % kWordBases;
        Hash bases = __funnelshift_r(words[word], words[word - 1], 2 * shift);
        if (sizeof(Hash) > 4) {
            const unsigned high = __funnelshift_r(words[word - 1], words[word - 2], 2 * shift);
            bases |= (Hash)high << (8 * sizeof(Hash) - 32);
        }
        return strands_of(bases, k);
    }
};

// T. Wang's hash in 32 bits, for k-mers of at most `kMaxShortKmer` bases; as `mixed`.
__device__ inline unsigned hash_of(unsigned kmer, int k) {
    const unsigned mask = (1u << 2 * k) - 1;
    kmer = (~kmer + (kmer << 21)) & mask;
    kmer ^= kmer >> 24;
    kmer = kmer * 265 & mask;
    kmer ^= kmer >> 14;
    kmer = kmer * 21 & mask;
    kmer ^= kmer >> 28;
    return (kmer + (kmer << 31)) & mask;
}

__device__ inline Entry hash_of(Entry kmer, int k) { return mixed(kmer, (1ull << 2 * k) - 1); }

// A tile of a sequence: its bases, and arrays of which a warp uses one kind.
template <typename Hash>
struct Tile {
    PackedBases bases;
    unsigned marks[kMarkWords];  // one bit per slot
    union {
        struct {
            Hash hashes[kMaxHashes], best[kMaxHashes];
        };
        Entry entries[kMaxEntries];
    };

    __device__ void mark_fast(Range range, int first_base, int k, int w);
    __device__ void mark_slowly(Range range, int first_base, int k, int w);
};

// values[i] becomes the smallest, or largest, of values[i] to values[i + w - 1], for `count` - w + 1
// values. By doubling: of 2, 4, 8 ... values, then of w. Called by a whole warp.
template <typename Hash, typename Better>
__device__ inline void slide(Hash* values, int count, int w, Better better) {
    for (int width = 1; width < w;) {
        const int step = min(width, w - width);
        width += step;
        for (int base = 0; base <= count - width; base += kWarpLanes) {
            const int at = base + lane_id();
            const bool is_used = at <= count - width;
            const Hash value = is_used ? better(values[at], values[at + step]) : 0;
            __syncwarp();  // values after this one are read before they change
            if (is_used) values[at] = value;
        }
        __syncwarp();
    }
}

// Marks the smallest hashes of all windows. Hashes from start - w + 1 to end + w - 1 are in use.
template <typename Hash>
__device__ void Tile<Hash>::mark_fast(Range range, int first_base, int k, int w) {
    const int slots = range.end - range.start, first = range.start - (w - 1);
    const int count = min(slots + 2 * (w - 1), range.total - first);
    for (int at = lane_id(); at < count; at += kWarpLanes) {
        const Strands<Hash> strands = bases.template kmer<Hash>(first + at - first_base, k);
        // From 1 on: 0 is for windows that are not full.
        hashes[at] = best[at] = hash_of(strands.smaller(), k) + 1;
    }
    __syncwarp();
    slide(best, count, w, [](Hash one, Hash other) { return min(one, other); });
    const int windows = slots + w - 1;
    for (int at = max(count - w + 1, 0) + lane_id(); at < windows; at += kWarpLanes) best[at] = 0;
    __syncwarp();
    slide(best, windows, w, [](Hash one, Hash other) { return max(one, other); });
    for (int base = 0; base < kTileSlots; base += kWarpLanes) {
        const int slot = base + lane_id();
        const bool is_marked = slot < slots && best[slot] == hashes[slot + w - 1];
        const unsigned bits = __ballot_sync(kAllLanes, is_marked);
        if (lane_id() == 0) marks[base / kWarpLanes] = bits;
    }
    __syncwarp();
}

// Marks the slots of a tile that minimap2 emits in the tile or in the w slots after it.
template <typename Hash>
__device__ void Tile<Hash>::mark_slowly(Range range, int first_base, int k, int w) {
    const int first = range.start - w;
    const Range longer = range.longer(w);
    if (lane_id() < kMarkWords) marks[lane_id()] = 0;
    for (int at = lane_id(); at < longer.end - first; at += kWarpLanes) {
        const int last = first + at - first_base;
        Entry entry = kBroken;
        if (!bases.is_broken(last, k)) {
            entry = entry_of(bases.template kmer<Entry>(last, k).smaller(), k, k);
        }
        entries[at] = entry;
    }
    __syncwarp();
    visit_slots(entries, longer, w, [&](int at, const Window& before, bool is_last) {
        if (at < 0) return;
        emit_at(entries, at, w, before, is_last, [&](int found) {
            const unsigned slot = found - w;  // huge before the tile
            if (slot < kTileSlots) {
                atomicOr(&marks[slot / kWarpLanes], 1u << slot % kWarpLanes);
            }
        });
    });
    __syncwarp();
}

// First base that is packed for a tile, a whole number of words before its first slot.
__device__ inline int first_packed(int start, int older) {
    const int words = 2 + (older + kWordBases - 1) / kWordBases;  // two hold a k-mer's start
    return start - words * kWordBases;
}

}  // namespace

// Marks of the minimizers in each tile, one bit per slot, and their number; one warp per tile. `Hash`
// holds 2k bits and one more value.
template <typename Hash>
__global__ void __launch_bounds__(32 * kWarpsPerBlock) mark_minimizers(
    const unsigned char* text, const int* starts, const int* lengths, const int* tile_offsets,
    unsigned* marks, long long* counts, long long text_bytes, int reads, int tiles, int k, int w
) {
    __shared__ Tile<Hash> scratch[kWarpsPerBlock];
    Tile<Hash>& own = scratch[threadIdx.x / kWarpLanes];
    if (blockIdx.x == 0 && threadIdx.x == 0) counts[0] = 0;
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], lengths[read]);
        const int first = first_packed(range.start, w);
        __syncwarp();  // lanes may still read the previous tile
        const bool is_ambiguous = own.bases.pack(
            {text, text_bytes}, starts[read], range.total, first,
            (range.longer(w).end - first + kWordBases - 1) / kWordBases);
        if (is_ambiguous || w > kWidestFast || range.start < w + k) {
            own.mark_slowly(range, first, k, w);
        } else {
            own.mark_fast(range, first, k, w);
        }
        const unsigned bits = lane_id() < kMarkWords ? own.marks[lane_id()] : 0;
        if (lane_id() < kMarkWords) marks[(long long)tile * kMarkWords + lane_id()] = bits;
        const int count = sum_to_lane(__popc(bits));
        if (lane_id() == kWarpLanes - 1) counts[tile + 1] = count;
    }
}

// The marked minimizers of each tile, from its offset on; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) write_minimizers(
    const unsigned char* text, const int* starts, const int* lengths, const int* tile_offsets,
    const unsigned* marks, const long long* offsets, unsigned long long* keys, unsigned* positions,
    long long text_bytes, int reads, int tiles, int k
) {
    constexpr int kWarps = 8;
    __shared__ PackedBases all_bases[kWarps];
    __shared__ unsigned char all_slots[kWarps][kTileSlots];
    PackedBases& bases = all_bases[threadIdx.x / kWarpLanes];
    unsigned char* slots = all_slots[threadIdx.x / kWarpLanes];
    const unsigned lower_lanes = (1u << lane_id()) - 1;
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const long long to = offsets[tile];
        const int count = (int)(offsets[tile + 1] - to);
        if (!count) continue;
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], lengths[read]);
        const int first = first_packed(range.start, 0);
        __syncwarp();  // lanes may still read the previous tile
        bases.pack({text, text_bytes}, starts[read], range.total, first,
                   (range.end - first + kWordBases - 1) / kWordBases);
        int listed = 0;
        for (int word = 0; word < kMarkWords; ++word) {
            const unsigned bits = marks[(long long)tile * kMarkWords + word];
            if (bits >> lane_id() & 1) {
                const int row = listed + __popc(bits & lower_lanes);
                slots[row] = (unsigned char)(word * kWarpLanes + lane_id());
            }
            listed += __popc(bits);
        }
        __syncwarp();
        for (int row = lane_id(); row < count; row += kWarpLanes) {
            const int position = range.start + slots[row];
            const Strands<Entry> strands = bases.kmer<Entry>(position - first, k);
            keys[to + row] = entry_of(strands.smaller(), k, k) + 1;
            positions[to + row] = (unsigned)position << 1 | strands.is_reverse();
        }
    }
}
