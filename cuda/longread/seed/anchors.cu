// Anchors: every occurrence of every seed, sorted by position on the reference; same as
// hapgpu/longread/seed/anchors.py.

#include "common/binary_search.cuh"
#include "common/warp.cuh"

namespace {

constexpr int kWarpsPerBlock = 4;
constexpr int kThreads = kWarpsPerBlock * kWarpLanes;

// As in hapgpu/longread/batches.py.
constexpr unsigned long long kReverse = 1ull << 63;
constexpr unsigned long long kTandem = 1ull << 42;
constexpr int kSpanShift = 32;

__device__ int thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int thread_count() { return gridDim.x * blockDim.x; }

}  // namespace

// Offset of the first anchor of each read, and the number of its anchors, from the ends of the anchors
// of each seed.
extern "C" __global__ void __launch_bounds__(kThreads) bound_anchors(
    const long long* ends, const long long* seed_offsets, long long* offsets, int* counts, int reads
) {
    const auto offset_of = [=](int read) {
        const long long seed = seed_offsets[read];
        return seed ? ends[seed - 1] : 0;
    };
    for (int read = thread_id(); read <= reads; read += thread_count()) {
        offsets[read] = offset_of(read);
        if (read < reads) counts[read] = static_cast<int>(offset_of(read + 1) - offsets[read]);
    }
}

// x and seed of each anchor, in the order of the seeds and of their occurrences; one thread per
// anchor.
extern "C" __global__ void __launch_bounds__(kThreads) expand_occurrences(
    const unsigned long long* occurrences, const unsigned* positions,
    const long long* first_occurrences, const long long* ends, unsigned long long* x,
    unsigned* anchor_seeds, int seeds, int anchors
) {
    for (long long anchor = thread_id(); anchor < anchors; anchor += thread_count()) {
        const int seed = count_at_most(ends, seeds, anchor);
        const long long before = seed ? ends[seed - 1] : 0;
        const long long row = first_occurrences[seed] + (anchor - before);
        const unsigned long long occurrence = occurrences[row];
        const bool is_reverse = (occurrence ^ positions[seed]) & 1;
        x[anchor] = (is_reverse ? kReverse : 0) | occurrence >> 32 << 32 |
                    (occurrence & 0xffffffffu) >> 1;
        anchor_seeds[anchor] = seed;
    }
}

// y of each anchor, from its seed; one thread per anchor.
extern "C" __global__ void __launch_bounds__(kThreads) set_positions(
    const unsigned* positions, const unsigned char* spans, const unsigned char* is_tandem,
    const int* lengths, const long long* offsets, const unsigned long long* x,
    const unsigned* anchor_seeds, unsigned long long* y, int anchors, int reads
) {
    for (long long anchor = thread_id(); anchor < anchors; anchor += thread_count()) {
        const unsigned seed = anchor_seeds[anchor];
        const unsigned span = spans[seed];
        unsigned position = positions[seed] >> 1;
        if (x[anchor] & kReverse) {
            const int read = count_at_most(offsets, reads + 1, anchor) - 1;
            position = lengths[read] + span - position - 2;
        }
        y[anchor] = (is_tandem[seed] ? kTandem : 0) |
                    static_cast<unsigned long long>(span) << kSpanShift | position;
    }
}
