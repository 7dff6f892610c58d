// Windows of consecutive slots, and the minimizers that minimap2 emits at a slot (Li 2018); same as
// hapgpu/longread/index/sketch.py.
//
// minimap2 slides along a sequence and keeps the smallest of the last w slots; a slot is a k-mer or
// a base that ends none. The minimizers emitted at a slot depend on that slot and the w slots
// before it, so slots are processed in parallel, one warp per tile.

#include "common/warp.cuh"
#include "longread/seed/kmer.cuh"

constexpr int kTileSlots = 256;
constexpr int kWidestWindow = 255;

__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int warp_count() { return gridDim.x * (blockDim.x / kWarpLanes); }

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

    // The same with up to `more` slots after its end.
    __device__ Range longer(int more) const {
        Range range = *this;
        range.end += min(more, total - end);
        return range;
    }
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
