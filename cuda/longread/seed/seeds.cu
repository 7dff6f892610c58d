// Seeds: minimizers of reads in the index of the reference, without those that are too frequent
// within the read or repetitive in the reference (Li 2021); same as hapgpu/longread/seed/seeds.py.

#include "common/warp.cuh"
#include "longread/batches.cuh"
#include "longread/seed/kmer.cuh"

namespace {

using Word = unsigned long long;

constexpr int kCounterBits = 12;
constexpr int kMaxOccurrences = 4095;  // of a seed that can be kept

__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int warp_count() { return gridDim.x * (blockDim.x / kWarpLanes); }

// Highest bit set; -1 if there is none.
__device__ inline int highest(unsigned bits) { return 31 - __clz(bits); }

// Limit above which a key is too frequent in a read.
struct Limit {
    int cutoff;
    float fraction_limit;

    __device__ Limit(long long minimizers, int max_count, float fraction)
        : cutoff(max_count), fraction_limit(__fmul_rn(__ll2float_rn(minimizers), fraction)) {}

    __device__ bool is_exceeded(int count) const {
        return count > cutoff && __int2float_rn(count) > fraction_limit;
    }
};

// Hash table of counts of keys per read, with open addressing; an owner is the number + 1 of the
// first minimizer with the key, 0 for an empty slot.
struct KeyTable {
    unsigned* owners;
    int* counts;
    long long capacity;  // a power of 2, larger than the number of keys

    // First slot of a key of the read whose minimizers start at `start`.
    __device__ long long first_slot(Word key, long long start) const {
        return ((key * kMix + start) * kMix >> 32) & (capacity - 1);
    }

    __device__ long long next(long long slot) const { return (slot + 1) & (capacity - 1); }

    __device__ static bool is_same(
        unsigned owner, const Word* keys, Word key, long long start, long long end
    ) {
        const long long first = owner - 1ll;
        return first >= start && first < end && keys[first] == key;
    }
};

// Minimizers of a read with their numbers of occurrences, 0 if there are none; the numbers of
// dropped seeds are negated. A whole warp calls the functions.
struct ReadSeeds {
    const Word* keys;
    const unsigned* positions;
    int* occurrence_counts;
    int count;
    int cutoff;        // occurrences above which a seed is repetitive
    const int* steps;  // fewest bases of a run of repetitive seeds to keep 1, 2, ... seeds
    int step_count;

    __device__ int occurrences(int at, int end) const {
        return at < end ? occurrence_counts[at] : 0;
    }
    __device__ int position(int at) const { return positions[at] >> 1; }

    __device__ int kept_of_run(int bases) const;
    __device__ int count_in_range(int start, int end, int min_count, int max_count) const;
    __device__ void drop_all() const;
    __device__ void drop_from_run(int start, int end, int kept) const;
    __device__ void drop_from_runs(int length) const;
    __device__ int covered() const;
};

// Number of seeds to keep of a run of `bases` bases.
__device__ __forceinline__ int ReadSeeds::kept_of_run(int bases) const {
    int kept = 0;
    for (int first = 0; first < step_count; first += kWarpLanes) {
        const int at = first + lane_id();
        kept += __popc(__ballot_sync(kAllLanes, at < step_count && steps[at] <= bases));
    }
    return kept;
}

// Number of seeds between `start` and `end` with `min_count` to `max_count` occurrences.
__device__ __forceinline__ int ReadSeeds::count_in_range(
    int start, int end, int min_count, int max_count
) const {
    int found = 0;
    for (int first = start; first < end; first += kWarpLanes) {
        const int own = occurrences(first + lane_id(), end);
        found += __popc(__ballot_sync(kAllLanes, own >= min_count && own <= max_count));
    }
    return found;
}

__device__ __forceinline__ void ReadSeeds::drop_all() const {
    for (int at = lane_id(); at < count; at += kWarpLanes) {
        if (occurrence_counts[at] > cutoff) occurrence_counts[at] = -occurrence_counts[at];
    }
    __syncwarp();
}

// Drops repetitive seeds except the `kept` with the fewest occurrences, the first of ties.
__device__ __forceinline__ void ReadSeeds::drop_from_run(int start, int end, int kept) const {
    int limit = kept > 0 ? kMaxOccurrences + 1 : 0;  // seeds with fewer occurrences are kept
    int spare = 0;  // number of seeds to keep with exactly `limit` occurrences
    if (kept > 0 && count_in_range(start, end, cutoff + 1, kMaxOccurrences) > kept) {
        int low = cutoff;
        limit = kMaxOccurrences;
        while (limit - low > 1) {
            const int middle = (low + limit) / 2;
            if (count_in_range(start, end, cutoff + 1, middle) < kept) {
                low = middle;
            } else {
                limit = middle;
            }
        }
        spare = kept - count_in_range(start, end, cutoff + 1, limit - 1);
    }
    for (int first = start; first < end; first += kWarpLanes) {
        const int at = first + lane_id();
        const int own = occurrences(at, end);
        const unsigned ties = __ballot_sync(kAllLanes, own == limit);
        const bool is_spared = own == limit && __popc(ties & lower_lanes()) < spare;
        if (own > cutoff && own >= limit && !is_spared) occurrence_counts[at] = -own;
        spare -= __popc(ties);
    }
    __syncwarp();
}

// Drops most seeds of each run of repetitive seeds, between two other seeds or ends of the read.
__device__ __forceinline__ void ReadSeeds::drop_from_runs(int length) const {
    int last_usual = -1;
    bool is_in_run = false;
    for (int first = 0; first <= count; first += kWarpLanes) {
        const int at = first + lane_id();
        const int own = occurrences(at, count);
        // The end of the read ends a run too.
        const bool is_usual = at == count || (own > 0 && own <= cutoff);
        const unsigned usual = __ballot_sync(kAllLanes, is_usual);
        const unsigned repetitive = __ballot_sync(kAllLanes, own > cutoff);
        const unsigned lower = (usual | repetitive) & lower_lanes();
        const bool is_after_run = lower ? repetitive >> highest(lower) & 1 : is_in_run;
        unsigned ends = __ballot_sync(kAllLanes, is_usual && is_after_run);
        for (; ends; ends &= ends - 1) {
            const int lane = __ffs(ends) - 1;
            const int end = first + lane;
            const unsigned usual_before = usual & ((1u << lane) - 1);
            if (usual_before) last_usual = first + highest(usual_before);
            const int start_position = last_usual < 0 ? 0 : position(last_usual);
            const int bases = (end < count ? position(end) : length) - start_position;
            drop_from_run(last_usual + 1, end, kept_of_run(bases));
        }
        if (usual) last_usual = first + highest(usual);
        if (usual | repetitive) is_in_run = repetitive >> highest(usual | repetitive) & 1;
    }
}

// Number of bases of the read that dropped seeds cover.
__device__ __forceinline__ int ReadSeeds::covered() const {
    int bases = 0;
    int previous_end = 0;  // end of the previous dropped seed
    for (int first = 0; first < count; first += kWarpLanes) {
        const int at = first + lane_id();
        const bool is_dropped = occurrences(at, count) < 0;
        const unsigned dropped = __ballot_sync(kAllLanes, is_dropped);
        if (!dropped) continue;
        const int end = is_dropped ? position(at) + 1 : 0;
        const unsigned lower = dropped & lower_lanes();
        const int lower_end = __shfl_sync(kAllLanes, end, max(highest(lower), 0));
        if (is_dropped) {
            const int span = keys[at] & ((1 << kSpanBits) - 1);
            bases += end - max(end - span, lower ? lower_end : previous_end);
        }
        previous_end = __shfl_sync(kAllLanes, end, highest(dropped));
    }
    return warp_sum(bases);
}

}  // namespace

// Marks minimizers whose keys may be too frequent in their read: keys share counters. One thread
// block per read.
extern "C" __global__ void __launch_bounds__(256) suspect_keys(
    const unsigned long long* keys, const long long* offsets, unsigned char* is_frequent,
    int* suspects, int reads, int cutoff, float fraction
) {
    __shared__ int counters[1 << kCounterBits];
    int found = 0;
    for (int read = blockIdx.x; read < reads; read += gridDim.x) {
        const long long start = offsets[read], end = offsets[read + 1];
        const Limit limit(end - start, cutoff, fraction);
        if (end - start <= cutoff) continue;
        for (int k = threadIdx.x; k < 1 << kCounterBits; k += blockDim.x) counters[k] = 0;
        __syncthreads();
        for (long long k = start + threadIdx.x; k < end; k += blockDim.x) {
            atomicAdd(&counters[keys[k] * kMix >> (64 - kCounterBits)], 1);
        }
        __syncthreads();
        for (long long k = start + threadIdx.x; k < end; k += blockDim.x) {
            if (limit.is_exceeded(counters[keys[k] * kMix >> (64 - kCounterBits)])) {
                is_frequent[k] = 1;
                ++found;
            }
        }
        __syncthreads();
    }
    if (found) atomicAdd(suspects, found);
}

// Counts the keys of marked minimizers; one warp per read.
extern "C" __global__ void __launch_bounds__(256) count_suspects(
    const unsigned long long* keys, const long long* offsets, const unsigned char* is_frequent,
    unsigned* owners, int* counts, int reads, long long capacity
) {
    const KeyTable table{owners, counts, capacity};
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long start = offsets[read], end = offsets[read + 1];
        for (long long k = start + lane_id(); k < end; k += kWarpLanes) {
            if (!is_frequent[k]) continue;
            long long slot = table.first_slot(keys[k], start);
            while (true) {
                const unsigned owner = atomicCAS(&owners[slot], 0u, (unsigned)k + 1);
                if (!owner || table.is_same(owner, keys, keys[k], start, end)) break;
                slot = table.next(slot);
            }
            atomicAdd(&counts[slot], 1);
        }
    }
}

// Clears the marks of minimizers that are not too frequent by these counts; one warp per read.
extern "C" __global__ void __launch_bounds__(256) confirm_suspects(
    const unsigned long long* keys, const long long* offsets, unsigned char* is_frequent,
    const unsigned* owners, const int* counts, int reads, int cutoff, float fraction,
    long long capacity
) {
    const KeyTable table{nullptr, nullptr, capacity};
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long start = offsets[read], end = offsets[read + 1];
        const Limit limit(end - start, cutoff, fraction);
        for (long long k = start + lane_id(); k < end; k += kWarpLanes) {
            if (!is_frequent[k]) continue;
            long long slot = table.first_slot(keys[k], start);
            while (!table.is_same(owners[slot], keys, keys[k], start, end)) slot = table.next(slot);
            is_frequent[k] = limit.is_exceeded(counts[slot]);
        }
    }
}

// Occurrences of each minimizer, none of marked minimizers; one thread per minimizer.
extern "C" __global__ void __launch_bounds__(256) look_up(
    const unsigned long long* keys, const unsigned char* is_frequent, const unsigned* directory,
    const unsigned long long* entries, long long* first_occurrences, int* occurrence_counts,
    long long minimizers, int directory_bits
) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < minimizers;
         k += stride) {
        const Word product = (keys[k] >> kSpanBits) * kMix;
        const Word bucket = product >> (64 - directory_bits);
        Word low = directory[bucket];
        const Word end = directory[bucket + 1];
        Word high = end;
        while (low < high) {
            const Word middle = (low + high) / 2;
            if (entries[2 * middle] < product) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Word first = 0, next_first = 0;
        if (low < end && entries[2 * low] == product && !is_frequent[k]) {
            first = entries[2 * low + 1];
            next_first = entries[2 * low + 3];
        }
        first_occurrences[k] = first;
        occurrence_counts[k] = (int)(next_first - first);
    }
}

// Drops repetitive seeds by negating their numbers of occurrences, and counts the other seeds;
// without steps it drops all repetitive seeds. One warp per read.
extern "C" __global__ void __launch_bounds__(256) drop_repetitive(
    const unsigned long long* keys, const unsigned* positions, const long long* offsets,
    const int* lengths, const int* steps, int* occurrence_counts, long long* seed_counts,
    int* repeat_lengths, int reads, int cutoff, int step_count
) {
    if (blockIdx.x == 0 && threadIdx.x == 0) seed_counts[0] = 0;
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long start = offsets[read];
        const int count = (int)(offsets[read + 1] - start);
        const ReadSeeds own{
            keys + start, positions + start, occurrence_counts + start, count, cutoff, steps,
            step_count};
        constexpr int kAny = 0x7fffffff;
        int seeds = own.count_in_range(0, count, 1, kAny);
        int bases = 0;
        if (own.count_in_range(0, count, 1, cutoff) < seeds) {
            if (!step_count) {
                own.drop_all();
            } else if (seeds > 1) {
                own.drop_from_runs(lengths[read]);
            }
            seeds = own.count_in_range(0, count, 1, kAny);
            bases = own.covered();
        }
        if (lane_id() == 0) {
            seed_counts[read + 1] = seeds;
            repeat_lengths[read] = bases;
        }
    }
}

// Writes the seeds that are not dropped; one warp per read.
extern "C" __global__ void __launch_bounds__(256) write_seeds(
    const __grid_constant__ Minimizers minimizers, const unsigned char* is_frequent,
    const long long* minimizer_occurrences, const int* minimizer_occurrence_counts,
    const __grid_constant__ Seeds seeds
) {
    for (int read = warp_id(); read < minimizers.reads; read += warp_count()) {
        const long long start = minimizers.offsets[read], end = minimizers.offsets[read + 1];
        long long to = seeds.offsets[read];
        for (long long first = start; first < end; first += kWarpLanes) {
            const long long at = first + lane_id();
            const int own_count = at < end ? minimizer_occurrence_counts[at] : 0;
            const unsigned kept = __ballot_sync(kAllLanes, own_count > 0);
            if (own_count > 0) {
                const long long own = to + __popc(kept & lower_lanes());
                const Word key = minimizers.keys[at];
                long long before = at - 1, after = at + 1;  // among unmarked minimizers
                while (before >= start && is_frequent[before]) --before;
                while (after < end && is_frequent[after]) ++after;
                const Word hash = key >> kSpanBits;
                const auto is_equal = [&](long long other) {
                    return minimizers.keys[other] >> kSpanBits == hash;
                };
                seeds.is_tandem[own] =
                    (before >= start && is_equal(before)) || (after < end && is_equal(after));
                seeds.positions[own] = minimizers.positions[at];
                seeds.spans[own] = (unsigned char)key;
                seeds.first_occurrences[own] = minimizer_occurrences[at];
                seeds.occurrence_counts[own] = own_count;
            }
            to += __popc(kept);
        }
    }
}
