// Alignments straight back from their end cells, without a matrix
// (hapgpu/realign/align/cuda/diagonals.py).

#include "common/grid.cuh"
#include "realign/align/ended_pairs.cuh"

namespace {

constexpr int kWordBytes = 8;

// Returns the aligned word at an address if it has a byte of [start, end), and 0 if not.
__device__ inline unsigned long long word_within(
    unsigned long long address, unsigned long long start, unsigned long long end
) {
    const bool is_within = address + kWordBytes > start && address < end;
    return is_within ? *(const unsigned long long*)address : 0;
}

// Counts the bytes that are not 0.
__device__ inline int count_bytes(unsigned long long word) {
    constexpr unsigned long long kLow = 0x7f7f7f7f7f7f7f7full;
    return __popcll(((word & kLow) + kLow | word) & ~kLow);
}

// Counts the mismatches of two sequences in the words of a lane, each `kLanes` words from the one
// before; stops where they cost more than `most`. No byte outside is read, except in the aligned
// words of the first and last bases.
template <int kLanes>
__device__ inline int count_mismatches(
    const unsigned char* one, const unsigned char* other, int size, int lane, int cost,
    long long most
) {
    const unsigned long long start = (unsigned long long)one, end = start + size;
    const unsigned long long other_start = (unsigned long long)other;
    const unsigned long long other_end = other_start + size;
    unsigned long long address = (start & ~(kWordBytes - 1ull)) + kWordBytes * lane;
    int count = 0;
    while (address < end && (long long)count * cost <= most) {
        const int at = (int)(address - start);
        const unsigned long long beside = other_start + at;
        const unsigned long long low_address = beside & ~(kWordBytes - 1ull);
        const int shift = 8 * (int)(beside - low_address);
        const unsigned long long low = word_within(low_address, other_start, other_end);
        const unsigned long long high =
            word_within(low_address + kWordBytes, other_start, other_end);
        const unsigned long long others = low >> shift | high << 1 << (63 - shift);
        unsigned long long differences = *(const unsigned long long*)address ^ others;
        if (at < 0) differences &= ~0ull << -8 * at;
        if (at + kWordBytes > size) differences &= ~0ull >> 8 * (at + kWordBytes - size);
        count += count_bytes(differences);
        address += kWordBytes * kLanes;
    }
    return count;
}

// Writes the alignment of pair p with `steps` bases on the diagonal, as the traceback of the matrix
// does.
__device__ inline void write_diagonal(
    const EndedPair& pair, long long p, int steps, int overhang, const Outputs& outputs
) {
    const int row = pair.row - steps, column = pair.column - steps;
    const int right = pair.query_size - pair.column;
    unsigned* runs = outputs.pool + kFixedRuns * p;
    int count = 0, offset = 0;
    if (overhang == kIgnore) {
        offset = row - column;
        runs[count++] = cigar_run(pair.query_size, kM);
    } else if (overhang == kSoftclip) {
        offset = row;
        if (column) runs[count++] = cigar_run(column, kS);
        runs[count++] = cigar_run(steps, kM);
        if (right) runs[count++] = cigar_run(right, kS);
    } else {
        if (row) runs[count++] = cigar_run(row, kD);
        if (column) runs[count++] = cigar_run(column, kI);
        runs[count++] = cigar_run(steps, kM);
    }
    outputs.scores[p] = pair.score;
    outputs.offsets[p] = offset;
    outputs.cigar_starts[p] = (int)(kFixedRuns * p);
    outputs.cigar_counts[p] = count;
}

}  // namespace

// Writes the alignments that have the score of their pair without a gap; the other pairs get no
// runs. `kLanes` lanes share a pair.
template <int kLanes>
__global__ void __launch_bounds__(256)
diagonal_alignments(
    Pairs pairs, EndCells end_cells, int match, int mismatch, Border border, int overhang,
    Outputs outputs
) {
    const int lane = lane_id() % kLanes, step = all_threads() / kLanes;
    // The lanes of a warp stay together, so that all take part in the sums.
    for (int first = first_warp() * (kWarpLanes / kLanes); first < pairs.count; first += step) {
        const int p = first + lane_id() / kLanes;
        const EndedPair pair(pairs, end_cells, min(p, pairs.count - 1));
        const int steps = min(pair.row, pair.column);
        // What the mismatches cost, if this is the alignment.
        long long lost = border.score(pair.row - steps) + border.score(pair.column - steps) +
                         (long long)match * steps - pair.score;
        int cost = match - mismatch;
        if (cost < 0) {
            cost = -cost;
            lost = -lost;
        }
        int count = 0;
        if (steps > 0 && lost >= 0) {
            count = count_mismatches<kLanes>(
                pair.query + pair.column - steps, pair.reference + pair.row - steps, steps, lane,
                cost, lost
            );
        }
        for (int distance = kLanes / 2; distance; distance /= 2) {
            count += __shfl_xor_sync(kAllLanes, count, distance);
        }
        if (lane == 0 && p < pairs.count) {
            if (steps > 0 && (long long)count * cost == lost) {
                write_diagonal(pair, p, steps, overhang, outputs);
            } else if (end_cells.rows[p] != kAligned) {
                outputs.cigar_counts[p] = 0;
            }
        }
    }
}
