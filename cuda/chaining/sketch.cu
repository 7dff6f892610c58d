// Minimizers: the smallest of every w consecutive k-mers (Li 2018); same as
// hapgpu/chaining/sketch/cpu.py.
//
// minimap2 slides along a sequence and keeps the smallest of the last w slots; a slot is a k-mer or
// a base that ends none. The minimizers emitted at a slot depend on that slot and the w slots
// before it, so slots are processed in parallel, one warp per tile.

#include "common/warp.cuh"
#include "chaining/kmer.cuh"

namespace {

constexpr int kWarpsPerBlock = 8;
constexpr int kTileSlots = 256;
constexpr int kWidestWindow = 255;
constexpr int kMaxEntries = kTileSlots + kWidestWindow;
constexpr int kWordBases = 16;
constexpr int kMaxWords = kTileSlots / kWordBases + 2 + (kWidestWindow + 1) / kWordBases;

__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int warp_count() { return gridDim.x * (blockDim.x / kWarpLanes); }

// Sum over the lanes up to this one.
__device__ inline int prefix_sum(int value) {
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
        const int lower = __shfl_up_sync(kAllLanes, value, distance);
        if (lane_id() >= distance) value += lower;
    }
    return value;
}

__device__ inline int from_last_lane(int value) {
    return __shfl_sync(kAllLanes, value, kWarpLanes - 1);
}

// The read of a tile: the last read whose first tile is not after it.
__device__ inline int read_of(const int* tile_offsets, int reads, int tile) {
    int low = 0, high = reads;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (tile_offsets[middle] <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// The smallest of w entries, the rightmost of ties, and the last broken entry.
struct Window {
    Entry min_entry;
    int at;
    int last_broken;  // start - 1 if there is none

    __device__ bool is_finite() const { return min_entry < kUnused; }
};

__device__ inline Window window_at(const Entry* entries, int start, int w) {
    Window window{kUnused, start, start - 1};
    for (int at = start; at < start + w; ++at) {
        const Entry entry = entries[at];
        if (entry <= window.min_entry) {
            window.min_entry = entry;
            window.at = at;
        }
        if (entry == kBroken) window.last_broken = at;
    }
    return window;
}

// Emits the slots from `start` to `end` that are equal to the minimum of a window, except itself.
template <typename Emit>
__device__ inline void emit_equal(
    const Entry* entries, int start, int end, const Window& window, Emit& emit
) {
    for (int at = start; at < end; ++at) {
        if (entries[at] == window.min_entry && at != window.at) emit(at);
    }
}

// Emits the minimizers that minimap2 emits at a slot; `before` is the window of the w slots before.
template <typename Emit>
__device__ inline void emit_at(
    const Entry* entries, int at, int w, const Window& before, bool is_last, Emit emit
) {
    const int oldest = at - w;
    const bool is_full = entries[at] != kBroken && before.last_broken <= oldest;
    const bool was_full = is_full && before.last_broken < oldest;
    if (is_full && !was_full && before.is_finite()) {
        emit_equal(entries, oldest + 1, at, before, emit);
    }
    if (min(entries[at], kUnused) <= before.min_entry) {
        if (was_full && before.is_finite()) emit(before.at);
    } else if (is_full && before.at == oldest) {
        emit(before.at);
        const Window now = window_at(entries, oldest + 1, w);
        if (now.is_finite()) emit_equal(entries, oldest + 1, at + 1, now, emit);
    }
    if (is_last) {
        const Window now = window_at(entries, oldest + 1, w);
        if (now.is_finite()) emit(now.at);
    }
}

// Slots of a tile of a sequence: `start` to `end`, after w older slots.
struct Range {
    int start, end, total;

    __device__ Range(int tile, int total_slots)
        : start(tile * kTileSlots), end(start + min(kTileSlots, total_slots - start)),
          total(total_slots) {}
};

// Calls visit(at, window before it, is last) for the slots of a range, 32 at a time, with -1 for
// lanes after its end.
template <typename Visit>
__device__ inline void visit_slots(const Entry* entries, Range range, int w, Visit visit) {
    const int slots = range.end - range.start;
    for (int first = 0; first < slots; first += kWarpLanes) {
        const int slot = first + lane_id();
        const bool is_used = slot < slots;
        const Window before = window_at(entries, is_used ? slot : 0, w);
        visit(is_used ? slot + w : -1, before, slot == range.total - 1 - range.start);
    }
}

// Number of minimizers of a range, in the last lane.
__device__ inline int count_range(const Entry* entries, Range range, int w) {
    int count = 0;
    visit_slots(entries, range, w, [&](int at, const Window& before, bool is_last) {
        if (at >= 0) emit_at(entries, at, w, before, is_last, [&](int) { ++count; });
    });
    return prefix_sum(count);
}

// Writes the minimizers of a range from `to` on; `position_of` returns position << 1 | strand.
template <typename PositionOf>
__device__ inline void write_range(
    const Entry* entries, Range range, int w, long long to, unsigned long long* keys,
    unsigned* positions, PositionOf position_of
) {
    visit_slots(entries, range, w, [&](int at, const Window& before, bool is_last) {
        int count = 0;
        if (at >= 0) emit_at(entries, at, w, before, is_last, [&](int) { ++count; });
        const int end = prefix_sum(count);
        if (count) {
            long long own = to + end - count;
            emit_at(entries, at, w, before, is_last, [&](int found) {
                keys[own] = entries[found] + 1;
                positions[own++] = position_of(found);
            });
        }
        to += from_last_lane(end);
    });
}

// A tile of a sequence in which each base is a slot: without homopolymer compression and with odd
// k, so that no k-mer is its own reverse complement.
struct TextTile {
    Entry entries[kMaxEntries];
    unsigned strands[kMaxEntries / kWarpLanes + 1];  // one bit per slot
    unsigned words[kMaxWords];                       // bases, the first in the highest bits
    unsigned short ambiguous[kMaxWords];             // likewise, one bit per base

    // A whole warp calls both.
    __device__ void pack(const unsigned char* bases, int length, int first, int count);
    __device__ void fill(const unsigned char* bases, int length, int start, int end, int k, int w);

    __device__ unsigned position(int at, int first_slot) const {
        return (unsigned)(first_slot + at) << 1 |
               (strands[at / kWarpLanes] >> at % kWarpLanes & 1);
    }
};

// Packs words of bases from `first` on; bases outside the sequence are ambiguous.
__device__ void TextTile::pack(const unsigned char* bases, int length, int first, int count) {
    for (int word = lane_id(); word < count; word += kWarpLanes) {
        unsigned codes = 0, others = 0;
        for (int base = 0; base < kWordBases; ++base) {
            const unsigned at = first + word * kWordBases + base;  // huge before the start
            const int code = at < (unsigned)length ? base_code(bases[at]) : kAmbiguous;
            codes = codes << 2 | (code & 3);
            others = others << 1 | code >> 2;
        }
        words[word] = codes;
        ambiguous[word] = others;
    }
    __syncwarp();
}

// Fills the entries of the slots from start - w to end.
__device__ void TextTile::fill(
    const unsigned char* bases, int length, int start, int end, int k, int w
) {
    const int older_words = 2 + (w + kWordBases - 1) / kWordBases;  // two hold a k-mer's start
    const int first_slot = older_words * kWordBases - w;
    const int slots = w + end - start;
    __syncwarp();  // lanes may still read the previous tile
    pack(bases, length, start - older_words * kWordBases,
         older_words + (end - start + kWordBases - 1) / kWordBases);
    const unsigned long long mask = (1ull << 2 * k) - 1;
    for (int base = 0; base < slots; base += kWarpLanes) {
        const int slot = base + lane_id();
        Entry entry = kBroken;
        bool is_reverse = false;
        if (slot < slots) {
            const int last = first_slot + slot;
            const int word = last / kWordBases;
            const int shift = kWordBases - 1 - last % kWordBases;
            const unsigned long long others = (unsigned long long)ambiguous[word - 2] << 32 |
                                              (unsigned)ambiguous[word - 1] << 16 | ambiguous[word];
            if (!(others >> shift & ((1u << k) - 1))) {
                const unsigned low = __funnelshift_r(words[word], words[word - 1], 2 * shift);
                const unsigned high = __funnelshift_r(words[word - 1], words[word - 2], 2 * shift);
                const unsigned long long forward = ((unsigned long long)high << 32 | low) & mask;
                const unsigned long long mirrored = __brevll(~forward);
                const unsigned long long reverse =
                    ((mirrored >> 1 & 0x5555555555555555) | (mirrored & 0x5555555555555555) << 1) >>
                    (64 - 2 * k);
                is_reverse = forward > reverse;
                entry = entry_of(is_reverse ? reverse : forward, k, k);
            }
            entries[slot] = entry;
        }
        const unsigned bits = __ballot_sync(kAllLanes, is_reverse);
        if (lane_id() == 0) strands[base / kWarpLanes] = bits;
    }
    __syncwarp();
}

// Loads the entries of a tile of listed slots, from start - w to end.
__device__ void load_entries(
    const Entry* slots, Entry* entries, int start, int end, int w
) {
    __syncwarp();  // lanes may still read the previous tile
    for (int at = lane_id(); at < w + end - start; at += kWarpLanes) {
        const int slot = start - w + at;
        entries[at] = slot >= 0 ? slots[slot] : kBroken;
    }
    __syncwarp();
}

// The bits of a word, with a zero between each two.
__device__ inline unsigned long long spread(unsigned bits) {
    unsigned long long wide = bits;
    wide = (wide | wide << 16) & 0x0000ffff0000ffff;
    wide = (wide | wide << 8) & 0x00ff00ff00ff00ff;
    wide = (wide | wide << 4) & 0x0f0f0f0f0f0f0f0f;
    wide = (wide | wide << 2) & 0x3333333333333333;
    return (wide | wide << 1) & 0x5555555555555555;
}

// The last bases of k-mers, with one bit plane each for the low and the high bit of their codes;
// bit 31 is the last base before a chunk, and the bases of the chunk follow.
struct Planes {
    unsigned long long low, high;

    __device__ void append(int code) {
        low = (unsigned)low | (unsigned long long)__ballot_sync(kAllLanes, code & 1) << 32;
        high = (unsigned)high | (unsigned long long)__ballot_sync(kAllLanes, code >> 1) << 32;
    }

    __device__ void advance(int count) {
        low >>= count;
        high >>= count;
    }
};

// Both strands of a k-mer as in minimap2; k-mers of the first k - 1 bases are partly 0.
struct Strands {
    unsigned long long forward, reverse;

    __device__ Strands(const Planes& planes, int rank, int k, int missing) {
        const unsigned mask = (1u << k) - 1;
        const int oldest = kWarpLanes + rank - k + 1;
        const unsigned low = (unsigned)(planes.low >> oldest) & mask;
        const unsigned high = (unsigned)(planes.high >> oldest) & mask;
        const unsigned filled = mask & ~0u << missing;
        forward = spread(__brev(low) >> (32 - k)) | spread(__brev(high) >> (32 - k)) << 1;
        reverse = spread(~low & filled) | spread(~high & filled) << 1;
    }
};

constexpr int kRecent = 64;  // two chunks, longer than the longest k-mer

struct ListScratch {
    unsigned char codes[kWarpLanes];
    int ends[kRecent];  // of the last bases or runs, by number modulo kRecent
};

}  // namespace

// Number of tiles of each read at row i + 1, 0 at row 0.
extern "C" __global__ void __launch_bounds__(256) count_tiles(
    const int* slot_counts, int* tile_counts, int reads
) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread == 0) tile_counts[0] = 0;
    for (int read = thread; read < reads; read += gridDim.x * blockDim.x) {
        tile_counts[read + 1] = (slot_counts[read] + kTileSlots - 1) / kTileSlots;
    }
}

// Number of minimizers of each tile; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) count_in_text(
    const unsigned char* text, const int* starts, const int* lengths, const int* tile_offsets,
    long long* counts, long long text_bytes, int reads, int tiles, int k, int w
) {
    __shared__ TextTile scratch[kWarpsPerBlock];
    TextTile& own = scratch[threadIdx.x / kWarpLanes];
    if (blockIdx.x == 0 && threadIdx.x == 0) counts[0] = 0;
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], lengths[read]);
        own.fill(text + starts[read], lengths[read], range.start, range.end, k, w);
        const int count = count_range(own.entries, range, w);
        if (lane_id() == kWarpLanes - 1) counts[tile + 1] = count;
    }
}

// The minimizers of each tile, from its offset on; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) write_in_text(
    const unsigned char* text, const int* starts, const int* lengths, const int* tile_offsets,
    const long long* offsets, unsigned long long* keys, unsigned* positions, long long text_bytes,
    int reads, int tiles, int k, int w, long long minimizers
) {
    __shared__ TextTile scratch[kWarpsPerBlock];
    TextTile& own = scratch[threadIdx.x / kWarpLanes];
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], lengths[read]);
        own.fill(text + starts[read], lengths[read], range.start, range.end, k, w);
        write_range(own.entries, range, w, offsets[tile], keys, positions,
                    [&](int at) { return own.position(at, range.start - w); });
    }
}

// Slots of each read if not every base is a slot: runs of equal bases count as one, or a k-mer that
// is its own reverse complement has no slot. One warp per read, 32 bases at a time; the slots of a
// read start at the offset of its bases.
extern "C" __global__ void __launch_bounds__(256) list_slots(
    const unsigned char* text, const int* starts, const int* lengths, const long long* slot_offsets,
    unsigned long long* slots, unsigned* slot_positions, int* slot_counts, long long text_bytes,
    int reads, int k, int is_hpc, long long total_slots
) {
    __shared__ ListScratch scratch[kWarpsPerBlock];
    ListScratch& own = scratch[threadIdx.x / kWarpLanes];
    const int lane = lane_id();
    const unsigned lower_lanes = (1u << lane) - 1;
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const unsigned char* bases = text + starts[read];
        const unsigned length = lengths[read];
        Planes planes{0, 0};
        int base_count = 0;         // bases or runs so far
        int slots_since_break = 0;  // slots since the last ambiguous base
        int last_break = -1;        // position of that base
        int written = 0;
        for (unsigned first = 0; first < length; first += kWarpLanes) {
            const unsigned at = first + lane;
            const int code = at < length ? base_code(bases[at]) : kAmbiguous;
            const int next = at + 1 < length ? base_code(bases[at + 1]) : kAmbiguous;
            const bool is_counted = code < kAmbiguous && !(is_hpc && next == code);
            const unsigned counted_bases = __ballot_sync(kAllLanes, is_counted);
            const unsigned breaks = __ballot_sync(kAllLanes, at < length && code == kAmbiguous);
            const int rank = __popc(counted_bases & lower_lanes);
            const int number = base_count + rank;
            if (is_counted) {
                own.codes[rank] = code;
                own.ends[number % kRecent] = at;
            }
            __syncwarp();
            planes.append(lane < __popc(counted_bases) ? own.codes[lane] : 0);

            const Strands strands(planes, is_counted ? rank : 0, k, max(k - 1 - number, 0));
            const bool is_kmer = is_counted && strands.forward != strands.reverse;
            const unsigned kmers = __ballot_sync(kAllLanes, is_kmer);
            const unsigned lower_breaks = breaks & lower_lanes;
            const int break_lane = 31 - __clz(lower_breaks);  // -1 if none
            const unsigned counted_kmers =
                kmers & (lower_lanes | 1u << lane) & ~0u << (break_lane + 1);
            const int filled = (lower_breaks ? 0 : slots_since_break) + __popc(counted_kmers);
            if (is_kmer || breaks >> lane & 1) {
                const bool is_reverse = strands.forward > strands.reverse;
                Entry entry = kBroken;
                if (is_kmer && filled >= k) {
                    const int own_break = lower_breaks ? (int)first + break_lane : last_break;
                    const int before = number >= k ? own.ends[(number - k) % kRecent] : -1;
                    const int span = is_hpc ? (int)at - max(before, own_break) : k;
                    entry = kUnused;
                    if (span <= kLongestSpan) {
                        entry = entry_of(is_reverse ? strands.reverse : strands.forward, k, span);
                    }
                }
                const long long to =
                    slot_offsets[read] + written + __popc((kmers | breaks) & lower_lanes);
                slots[to] = entry;
                slot_positions[to] = at << 1 | is_reverse;
            }

            if (breaks) {
                const int last = 31 - __clz(breaks);
                last_break = first + last;
                slots_since_break = __popc(kmers & ~1u << last);
            } else {
                slots_since_break += __popc(kmers);
            }
            base_count += __popc(counted_bases);
            written += __popc(kmers | breaks);
            planes.advance(__popc(counted_bases));
            __syncwarp();
        }
        if (lane == 0) slot_counts[read] = written;
    }
}

// Same as count_in_text, for listed slots.
extern "C" __global__ void __launch_bounds__(256) count_in_slots(
    const unsigned long long* slots, const long long* slot_offsets, const int* slot_counts,
    const int* tile_offsets, long long* counts, long long total_slots, int reads, int tiles, int w
) {
    __shared__ Entry scratch[kWarpsPerBlock][kMaxEntries];
    Entry* entries = scratch[threadIdx.x / kWarpLanes];
    if (blockIdx.x == 0 && threadIdx.x == 0) counts[0] = 0;
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], slot_counts[read]);
        load_entries(slots + slot_offsets[read], entries, range.start, range.end, w);
        const int count = count_range(entries, range, w);
        if (lane_id() == kWarpLanes - 1) counts[tile + 1] = count;
    }
}

// Same as write_in_text, for listed slots.
extern "C" __global__ void __launch_bounds__(256) write_in_slots(
    const unsigned long long* slots, const unsigned* slot_positions, const long long* slot_offsets,
    const int* slot_counts, const int* tile_offsets, const long long* offsets,
    unsigned long long* keys, unsigned* positions, long long total_slots, int reads, int tiles,
    int w, long long minimizers
) {
    __shared__ Entry scratch[kWarpsPerBlock][kMaxEntries];
    Entry* entries = scratch[threadIdx.x / kWarpLanes];
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], slot_counts[read]);
        load_entries(slots + slot_offsets[read], entries, range.start, range.end, w);
        const unsigned* own_positions = slot_positions + slot_offsets[read] + range.start - w;
        write_range(entries, range, w, offsets[tile], keys, positions,
                    [&](int at) { return own_positions[at]; });
    }
}
