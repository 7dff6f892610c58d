// Minimizers of reads that are looked up in the index of the reference, without those that are
// too frequent in the read itself or repetitive in the reference (Li 2021).

#include "common/warp.cuh"
#include "chaining/kmer.cuh"

namespace {

using Word = unsigned long long;

constexpr int kCounterBits = 12;
constexpr int kMaxOccurrences = 4095;  // hits above which no seed is kept

__device__ inline int warp_id() { return (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes; }
__device__ inline int warp_count() { return gridDim.x * (blockDim.x / kWarpLanes); }
__device__ inline unsigned lower_lanes() { return (1u << lane_id()) - 1; }

// Highest bit that is set; -1 if none is.
__device__ inline int highest(unsigned bits) { return 31 - __clz(bits); }

__device__ inline int warp_sum(int value) {
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
}

// From how often on a key is too frequent in a read.
struct Limit {
    int cutoff;
    float share;

    __device__ Limit(long long minimizers, int most, float fraction)
        : cutoff(most), share(__fmul_rn(__ll2float_rn(minimizers), fraction)) {}

    __device__ bool is_exceeded(int count) const {
        return count > cutoff && __int2float_rn(count) > share;
    }
};

// Counts of keys, each of one read, by open addressing; an owner is the number + 1 of the first
// minimizer that came with the key, 0 if none did.
struct KeyTable {
    unsigned* owners;
    int* counts;
    long long capacity;  // a power of 2, more than there are keys

    // First place of a minimizer's key; minimizers from begin to end are of its read.
    __device__ long long home(Word key, long long begin) const {
        return ((key * kMix + begin) * kMix >> 32) & (capacity - 1);
    }

    __device__ long long next(long long slot) const { return (slot + 1) & (capacity - 1); }

    __device__ static bool is_same(
        unsigned owner, const Word* keys, Word key, long long begin, long long end
    ) {
        const long long first = owner - 1ll;
        return first >= begin && first < end && keys[first] == key;
    }
};

// Minimizers of a read with the hits of each, 0 where there are none; those of dropped seeds are
// made negative. Its functions are called by a whole warp.
struct ReadSeeds {
    const Word* keys;
    const unsigned* places;
    int* hit_counts;
    int count;
    int cutoff;        // hits above which a seed is repetitive
    const int* steps;  // bases a run of repetitive seeds needs for another of them to be kept
    int step_count;

    __device__ int hits(int at, int end) const { return at < end ? hit_counts[at] : 0; }
    __device__ int position(int at) const { return places[at] >> 1; }

    __device__ int kept_of_run(int bases) const;
    __device__ int count_with_hits(int begin, int end, int least, int most) const;
    __device__ void drop_all() const;
    __device__ void drop_from_run(int begin, int end, int kept) const;
    __device__ void drop_from_runs(int length) const;
    __device__ int covered() const;
};

// Seeds to keep of a run that has so many bases.
__device__ __forceinline__ int ReadSeeds::kept_of_run(int bases) const {
    int kept = 0;
    for (int first = 0; first < step_count; first += kWarpLanes) {
        const int at = first + lane_id();
        kept += __popc(__ballot_sync(kAllLanes, at < step_count && steps[at] <= bases));
    }
    return kept;
}

// Seeds between begin and end that have from least to most hits.
__device__ __forceinline__ int ReadSeeds::count_with_hits(int begin, int end, int least, int most) const {
    int found = 0;
    for (int first = begin; first < end; first += kWarpLanes) {
        const int own = hits(first + lane_id(), end);
        found += __popc(__ballot_sync(kAllLanes, own >= least && own <= most));
    }
    return found;
}

__device__ __forceinline__ void ReadSeeds::drop_all() const {
    for (int at = lane_id(); at < count; at += kWarpLanes) {
        if (hit_counts[at] > cutoff) hit_counts[at] = -hit_counts[at];
    }
    __syncwarp();
}

// Drops repetitive seeds but those with the fewest hits, the first of equals.
__device__ __forceinline__ void ReadSeeds::drop_from_run(int begin, int end, int kept) const {
    int limit = kept > 0 ? kMaxOccurrences + 1 : 0;  // seeds with fewer hits are kept
    int spare = 0;                                    // and so many of those that have just these
    if (kept > 0 && count_with_hits(begin, end, cutoff + 1, kMaxOccurrences) > kept) {
        int low = cutoff;
        limit = kMaxOccurrences;
        while (limit - low > 1) {
            const int middle = (low + limit) / 2;
            if (count_with_hits(begin, end, cutoff + 1, middle) < kept) {
                low = middle;
            } else {
                limit = middle;
            }
        }
        spare = kept - count_with_hits(begin, end, cutoff + 1, limit - 1);
    }
    for (int first = begin; first < end; first += kWarpLanes) {
        const int at = first + lane_id();
        const int own = hits(at, end);
        const unsigned ties = __ballot_sync(kAllLanes, own == limit);
        const bool is_spared = own == limit && __popc(ties & lower_lanes()) < spare;
        if (own > cutoff && own >= limit && !is_spared) hit_counts[at] = -own;
        spare -= __popc(ties);
    }
    __syncwarp();
}

// Drops most seeds of each run of repetitive ones, between two that are not or the read's ends.
__device__ __forceinline__ void ReadSeeds::drop_from_runs(int length) const {
    int last_usual = -1;
    bool is_in_run = false;
    for (int first = 0; first <= count; first += kWarpLanes) {
        const int at = first + lane_id();
        const int own = hits(at, count);
        const bool is_usual = at == count || (own > 0 && own <= cutoff);  // the end ends runs too
        const unsigned usual = __ballot_sync(kAllLanes, is_usual);
        const unsigned repetitive = __ballot_sync(kAllLanes, own > cutoff);
        const unsigned lower = (usual | repetitive) & lower_lanes();
        const bool is_behind_run = lower ? repetitive >> highest(lower) & 1 : is_in_run;
        unsigned ends = __ballot_sync(kAllLanes, is_usual && is_behind_run);
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

// Bases of the read under dropped seeds.
__device__ __forceinline__ int ReadSeeds::covered() const {
    int bases = 0;
    int behind = 0;  // the last dropped seed
    for (int first = 0; first < count; first += kWarpLanes) {
        const int at = first + lane_id();
        const bool is_dropped = hits(at, count) < 0;
        const unsigned dropped = __ballot_sync(kAllLanes, is_dropped);
        if (!dropped) continue;
        const int end = is_dropped ? position(at) + 1 : 0;
        const unsigned lower = dropped & lower_lanes();
        const int lower_end = __shfl_sync(kAllLanes, end, max(highest(lower), 0));
        if (is_dropped) {
            const int span = keys[at] & ((1 << kSpanBits) - 1);
            bases += end - max(end - span, lower ? lower_end : behind);
        }
        behind = __shfl_sync(kAllLanes, end, highest(dropped));
    }
    return warp_sum(bases);
}

}  // namespace

// Marks minimizers whose keys may be too frequent in their read: counters are shared by keys. A
// block a read.
extern "C" __global__ void __launch_bounds__(256) suspect_keys(
    const unsigned long long* keys, const long long* offsets, unsigned char* is_frequent,
    int* suspects, long long minimizers, int reads, int cutoff, float fraction, int one
) {
    __shared__ int counters[1 << kCounterBits];
    int found = 0;
    for (int read = blockIdx.x; read < reads; read += gridDim.x) {
        const long long begin = offsets[read], end = offsets[read + 1];
        const Limit limit(end - begin, cutoff, fraction);
        if (end - begin <= cutoff) continue;
        for (int k = threadIdx.x; k < 1 << kCounterBits; k += blockDim.x) counters[k] = 0;
        __syncthreads();
        for (long long k = begin + threadIdx.x; k < end; k += blockDim.x) {
            atomicAdd(&counters[keys[k] * kMix >> (64 - kCounterBits)], 1);
        }
        __syncthreads();
        for (long long k = begin + threadIdx.x; k < end; k += blockDim.x) {
            if (limit.is_exceeded(counters[keys[k] * kMix >> (64 - kCounterBits)])) {
                is_frequent[k] = 1;
                ++found;
            }
        }
        __syncthreads();
    }
    if (found) atomicAdd(suspects, found);
}

// Counts the keys of marked minimizers. A warp a read, as of the kernels that follow.
extern "C" __global__ void __launch_bounds__(256) count_suspects(
    const unsigned long long* keys, const long long* offsets, const unsigned char* is_frequent,
    unsigned* owners, int* counts, long long minimizers, int reads, long long capacity
) {
    const KeyTable table{owners, counts, capacity};
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long begin = offsets[read], end = offsets[read + 1];
        for (long long k = begin + lane_id(); k < end; k += kWarpLanes) {
            if (!is_frequent[k]) continue;
            long long slot = table.home(keys[k], begin);
            while (true) {
                const unsigned owner = atomicCAS(&owners[slot], 0u, (unsigned)k + 1);
                if (!owner || table.is_same(owner, keys, keys[k], begin, end)) break;
                slot = table.next(slot);
            }
            atomicAdd(&counts[slot], 1);
        }
    }
}

// Leaves marked what is too frequent by these counts.
extern "C" __global__ void __launch_bounds__(256) confirm_suspects(
    const unsigned long long* keys, const long long* offsets, unsigned char* is_frequent,
    const unsigned* owners, const int* counts, long long minimizers, int reads, int cutoff,
    float fraction, long long capacity
) {
    const KeyTable table{nullptr, nullptr, capacity};
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long begin = offsets[read], end = offsets[read + 1];
        const Limit limit(end - begin, cutoff, fraction);
        for (long long k = begin + lane_id(); k < end; k += kWarpLanes) {
            if (!is_frequent[k]) continue;
            long long slot = table.home(keys[k], begin);
            while (!table.is_same(owners[slot], keys, keys[k], begin, end)) slot = table.next(slot);
            is_frequent[k] = limit.is_exceeded(counts[slot]);
        }
    }
}

// Hits of each minimizer, none of those that are marked; a thread a minimizer.
extern "C" __global__ void __launch_bounds__(256) look_up(
    const unsigned long long* keys, const unsigned char* is_frequent, const unsigned* directory,
    const unsigned long long* entries, long long* first_hits, int* hit_counts,
    long long minimizers, long long buckets, long long distinct, int directory_bits
) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < minimizers;
         k += stride) {
        const Word wanted = (keys[k] >> kSpanBits) * kMix;
        const Word bucket = wanted >> (64 - directory_bits);
        Word low = directory[bucket];
        const Word end = directory[bucket + 1];
        Word high = end;
        while (low < high) {
            const Word middle = (low + high) / 2;
            if (entries[2 * middle] < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Word first = 0, behind = 0;
        if (low < end && entries[2 * low] == wanted && !is_frequent[k]) {
            first = entries[2 * low + 1];
            behind = entries[2 * low + 3];
        }
        first_hits[k] = first;
        hit_counts[k] = (int)(behind - first);
    }
}

// Drops repetitive seeds, which makes their hit counts negative, and counts those that are left;
// without steps it drops all of them.
extern "C" __global__ void __launch_bounds__(256) drop_repetitive(
    const unsigned long long* keys, const unsigned* places, const long long* offsets,
    const int* lengths, const int* steps, int* hit_counts, long long* seed_counts,
    int* repeat_lengths, long long minimizers, int reads, int cutoff, int step_count
) {
    if (blockIdx.x == 0 && threadIdx.x == 0) seed_counts[0] = 0;
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long begin = offsets[read];
        const int count = (int)(offsets[read + 1] - begin);
        const ReadSeeds own{
            keys + begin, places + begin, hit_counts + begin, count, cutoff, steps, step_count};
        constexpr int kAny = 0x7fffffff;
        int seeds = own.count_with_hits(0, count, 1, kAny);
        int bases = 0;
        if (own.count_with_hits(0, count, 1, cutoff) < seeds) {
            if (!step_count) {
                own.drop_all();
            } else if (seeds > 1) {
                own.drop_from_runs(lengths[read]);
            }
            seeds = own.count_with_hits(0, count, 1, kAny);
            bases = own.covered();
        }
        if (lane_id() == 0) {
            seed_counts[read + 1] = seeds;
            repeat_lengths[read] = bases;
        }
    }
}

// Writes the seeds that are left.
extern "C" __global__ void __launch_bounds__(256) write_seeds(
    const unsigned long long* keys, const unsigned* minimizer_places, const long long* offsets,
    const unsigned char* is_frequent, const long long* minimizer_hits,
    const int* minimizer_hit_counts, const long long* seed_offsets, unsigned* places,
    unsigned char* spans, unsigned char* is_tandem, long long* first_hits, int* hit_counts,
    long long minimizers, int reads, long long seeds
) {
    for (int read = warp_id(); read < reads; read += warp_count()) {
        const long long begin = offsets[read], end = offsets[read + 1];
        long long to = seed_offsets[read];
        for (long long first = begin; first < end; first += kWarpLanes) {
            const long long at = first + lane_id();
            const int own_hits = at < end ? minimizer_hit_counts[at] : 0;
            const unsigned kept = __ballot_sync(kAllLanes, own_hits > 0);
            if (own_hits > 0) {
                const long long own = to + __popc(kept & lower_lanes());
                const Word key = keys[at];
                long long before = at - 1, after = at + 1;  // of those that are not marked
                while (before >= begin && is_frequent[before]) --before;
                while (after < end && is_frequent[after]) ++after;
                const Word hash = key >> kSpanBits;
                is_tandem[own] = (before >= begin && keys[before] >> kSpanBits == hash) ||
                                 (after < end && keys[after] >> kSpanBits == hash);
                places[own] = minimizer_places[at];
                spans[own] = (unsigned char)key;
                first_hits[own] = minimizer_hits[at];
                hit_counts[own] = own_hits;
            }
            to += __popc(kept);
        }
    }
}
