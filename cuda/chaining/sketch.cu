// Minimizers: of every w successive k-mers those that are smallest (Li 2018).
//
// minimap2 walks along a sequence with the smallest of the last w slots, a slot being a k-mer or
// the place of none. What it tells at a slot follows from that slot and the w before it, so the
// slots are taken side by side, a warp a tile of them.

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

// The read that a tile belongs to: the last whose first tile is not behind it.
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

// The smallest of w entries, the rightmost of equal ones, and where the last broken one is.
struct Window {
    Entry least;
    int at;
    int last_broken;  // begin - 1 if none is

    __device__ bool is_finite() const { return least < kUnused; }
};

__device__ inline Window window_at(const Entry* entries, int begin, int w) {
    Window window{kUnused, begin, begin - 1};
    for (int at = begin; at < begin + w; ++at) {
        const Entry entry = entries[at];
        if (entry <= window.least) {
            window.least = entry;
            window.at = at;
        }
        if (entry == kBroken) window.last_broken = at;
    }
    return window;
}

// The slots from begin to end that are as small as the smallest of a window, without that one.
template <typename Emit>
__device__ inline void emit_equal(
    const Entry* entries, int begin, int end, const Window& window, Emit& emit
) {
    for (int at = begin; at < end; ++at) {
        if (entries[at] == window.least && at != window.at) emit(at);
    }
}

// What minimap2 tells at a slot; `before` is the window of the w slots before it.
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
    if (min(entries[at], kUnused) <= before.least) {
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

// KmerSlots of a sequence from which a warp takes a tile: `begin` to `end`, after w older ones.
struct Range {
    int begin, end, total;

    __device__ Range(int tile, int total_slots)
        : begin(tile * kTileSlots), end(begin + min(kTileSlots, total_slots - begin)),
          total(total_slots) {}
};

// Calls visit(at, window before it, is last) for the slots of a range, 32 at a time, and with -1
// for the lanes behind it.
template <typename Visit>
__device__ inline void visit_slots(const Entry* entries, Range range, int w, Visit visit) {
    const int slots = range.end - range.begin;
    for (int first = 0; first < slots; first += kWarpLanes) {
        const int slot = first + lane_id();
        const bool is_used = slot < slots;
        const Window before = window_at(entries, is_used ? slot : 0, w);
        visit(is_used ? slot + w : -1, before, slot == range.total - 1 - range.begin);
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

// Writes the minimizers of a range from `to` on; `place_of` gives position << 1 | strand.
template <typename PlaceOf>
__device__ inline void write_range(
    const Entry* entries, Range range, int w, long long to, unsigned long long* keys,
    unsigned* places, PlaceOf place_of
) {
    visit_slots(entries, range, w, [&](int at, const Window& before, bool is_last) {
        int count = 0;
        if (at >= 0) emit_at(entries, at, w, before, is_last, [&](int) { ++count; });
        const int end = prefix_sum(count);
        if (count) {
            long long own = to + end - count;
            emit_at(entries, at, w, before, is_last, [&](int found) {
                keys[own] = entries[found] + 1;
                places[own++] = place_of(found);
            });
        }
        to += from_last_lane(end);
    });
}

// A tile of a sequence in which each base is a slot: no runs to compress, and with k odd no k-mer
// that is its own reverse complement.
struct TextTile {
    Entry entries[kMaxEntries];
    unsigned strands[kMaxEntries / kWarpLanes + 1];  // a bit a slot
    unsigned words[kMaxWords];                       // bases, the first one highest
    unsigned short ambiguous[kMaxWords];             // likewise, a bit a base

    // Both are called by a whole warp.
    __device__ void pack(const unsigned char* bases, int length, int first, int count);
    __device__ void fill(const unsigned char* bases, int length, int begin, int end, int k, int w);

    __device__ unsigned place(int at, int first_slot) const {
        return (unsigned)(first_slot + at) << 1 |
               (strands[at / kWarpLanes] >> at % kWarpLanes & 1);
    }
};

// Words of bases, of which the first is at `first`; what lies outside is ambiguous.
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

// Entries of the slots from begin - w to end.
__device__ void TextTile::fill(
    const unsigned char* bases, int length, int begin, int end, int k, int w
) {
    const int older_words = 2 + (w + kWordBases - 1) / kWordBases;  // two hold a k-mer's start
    const int first_slot = older_words * kWordBases - w;
    const int slots = w + end - begin;
    __syncwarp();  // the tile before may still be read
    pack(bases, length, begin - older_words * kWordBases,
         older_words + (end - begin + kWordBases - 1) / kWordBases);
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

// Entries of a tile of slots that were listed, from begin - w to end.
__device__ void load_entries(
    const Entry* slots, Entry* entries, int begin, int end, int w
) {
    __syncwarp();  // the tile before may still be read
    for (int at = lane_id(); at < w + end - begin; at += kWarpLanes) {
        const int slot = begin - w + at;
        entries[at] = slot >= 0 ? slots[slot] : kBroken;
    }
    __syncwarp();
}

// The bits of a word, each before a zero.
__device__ inline unsigned long long spread(unsigned bits) {
    unsigned long long wide = bits;
    wide = (wide | wide << 16) & 0x0000ffff0000ffff;
    wide = (wide | wide << 8) & 0x00ff00ff00ff00ff;
    wide = (wide | wide << 4) & 0x0f0f0f0f0f0f0f0f;
    wide = (wide | wide << 2) & 0x3333333333333333;
    return (wide | wide << 1) & 0x5555555555555555;
}

// The last bases that went into k-mers, a bit plane each for the low and the high bit of their
// codes; the newest of those before a chunk is bit 31, and those of the chunk follow.
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

// Both strands of a k-mer as minimap2 holds them; those of the first k - 1 bases are in part 0.
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

constexpr int kRecent = 64;  // two chunks, so more than the longest k-mer before each base

struct ListScratch {
    unsigned char codes[kWarpLanes];
    int ends[kRecent];  // of the last bases or runs, by number
};

}  // namespace

// Tiles that the slots of each read make, 0 before the first.
extern "C" __global__ void __launch_bounds__(256) count_tiles(
    const int* slot_counts, int* tile_counts, int reads
) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread == 0) tile_counts[0] = 0;
    for (int read = thread; read < reads; read += gridDim.x * blockDim.x) {
        tile_counts[read + 1] = (slot_counts[read] + kTileSlots - 1) / kTileSlots;
    }
}

// Minimizers of each tile; a warp a tile.
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
        own.fill(text + starts[read], lengths[read], range.begin, range.end, k, w);
        const int count = count_range(own.entries, range, w);
        if (lane_id() == kWarpLanes - 1) counts[tile + 1] = count;
    }
}

// The minimizers themselves, those of a tile from its offset on.
extern "C" __global__ void __launch_bounds__(256) write_in_text(
    const unsigned char* text, const int* starts, const int* lengths, const int* tile_offsets,
    const long long* offsets, unsigned long long* keys, unsigned* places, long long text_bytes,
    int reads, int tiles, int k, int w, long long minimizers
) {
    __shared__ TextTile scratch[kWarpsPerBlock];
    TextTile& own = scratch[threadIdx.x / kWarpLanes];
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], lengths[read]);
        own.fill(text + starts[read], lengths[read], range.begin, range.end, k, w);
        write_range(own.entries, range, w, offsets[tile], keys, places,
                    [&](int at) { return own.place(at, range.begin - w); });
    }
}

// KmerSlots of each read where they are not simply its bases: runs of equal bases count as one, or
// k-mers can be their own reverse complement and are then no slot. A warp a read, 32 bases at a
// time; the slots of a read are written from where its bases would be, end to end with others'.
extern "C" __global__ void __launch_bounds__(256) list_slots(
    const unsigned char* text, const int* starts, const int* lengths, const long long* slot_offsets,
    unsigned long long* slots, unsigned* slot_places, int* slot_counts, long long text_bytes,
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
        int taken = 0;       // bases or runs so far
        int since = 0;       // slots since the last ambiguous base
        int last_break = -1;  // where that was
        int written = 0;
        for (unsigned first = 0; first < length; first += kWarpLanes) {
            const unsigned at = first + lane;
            const int code = at < length ? base_code(bases[at]) : kAmbiguous;
            const int next = at + 1 < length ? base_code(bases[at + 1]) : kAmbiguous;
            const bool is_taken = code < kAmbiguous && !(is_hpc && next == code);
            const unsigned takers = __ballot_sync(kAllLanes, is_taken);
            const unsigned breaks = __ballot_sync(kAllLanes, at < length && code == kAmbiguous);
            const int rank = __popc(takers & lower_lanes);
            const int number = taken + rank;
            if (is_taken) {
                own.codes[rank] = code;
                own.ends[number % kRecent] = at;
            }
            __syncwarp();
            planes.append(lane < __popc(takers) ? own.codes[lane] : 0);

            const Strands strands(planes, is_taken ? rank : 0, k, max(k - 1 - number, 0));
            const bool is_kmer = is_taken && strands.forward != strands.reverse;
            const unsigned kmers = __ballot_sync(kAllLanes, is_kmer);
            const unsigned lower_breaks = breaks & lower_lanes;
            const int break_lane = 31 - __clz(lower_breaks);  // -1 if none
            const unsigned counted = kmers & (lower_lanes | 1u << lane) & ~0u << (break_lane + 1);
            const int filled = (lower_breaks ? 0 : since) + __popc(counted);
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
                slot_places[to] = at << 1 | is_reverse;
            }

            if (breaks) {
                const int last = 31 - __clz(breaks);
                last_break = first + last;
                since = __popc(kmers & ~1u << last);
            } else {
                since += __popc(kmers);
            }
            taken += __popc(takers);
            written += __popc(kmers | breaks);
            planes.advance(__popc(takers));
            __syncwarp();
        }
        if (lane == 0) slot_counts[read] = written;
    }
}

// As count_in_text, of slots that were listed.
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
        load_entries(slots + slot_offsets[read], entries, range.begin, range.end, w);
        const int count = count_range(entries, range, w);
        if (lane_id() == kWarpLanes - 1) counts[tile + 1] = count;
    }
}

// As write_in_text, of slots that were listed.
extern "C" __global__ void __launch_bounds__(256) write_in_slots(
    const unsigned long long* slots, const unsigned* slot_places, const long long* slot_offsets,
    const int* slot_counts, const int* tile_offsets, const long long* offsets,
    unsigned long long* keys, unsigned* places, long long total_slots, int reads, int tiles, int w,
    long long minimizers
) {
    __shared__ Entry scratch[kWarpsPerBlock][kMaxEntries];
    Entry* entries = scratch[threadIdx.x / kWarpLanes];
    for (int tile = warp_id(); tile < tiles; tile += warp_count()) {
        const int read = read_of(tile_offsets, reads, tile);
        const Range range(tile - tile_offsets[read], slot_counts[read]);
        load_entries(slots + slot_offsets[read], entries, range.begin, range.end, w);
        const unsigned* own_places = slot_places + slot_offsets[read] + range.begin - w;
        write_range(entries, range, w, offsets[tile], keys, places,
                    [&](int at) { return own_places[at]; });
    }
}
