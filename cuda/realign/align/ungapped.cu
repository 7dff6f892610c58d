// Alignments without a gap that are proved to be the best (hapgpu/realign/align/cuda/ungapped.py).
// Same result as hapgpu/realign/align/ungapped.py, which has the proof.

#include "common/cigar.cuh"
#include "common/grid.cuh"
#include "realign/align/outputs.cuh"
#include "realign/pairs.cuh"

namespace {

constexpr int kSectorBytes = 32;

// The most mismatches; score lost by a mismatch, and by a base outside the reference.
struct Rules {
    int max_mismatches;
    int mismatch_loss;
    int outside_loss;
    int match;
};

struct Sequence {
    const unsigned char* bases;
    int size;
};

// Two bits of each of 32 bases, a word per bit. Equal bases have equal bits; of A, C, G and T, others
// have not.
struct Planes {
    unsigned low;
    unsigned high;
};

// Returns the base of this lane of 32 from `start` on. Outside the sequence, it is any base of it:
// diagonals there do not count, nor do bases after the query.
__device__ inline unsigned base_at(const Sequence& sequence, int start) {
    return sequence.bases[min(max(start + lane_id(), 0), sequence.size - 1)];
}

// Returns the lanes whose value has any bit of a mask. The compiler itself would move the bit first.
__device__ inline unsigned lanes_with(unsigned value, unsigned mask) {
#ifdef __CUDACC__
    unsigned lanes;
    asm("{.reg .pred p; .reg .b32 t; and.b32 t, %1, %2; setp.ne.u32 p, t, 0;"
        " vote.sync.ballot.b32 %0, p, 0xffffffff;}"
        : "=r"(lanes)
        : "r"(value), "r"(mask));
    return lanes;
#else
    return __ballot_sync(kAllLanes, (value & mask) != 0);
#endif
}

__device__ inline Planes planes_of(unsigned base) {
    return {lanes_with(base, 2), lanes_with(base, 4)};
}

__device__ inline Planes planes_at(const Sequence& sequence, int start) {
    return planes_of(base_at(sequence, start));
}

// Returns the first `bases` bits, all for 32 or more.
__device__ inline unsigned first_bits(int bases) {
    return bases < kWarpLanes ? (1u << bases) - 1 : kAllLanes;
}

// Returns in which of 32 bases of the query a diagonal differs; the diagonal of each lane starts as
// many bases after the first of `before`.
__device__ inline unsigned differences(
    const Planes& before, const Planes& after, const Planes& query
) {
    const unsigned low = __funnelshift_r(before.low, after.low, lane_id());
    const unsigned high = __funnelshift_r(before.high, after.high, lane_id());
    return (low ^ query.low) | (high ^ query.high);
}

// Counts mismatches of two sequences of one length, at least up to `enough`.
__device__ inline int mismatches(
    const unsigned char* one, const unsigned char* other, int size, int enough
) {
    int count = 0;
    for (int start = 0; start < size && count < enough; start += kWarpLanes) {
        const int k = start + lane_id();
        count += __popc(__ballot_sync(kAllLanes, k < size && one[k] != other[k]));
    }
    return count;
}

// A diagonal: its start in the reference, -1 for none, and its mismatches.
struct Diagonal {
    int first;
    int mismatches;
};

// Diagonals of the lanes that may have fewer mismatches than the best one: `count` mismatches of the
// bits of the first bases, for the lanes of `left`.
struct Candidates {
    int first;
    int count;
    unsigned left;
};

// Counts on with the bits of all other bases; `after` are those of the reference behind the diagonals
// of the last lane.
__device__ inline void count_on(
    const Sequence& reference, const Sequence& query, Planes after, int enough,
    Candidates& candidates
) {
    for (int done = kWarpLanes; done < query.size && candidates.left; done += kWarpLanes) {
        const Planes next = planes_at(reference, candidates.first + done + kWarpLanes);
        const unsigned bits = differences(after, next, planes_at(query, done));
        candidates.count += __popc(bits & first_bits(query.size - done));
        candidates.left &= __ballot_sync(kAllLanes, candidates.count < enough);
        after = next;
    }
}

// Compares candidates base by base, from the last one on.
__device__ inline void compare(
    const Sequence& reference, const Sequence& query, Candidates candidates, Diagonal& best
) {
    while (candidates.left) {
        const int lane = kWarpLanes - 1 - __clz(candidates.left);
        const int first = candidates.first + lane;
        const int found =
            mismatches(reference.bases + first, query.bases, query.size, best.mismatches);
        if (found < best.mismatches) best = {first, found};
        candidates.left &= (1u << lane) - 1;
        candidates.left &= __ballot_sync(kAllLanes, candidates.count < best.mismatches);
    }
}

// Returns the last of the diagonals within the reference with the fewest mismatches.
//
// A lane counts on a diagonal of its own how many bases differ in their two bits: no more than differ
// at all. The few diagonals that these leave are compared base by base.
__device__ inline Diagonal best_diagonal(
    const Sequence& reference, const Sequence& query, int max_mismatches
) {
    Diagonal best = {-1, max_mismatches + 1};
    const int last = reference.size - query.size;
    if (last < 0) return best;
    const Planes head = planes_at(query, 0);
    const unsigned in_head = __ballot_sync(kAllLanes, lane_id() < query.size);
    Planes after = planes_at(reference, last + 1);
    int own = last - kWarpLanes + 1 + lane_id();  // diagonal of this lane
    const unsigned char* bases = reference.bases + max(own, 0);
    unsigned base = *bases;
    for (;;) {
        const Planes here = planes_of(base);
        bases -= own >= kWarpLanes ? kWarpLanes : 0;
        base = *bases;  // is there when the next 32 need it
        const int count = __popc(differences(here, after, head) & in_head);
        const bool is_left = count < best.mismatches && own >= 0;
        if (__any_sync(kAllLanes, is_left)) {
            Candidates candidates = {
                own - lane_id(), count, __ballot_sync(kAllLanes, is_left)
            };
            count_on(reference, query, after, best.mismatches, candidates);
            compare(reference, query, candidates, best);
            if (best.mismatches == 0) return best;
        }
        after = here;
        own -= kWarpLanes;
        if (!__any_sync(kAllLanes, own >= 0)) return best;
    }
}

// Returns whether bases outside the reference may lose no more than the mismatches of a diagonal:
// less before the reference, where the end cell is in a smaller row, or as much after it.
__device__ inline bool may_be_outside(
    const Sequence& reference, const Sequence& query, int mismatch_count, const Rules& rules
) {
    const int loss = mismatch_count * rules.mismatch_loss;
    const int most = min(loss / rules.outside_loss, query.size - 1);
    for (int outside = 1; outside <= most; ++outside) {
        const int left = loss - outside * rules.outside_loss, inside = query.size - outside;
        const int below = (left + rules.mismatch_loss - 1) / rules.mismatch_loss;
        const unsigned char* tail = query.bases + outside;
        if (mismatches(reference.bases, tail, inside, below) < below) return true;
        const int above = left / rules.mismatch_loss + 1;
        const unsigned char* end = reference.bases + reference.size - inside;
        if (mismatches(end, query.bases, inside, above) < above) return true;
    }
    return false;
}

struct SequencePair {
    Sequence reference, query;

    __device__ SequencePair(const Pairs& pairs, int r, int q)
        : reference{pairs.references.at(r), (int)pairs.references.size(r)},
          query{pairs.queries.at(q), (int)pairs.queries.size(q)} {}
};

// Fetches the first 1,024 bases, a sector per lane, so that they are in the cache when it is their
// turn.
__device__ inline void fetch(const Sequence& sequence) {
#ifdef __CUDACC__
    const int k = min(kSectorBytes * lane_id(), sequence.size - 1);
    asm volatile("prefetch.global.L1 [%0];" ::"l"(sequence.bases + k));
#endif
}

}  // namespace

// Writes the alignments that are proved, and 1 into `is_left` for each other pair, else 0; a warp per
// pair, whose lanes have the same values except where a lane has its own diagonal.
//
// To load a pair takes three loads in turn: numbers of sequences, offsets and bases. The first is
// made three pairs ahead, so that none waits.
extern "C" __global__ void ungapped_alignments(
    Pairs pairs, Rules rules, Outputs outputs, unsigned char* is_left
) {
    const int last = pairs.count - 1, step = all_warps();
    int p = first_warp();
    if (p > last) return;
    const auto reference_of = [&](int pair) { return pairs.reference_index[min(pair, last)]; };
    const auto query_of = [&](int pair) { return pairs.query_index[min(pair, last)]; };
    SequencePair pair(pairs, reference_of(p), query_of(p));
    SequencePair next(pairs, reference_of(p + step), query_of(p + step));
    int r = reference_of(p + 2 * step), q = query_of(p + 2 * step);
    for (; p <= last; p += step) {
        fetch(next.reference);
        fetch(next.query);
        const SequencePair after_next(pairs, r, q);
        r = reference_of(p + 3 * step);
        q = query_of(p + 3 * step);
        const Diagonal best = best_diagonal(pair.reference, pair.query, rules.max_mismatches);
        const bool is_proved =
            best.first >= 0 &&
            !may_be_outside(pair.reference, pair.query, best.mismatches, rules);
        if (lane_id() == 0) {
            is_left[p] = !is_proved;
            if (is_proved) {
                const int columns = pair.query.size;
                outputs.scores[p] = rules.match * columns - rules.mismatch_loss * best.mismatches;
                outputs.offsets[p] = best.first;
                outputs.cigar_starts[p] = kFixedRuns * p;
                outputs.cigar_counts[p] = 1;
                outputs.pool[kFixedRuns * p] = cigar_run(columns, kM);
            }
        }
        pair = next;
        next = after_next;
    }
}
