// Where the records of a piece of BAM start. The bytes data[begin] to data[end] are cut into
// stretches of `step` bytes. A warp guesses the first record of each stretch; a thread walks from
// the guess to the first record behind the stretch; then each guess must be where the walk before
// comes out. By induction from the first guess, all are records then. Where one is not, a single
// thread walks again: the result never depends on a guess.

#include "io/bam/record.cuh"

constexpr int kWarps = 4;
constexpr int kLongestGuess = 1 << 22;  // bytes; a longer record is found by the walk before

// How a walk ended.
constexpr int kLeft = 0;        // at the first record that starts behind the stretch
constexpr int kIncomplete = 1;  // at a record that the piece does not hold to its end
constexpr int kFaulty = 2;      // at a record of impossible size

constexpr int kProved = 0, kUnproved = 1;

struct Walk {
    long long at;
    int count, stop;
};

// Whether the fields at `at` could be those of a record; they lie before `end`.
__device__ inline bool is_plausible(
    const unsigned char* data, long long at, long long end, int contigs
) {
    const int size = load_i32(data, at);
    if (size < kFixedBytes - 4 + 2 || size > kLongestGuess) return false;
    if (!is_contig(load_i32(data, at + 4), contigs) || load_i32(data, at + 8) < -1) return false;
    const int name = data[at + 12], operations = (int)load_u16(data, at + 16);
    const int bases = load_i32(data, at + 20);
    if (name < 2 || bases < 0 || bases > size) return false;
    if (!is_contig(load_i32(data, at + 24), contigs) || load_i32(data, at + 28) < -1) return false;
    const long long parts = name + 4ll * operations + (bases + 1) / 2 + bases;
    if (kFixedBytes - 4 + parts > size || at + kFixedBytes + name > end) return false;
    const unsigned char letter = data[at + kFixedBytes];
    return letter > ' ' && letter < 127 && data[at + kFixedBytes + name - 1] == 0;
}

// Whether a record and the one behind it could start here.
__device__ inline bool is_start(
    const unsigned char* data, long long at, long long end, int contigs
) {
    if (at + kFixedBytes > end || !is_plausible(data, at, end, contigs)) return false;
    const long long next = at + 4 + load_i32(data, at);
    return next + kFixedBytes > end || is_plausible(data, next, end, contigs);
}

// Walk from record to record until one starts at `stretch_end` or behind, as `walk_records` does.
__device__ inline Walk walk(
    const unsigned char* data, long long at, long long stretch_end, long long end,
    long long max_record, long long* starts
) {
    Walk result = {at, 0, kLeft};
    for (; result.at < stretch_end; ++result.count) {
        if (result.at + kFixedBytes > end) {
            result.stop = kIncomplete;
            return result;
        }
        const long long size = load_i32(data, result.at);
        if (size < kFixedBytes - 4 || load_i32(data, result.at + 20) > size || size > max_record) {
            result.stop = kFaulty;
            return result;
        }
        if (result.at + 4 + size > end) {
            result.stop = kIncomplete;
            return result;
        }
        if (starts) starts[result.count] = result.at;
        result.at += 4 + size;
    }
    return result;
}

__device__ inline long long stretch_end(long long begin, long long end, int step, int stretch) {
    const long long to = begin + (stretch + 1ll) * step;
    return to < end ? to : end;
}

// The first place in each stretch where a record could start, or -1; a warp a stretch.
extern "C" __global__ void __launch_bounds__(32 * kWarps) guess_starts(
    const unsigned char* data,
    long long* guesses,
    long long begin,
    long long end,
    int stretches,
    int step,
    int contigs
) {
    const int stretch = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (stretch >= stretches) return;
    const long long to = stretch_end(begin, end, step, stretch);
    long long found = -1;
    for (long long from = begin + (long long)stretch * step; from < to; from += 32) {
        const long long at = from + lane;
        const unsigned votes = __ballot_sync(~0u, at < to && is_start(data, at, end, contigs));
        if (votes) {
            found = from + __ffs(votes) - 1;
            break;
        }
    }
    if (lane == 0) guesses[stretch] = found;
}

// Walk from each guess to the end of its stretch; a thread a stretch.
extern "C" __global__ void __launch_bounds__(64) walk_stretches(
    const unsigned char* data,
    const long long* guesses,
    int* counts,
    long long* exits,
    int* stops,
    long long begin,
    long long end,
    long long max_record,
    int stretches,
    int step
) {
    const int stretch = blockIdx.x * blockDim.x + threadIdx.x;
    if (stretch >= stretches) return;
    Walk result = {-1, 0, kLeft};
    if (guesses[stretch] >= 0) {
        const long long to = stretch_end(begin, end, step, stretch);
        result = walk(data, guesses[stretch], to, end, max_record, nullptr);
    }
    counts[stretch] = result.count;
    exits[stretch] = result.at;
    stops[stretch] = result.stop;
}

// Where a walk is known to come out: an incomplete record covers the rest of the piece.
__device__ inline long long reached(long long exit, int stop, long long end) {
    return stop == kIncomplete ? end : exit;
}

// Maximum of the values of all threads before this one, and of all; -1 before the first. `shared`
// has a place for each thread.
__device__ inline long long maximum_before(long long value, long long* shared, long long& all) {
    const int thread = threadIdx.x, threads = blockDim.x;
    shared[thread] = value;
    __syncthreads();
    for (int distance = 1; distance < threads; distance *= 2) {
        const long long other = thread >= distance ? shared[thread - distance] : -1;
        __syncthreads();
        if (other > shared[thread]) shared[thread] = other;
        __syncthreads();
    }
    all = shared[threads - 1];
    const long long before = thread ? shared[thread - 1] : -1;
    __syncthreads();
    return before;
}

__device__ inline int sum_before(int value, int* shared, int& all) {
    const int thread = threadIdx.x, threads = blockDim.x;
    shared[thread] = value;
    __syncthreads();
    for (int distance = 1; distance < threads; distance *= 2) {
        const int other = thread >= distance ? shared[thread - distance] : 0;
        __syncthreads();
        shared[thread] += other;
        __syncthreads();
    }
    all = shared[threads - 1];
    const int before = shared[thread] - value;
    __syncthreads();
    return before;
}

// Whether the guess of a stretch agrees with the walks before it: `entry` is where they come out,
// -1 if the stretch is the first with a guess.
__device__ inline bool agrees(long long guess, long long entry, long long to) {
    return entry < 0 || (entry >= to ? guess < 0 : guess == entry);
}

constexpr int kThreads = 1024;

// Prove the guesses of all stretches from the first guess on. One thread block, each thread a run
// of stretches. `rows` gets the number of the first record of each stretch. `result`:
// 0: the first guess, -1 without one; 1: where the last walk came out; 2: records;
// 3: kProved or kUnproved; 4: whether a walk met a faulty record.
extern "C" __global__ void __launch_bounds__(kThreads) prove_starts(
    const long long* guesses,
    const int* counts,
    const long long* exits,
    const int* stops,
    int* rows,
    long long* result,
    long long begin,
    long long end,
    int stretches,
    int step
) {
    __shared__ long long places[kThreads];
    __shared__ int sums[kThreads];
    const int share = (stretches + kThreads - 1) / kThreads;
    const int from = threadIdx.x * share, to = min(from + share, stretches);
    long long farthest = -1, first = -1, last = -1;
    int count = 0, fault = 0;
    for (int k = from; k < to; ++k) {
        count += counts[k];
        if (guesses[k] < 0) continue;
        if (first < 0) first = guesses[k];
        last = exits[k];
        farthest = max(farthest, reached(exits[k], stops[k], end));
        fault |= stops[k] == kFaulty;
    }
    int records;
    long long all;
    long long entry = maximum_before(farthest, places, all);
    int row = sum_before(count, sums, records);
    int is_wrong = 0;
    for (int k = from; k < to; ++k) {
        is_wrong |= !agrees(guesses[k], entry, stretch_end(begin, end, step, k));
        if (guesses[k] >= 0) entry = max(entry, reached(exits[k], stops[k], end));
        rows[k] = row;
        row += counts[k];
    }
    const int is_unproved = __syncthreads_or(is_wrong);
    const int is_faulty = __syncthreads_or(fault);
    // The last guess of all is that of the last thread that has one; the first likewise.
    maximum_before(last >= 0 ? (long long)threadIdx.x : -1, places, all);
    if (threadIdx.x == (all >= 0 ? all : 0)) result[1] = last;
    maximum_before(first >= 0 ? (long long)(kThreads - 1 - threadIdx.x) : -1, places, all);
    if (threadIdx.x == (all >= 0 ? kThreads - 1 - all : 0)) result[0] = first;
    if (threadIdx.x == 0) {
        result[2] = records;
        result[3] = is_unproved ? kUnproved : kProved;
        result[4] = is_faulty;
    }
}

// Walk the true chain, which comes into the piece at `entry`, and replace what does not agree with
// it. One thread: each stretch whose guess was wrong costs a walk that waits for memory.
extern "C" __global__ void __launch_bounds__(32) repair_starts(
    const unsigned char* data,
    long long* guesses,
    int* counts,
    long long* exits,
    int* stops,
    long long begin,
    long long end,
    long long max_record,
    long long entry,
    int stretches,
    int step
) {
    if (threadIdx.x || blockIdx.x) return;
    for (int k = 0; k < stretches; ++k) {
        const long long to = stretch_end(begin, end, step, k);
        if (entry < to && guesses[k] == entry) {
            entry = reached(exits[k], stops[k], end);
        } else {
            Walk result = {-1, 0, kLeft};
            if (entry < to) result = walk(data, entry, to, end, max_record, nullptr);
            guesses[k] = entry < to ? entry : -1;
            counts[k] = result.count;
            exits[k] = result.at;
            stops[k] = result.stop;
            if (entry < to) entry = reached(result.at, result.stop, end);
        }
        if (stops[k] == kFaulty) entry = end;  // the fault is found; the rest does not matter
    }
}

// Write the starts of all records; a thread a stretch.
extern "C" __global__ void __launch_bounds__(64) list_starts(
    const unsigned char* data,
    const long long* guesses,
    const int* rows,
    long long* starts,
    long long begin,
    long long end,
    long long max_record,
    int stretches,
    int step
) {
    const int stretch = blockIdx.x * blockDim.x + threadIdx.x;
    if (stretch >= stretches || guesses[stretch] < 0) return;
    const long long to = stretch_end(begin, end, step, stretch);
    walk(data, guesses[stretch], to, end, max_record, starts + rows[stretch]);
}
