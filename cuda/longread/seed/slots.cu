// Minimizers if not every base is a slot: runs of equal bases count as one, or a k-mer may be its own
// reverse complement.

#include "longread/seed/windows.cuh"

namespace {

constexpr int kWarpsPerBlock = 8;
constexpr int kMaxEntries = kTileSlots + kWidestWindow;

// Number of minimizers of a range, in the last lane.
__device__ inline int count_range(const Entry* entries, Range range, int w) {
    int count = 0;
    visit_slots(entries, range, w, [&](int at, const Window& before, bool is_last) {
        if (at >= 0) emit_at(entries, at, w, before, is_last, [&](int) { ++count; });
    });
    return sum_to_lane(count);
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
        const int end = sum_to_lane(count);
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

// Slots of each read if not every base is a slot: runs of equal bases count as one, or a k-mer that
// is its own reverse complement has no slot. One warp per read, 32 bases at a time; the slots of a
// read start at the offset of its bases.
extern "C" __global__ void __launch_bounds__(256) list_slots(
    const unsigned char* text, const int* starts, const int* lengths, const long long* slot_offsets,
    unsigned long long* slots, unsigned* slot_positions, int* slot_counts, int reads, int k,
    int is_hpc
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

// Number of minimizers of each tile; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) count_in_slots(
    const unsigned long long* slots, const long long* slot_offsets, const int* slot_counts,
    const int* tile_offsets, long long* counts, int reads, int tiles, int w
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

// The minimizers of each tile, from its offset on; one warp per tile.
extern "C" __global__ void __launch_bounds__(256) write_in_slots(
    const unsigned long long* slots, const unsigned* slot_positions, const long long* slot_offsets,
    const int* slot_counts, const int* tile_offsets, const long long* offsets,
    unsigned long long* keys, unsigned* positions, int reads, int tiles, int w
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
