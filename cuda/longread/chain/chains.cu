// Chains, traced back from their last anchors; same as hapgpu/longread/chain/chains.py.
//
// A chain may end at an anchor with a sufficient score, an end. The ends of a read are ranked by
// score. No predecessor is in another segment (`mark_anchors`), so the chains of each segment are
// traced independently of other segments, from its ends in descending order of rank.

#include "common/binary_search.cuh"
#include "common/warp.cuh"

namespace {

constexpr int kThreads = 128;
constexpr int kMaxAlone = kWarpLanes;  // a lane traces the chains of a segment with so many ends

// Two running counts: one in the low half of a number, one in the high half.
typedef unsigned long long Counts;
constexpr Counts kLow = 1, kHigh = 1ull << 32;

__device__ inline int low_count(Counts counts) { return static_cast<int>(counts & (kHigh - 1)); }
__device__ inline int high_count(Counts counts) { return static_cast<int>(counts >> 32); }
__device__ inline Counts counts_before(const Counts* counts, long long row) {
    return row ? counts[row - 1] : 0;
}

// Wide enough to be added to a number of any anchor.
__device__ inline long long thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline long long thread_count() { return gridDim.x * blockDim.x; }

}  // namespace

// Marks the anchors at which a chain may end (low half) and those at which a segment starts (high
// half), but for the first anchors of reads; one thread per anchor.
extern "C" __global__ void __launch_bounds__(kThreads) mark_anchors(
    const unsigned long long* x, const int* scores, Counts* marks, int anchors, int max_distance,
    int min_score
) {
    for (long long i = thread_id(); i < anchors; i += thread_count()) {
        const bool is_start = i == 0 || x[i] >> 32 != x[i - 1] >> 32
            || x[i] - x[i - 1] > static_cast<unsigned>(max_distance);
        marks[i] = (scores[i] >= min_score ? kLow : 0) | (is_start ? kHigh : 0);
    }
}

// Marks the first anchors of reads as starts of segments; one thread per read.
extern "C" __global__ void __launch_bounds__(kThreads) mark_reads(
    const long long* offsets, Counts* marks, int reads
) {
    for (long long read = thread_id(); read < reads; read += thread_count()) {
        if (offsets[read] < offsets[read + 1]) marks[offsets[read]] |= kHigh;
    }
}

// Lists the ends, with their scores and segments, and the first end of each read and their number;
// one thread per anchor and per read. `counts` are the running sums of the marks.
extern "C" __global__ void __launch_bounds__(kThreads) list_ends(
    const int* scores, const Counts* counts, const long long* offsets, unsigned long long* keys,
    unsigned* anchors_of_ends, long long* end_offsets, int* end_counts, int anchors, int reads
) {
    for (long long i = thread_id(); i < anchors; i += thread_count()) {
        const int row = low_count(counts_before(counts, i));
        if (low_count(counts[i]) == row) continue;
        keys[row] = static_cast<unsigned>(scores[i]);
        anchors_of_ends[row] = static_cast<unsigned>(i);
    }
    const auto offset_of = [=](long long read) {
        return low_count(counts_before(counts, offsets[read]));
    };
    for (long long read = thread_id(); read <= reads; read += thread_count()) {
        end_offsets[read] = offset_of(read);
        if (read < reads) end_counts[read] = offset_of(read + 1) - offset_of(read);
    }
}

// The segment of each end; one thread per end.
extern "C" __global__ void __launch_bounds__(kThreads) find_segments(
    const Counts* counts, const unsigned* anchors_of_ends, int* segments, int ends
) {
    for (long long end = thread_id(); end < ends; end += thread_count()) {
        segments[end] = high_count(counts[anchors_of_ends[end]]);
    }
}

namespace {

struct TracedChain {
    int length, score;
};

struct Limits {
    int max_drop, min_count, min_score;
};

// The arrays of all reads. Anchors are numbered in the batch, predecessors within their read.
struct Traces {
    const int* scores;
    const int* predecessors;
    unsigned char* is_taken;  // whether an anchor belongs to a chain
    int* path;                // anchors of chains, each chain from its first anchor to its last
    // Of each end: the length of its chain with a 1 in the high half, or 0; and where it is.
    Counts* chains;
    int* path_starts;
    int* chain_scores;
};

// Tracer of the chains of one segment. The path of the segment is filled downwards from the row of
// its last end, `next`: it has no more anchors than there are up to this end.
struct Tracer {
    Traces traces;
    Limits limits;
    int read_start, next;

    __device__ int predecessor(int anchor) const {
        const int before = traces.predecessors[anchor];
        return before < 0 ? -1 : read_start + before;
    }

    // Traces a chain from its last anchor back to its highest score, into the path. The search
    // stops at a taken anchor, or once the score has dropped too much. By one lane.
    __device__ TracedChain trace_back(int end) const {
        const int end_score = traces.scores[end];
        TracedChain best{0, 0};
        int anchor = end, before = predecessor(end), length = 0;
        bool goes_on = true;
        while (goes_on) {
            traces.path[next - length++] = anchor;
            anchor = before;
            int score = end_score;
            goes_on = anchor >= 0;
            if (goes_on) {  // these loads are independent
                before = predecessor(anchor);
                goes_on = !traces.is_taken[anchor];
                score -= traces.scores[anchor];
            }
            if (score > best.score) {
                best = {length, score};
            } else if (best.score - score > limits.max_drop) {
                break;
            }
        }
        return best;
    }

    // Marks the anchors of the chain just traced as taken; by `lanes` lanes.
    __device__ void take(TracedChain chain, int lane, int lanes) const {
        for (int k = lane; k < chain.length; k += lanes) {
            traces.is_taken[traces.path[next - k]] = 1;
        }
    }

    // Keeps the chain just traced from an end, if it is long enough and scores enough.
    __device__ void keep(TracedChain chain, long long end) {
        if (chain.score < limits.min_score || chain.length < max(limits.min_count, 1)) return;
        next -= chain.length;
        traces.chains[end] = kHigh | static_cast<unsigned>(chain.length);
        traces.path_starts[end] = next + 1;
        traces.chain_scores[end] = chain.score;
    }
};

// Ends in the order of reads and ranks; `order` lists them by segment, in each ascending by rank.
struct Ends {
    const unsigned* anchors;
    const int* segments;
    const long long* order;
    int count;

    __device__ int anchor(int row) const { return static_cast<int>(anchors[order[row]]); }

    // Whether two rows are of one segment.
    __device__ bool are_together(int row, int other) const {
        return other < count && segments[order[row]] == segments[order[other]];
    }
};

// The rows of a segment, and its last anchor with an end.
struct Group {
    int first, size, last_anchor;

    // Adds the next end of the segment, if there is one.
    __device__ bool grow(const Ends& ends) {
        if (!ends.are_together(first, first + size)) return false;
        last_anchor = max(last_anchor, ends.anchor(first + size++));
        return true;
    }

    // Adds all further ends of the segment; by a warp.
    __device__ void complete(const Ends& ends) {
        unsigned more = kAllLanes;
        for (; more == kAllLanes; size += __popc(more)) {
            const int row = first + size + lane_id();
            const bool is_part = ends.are_together(first, row);
            if (is_part) last_anchor = max(last_anchor, ends.anchor(row));
            more = __ballot_sync(kAllLanes, is_part);
        }
        last_anchor = warp_max(last_anchor);
    }
};

// Traces the chains of a segment; by one lane.
__device__ inline void trace_alone(const Ends& ends, Group group, Tracer tracer) {
    for (int row = group.first + group.size - 1; row >= group.first; --row) {
        const int anchor = ends.anchor(row);
        if (tracer.traces.is_taken[anchor]) continue;
        const TracedChain chain = tracer.trace_back(anchor);
        tracer.take(chain, 0, 1);
        tracer.keep(chain, ends.order[row]);
    }
}

// The same by a warp: 32 ends are looked at together, and chains are marked together.
__device__ inline void trace_together(const Ends& ends, Group group, Tracer tracer) {
    for (int after = group.first + group.size; after > group.first; after -= kWarpLanes) {
        const int row = after - 1 - lane_id();
        bool is_open = row >= group.first;
        const int anchor = is_open ? ends.anchor(row) : 0;
        while (true) {
            const bool may_end = is_open && !tracer.traces.is_taken[anchor];
            const unsigned open = __ballot_sync(kAllLanes, may_end);
            if (!open) break;
            const int lane = __ffs(open) - 1;
            TracedChain chain{0, 0};
            if (lane_id() == lane) {
                chain = tracer.trace_back(anchor);
                is_open = false;
            }
            chain.length = __shfl_sync(kAllLanes, chain.length, lane);
            chain.score = __shfl_sync(kAllLanes, chain.score, lane);
            __syncwarp();
            tracer.take(chain, lane_id(), kWarpLanes);
            __syncwarp();
            tracer.keep(chain, ends.order[after - 1 - lane]);
        }
    }
}

}  // namespace

// Traces the chains of each segment. One thread per end: the thread of the first end of a segment
// traces all its chains, or its warp does if there are many ends.
extern "C" __global__ void __launch_bounds__(kThreads) trace_chains(
    const __grid_constant__ Traces traces, const __grid_constant__ Ends ends,
    const __grid_constant__ Limits limits, const long long* offsets, int reads
) {
    const auto tracer_of = [&](Group group) {
        const int read = count_at_most(offsets, reads + 1, group.last_anchor) - 1;
        return Tracer{traces, limits, static_cast<int>(offsets[read]), group.last_anchor};
    };
    for (long long base = thread_id() - lane_id(); base < ends.count; base += thread_count()) {
        Group own{static_cast<int>(base) + lane_id(), 0, 0};
        const bool is_first = base + lane_id() < ends.count
            && (own.first == 0 || !ends.are_together(own.first - 1, own.first));
        while (is_first && own.size <= kMaxAlone && own.grow(ends)) {}
        const bool is_large = own.size > kMaxAlone;
        if (is_first && !is_large) trace_alone(ends, own, tracer_of(own));
        for (unsigned large = __ballot_sync(kAllLanes, is_large); large; large &= large - 1) {
            Group group{static_cast<int>(base) + __ffs(large) - 1, 0, 0};
            group.complete(ends);
            trace_together(ends, group, tracer_of(group));
        }
    }
}

// Lists the chains of each read in the order found, by descending rank: the position of the first
// anchor and the end; and the first chain of each read, and their number. One thread per end and per
// read. `counts` are the running sums of the chains.
extern "C" __global__ void __launch_bounds__(kThreads) list_chains(
    const unsigned long long* x, const long long* end_offsets, const int* path,
    const int* path_starts, const Counts* counts, unsigned long long* keys, unsigned* chain_ends,
    long long* chain_offsets, int* chain_counts, int reads, int ends
) {
    const auto offset_of = [=](long long read) {
        return high_count(counts_before(counts, end_offsets[read]));
    };
    for (long long end = thread_id(); end < ends; end += thread_count()) {
        const int number = high_count(counts[end]);  // from 1
        if (number == high_count(counts_before(counts, end))) continue;
        const int read = count_at_most(end_offsets, reads + 1, end) - 1;
        const int row = offset_of(read) + offset_of(read + 1) - number;
        keys[row] = x[path[path_starts[end]]];
        chain_ends[row] = static_cast<unsigned>(end);
    }
    for (long long read = thread_id(); read <= reads; read += thread_count()) {
        chain_offsets[read] = offset_of(read);
        if (read < reads) chain_counts[read] = offset_of(read + 1) - offset_of(read);
    }
}

// Lists the sizes, scores and first rows in the path of chains, given their ends in the final
// order; one thread per chain. The running sum of the sizes gives `anchor_offsets`.
extern "C" __global__ void __launch_bounds__(kThreads) order_chains(
    const unsigned* chain_ends, const Counts* counts, const int* path_starts,
    const int* chain_scores, long long* sizes, int* first_rows, int* kept_scores, int chains
) {
    if (thread_id() == 0) sizes[0] = 0;
    for (long long chain = thread_id(); chain < chains; chain += thread_count()) {
        const unsigned end = chain_ends[chain];
        sizes[chain + 1] = low_count(counts[end]) - low_count(counts_before(counts, end));
        first_rows[chain] = path_starts[end];
        kept_scores[chain] = chain_scores[end];
    }
}

// Gathers the anchors of all chains; one thread per anchor.
extern "C" __global__ void __launch_bounds__(kThreads) gather_chains(
    const unsigned long long* x, const unsigned long long* y, const int* path,
    const int* first_rows, const long long* anchor_offsets, unsigned long long* kept_x,
    unsigned long long* kept_y, int chains, int kept
) {
    for (long long row = thread_id(); row < kept; row += thread_count()) {
        const int chain = count_at_most(anchor_offsets, chains, row) - 1;
        const int anchor = path[first_rows[chain] + (row - anchor_offsets[chain])];
        kept_x[row] = x[anchor];
        kept_y[row] = y[anchor];
    }
}
