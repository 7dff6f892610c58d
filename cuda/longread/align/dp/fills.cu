// Global alignments in bands of diagonals; same results as hapgpu/longread/align/dp/fills.py.

#include "common/bytes.cuh"
#include "common/cigar.cuh"
#include "common/grid.cuh"
#include "longread/align/rows.cuh"
#include "longread/align/dp/fill_lanes.cuh"

namespace {

constexpr int kThreads = 128;

// Parts of a key, from the top: band, `kMaxBases` less the bases, piece.
constexpr int kPieceBits = 31, kBaseBits = 17;
constexpr unsigned long long kNoKey = ~0ull;

constexpr unsigned char kPending = 0, kAligned = 1, kRefused = 2;
constexpr unsigned char kUntried = 255;

// What is known of the fills. The operations of an aligned one are anywhere in the pool.
struct Fills {
    unsigned char* states;
    unsigned char* bands;
    int* scores;
    long long* starts;
    int* counts;
};

struct Pool {
    unsigned* operations;
    unsigned long long* used;
    long long size;
};

// Fills of a run, sorted by band; the first ones of a band have most bases. The directions of row k
// start at `starts[k]`. Those of chunk c, the rows `chunks[c]` to `chunks[c + 1]`, are in memory.
struct Run {
    const int* order;
    const long long* starts;
    const long long* chunks;
    unsigned char* directions;
    long long chunk_bytes;
    int chunk, first, end;

    __device__ int first_row() const { return max(first, (int)chunks[chunk]); }
    __device__ int end_row() const { return min(end, (int)chunks[chunk + 1]); }
    __device__ unsigned char* directions_of(int row) const {
        return directions + (starts[row] - chunk * chunk_bytes);
    }
};

__device__ inline FillCodes
codes_of(const Pieces& pieces, const ReadCodes& reads, const TargetCodes& targets, int piece) {
    return FillCodes{
        targets.codes + pieces.target_starts[piece],
        reads.codes + pieces.query_starts[piece],
        pieces.target_lengths[piece],
        pieces.query_lengths[piece],
    };
}

// Returns the band to align a pending fill in; kNoBand if there is none.
__device__ inline int
chosen_band(const Scoring& scoring, const Fills& fills, int piece, int target, int query) {
    if ((long long)target + query > kMaxBases) return kNoBand;
    const int tried = fills.bands[piece];
    if (tried == kUntried) return first_band(target, query);
    return next_band(scoring, tried, fills.scores[piece], target, query);
}

// Aligns the rows of a run that are in a band.
template <int kLanes, int kCells>
__device__ void fill_rows(
    const Pieces& pieces, const ReadCodes& reads, const TargetCodes& targets,
    const Scoring& scoring, const CellCosts& costs, const Fills& fills, const Run& run, int number
) {
    constexpr int kGroups = kWarpLanes / kLanes;
    const int end = run.end_row();
    for (int first = run.first_row() + first_warp() * kGroups; first < end;
         first += all_warps() * kGroups) {
        const int own = first + lane_id() / kLanes, row = min(own, end - 1);
        const int piece = run.order[row];
        const FillCodes codes = codes_of(pieces, reads, targets, piece);
        const Band band = band_of(number, codes.target_length, codes.query_length);
        // The first group has most blocks, since rows are sorted.
        const int blocks = __shfl_sync(kAllLanes, blocks_of(codes.bases()), 0);
        int score;
        const bool has_score = fill_band<kLanes, kCells>(
            scoring, costs, codes, band, blocks, run.directions_of(row), score
        );
        if (has_score && own == row) {
            const bool is_found = is_certified(
                scoring, band, score, codes.target_length, codes.query_length
            );
            fills.states[piece] = is_found ? kAligned : kPending;
            fills.bands[piece] = number;
            fills.scores[piece] = score;
        }
    }
}

// Returns how many bases before two positions are equal, none of them ambiguous.
__device__ inline int equal_bases(const FillCodes& codes, int i, int j) {
    const int longest = min(i, j);
    int count = 0;
    while (count + 4 <= longest) {
        const unsigned target = load_u32(codes.targets, i - count - 4);
        const unsigned query = load_u32(codes.queries, j - count - 4);
        const unsigned other = differences(target, query);
        if (other) return count + __clz(other) / 8;
        count += 4;
    }
    while (count < longest) {
        if (differences(codes.targets[i - count - 1], codes.queries[j - count - 1])) break;
        ++count;
    }
    return count;
}

// Writes operations from the end of a memory back.
struct BackwardWriter {
    unsigned* start;
    unsigned operation;
    int length;

    __device__ void add(int added, unsigned added_operation) {
        if (added_operation != operation) {
            flush();
            operation = added_operation;
        }
        length += added;
    }

    __device__ void flush() {
        if (length) *--start = cigar_run(length, operation);
        length = 0;
    }
};

// Writes the path of a fill to the end of `directions`, behind those still to read: at most one
// operation per row, and a row has room for 16. Returns the first operation.
__device__ unsigned* write_path(const FillCodes& codes, const Band& band, unsigned char* directions) {
    unsigned* end = (unsigned*)(directions + direction_bytes(band.pairs, codes.bases()));
    BackwardWriter writer{end, kM, 0};
    const int before_rows = -first_row(codes.bases());
    int i = codes.target_length - 1, j = codes.query_length - 1, choice = kPair;
    while (i >= 0 && j >= 0) {
        const int direction = directions[direction_at(band, before_rows + i + j + 2, i - j)];
        const bool is_new = choice == kPair || (direction >> (kDeletionGap - choice) & 1);
        if (is_new) choice = direction >> kChoiceShift & 7;
        if (choice == kPair) {
            // A cell of two equal bases is always reached over the one before on its diagonal.
            const int step = 1 + equal_bases(codes, i, j);
            writer.add(step, kM);
            i -= step;
            j -= step;
        } else if (choice == kDeletionGap || choice == kLongDeletion) {
            writer.add(1, kD);
            --i;
        } else {
            writer.add(1, kI);
            --j;
        }
    }
    if (i >= 0) writer.add(i + 1, kD);
    if (j >= 0) writer.add(j + 1, kI);
    writer.flush();
    return writer.start;
}

}  // namespace

// Sets keys to sort the fills to align by, `kNoKey` for others. Without scores that fit (`fits`),
// nothing is aligned. One thread per piece.
extern "C" __global__ void __launch_bounds__(kThreads) plan_fills(
    const __grid_constant__ Pieces pieces, const __grid_constant__ Scoring scoring, int fits,
    const __grid_constant__ Fills fills, unsigned long long* keys
) {
    for (int piece = first_thread(); piece < pieces.count; piece += all_threads()) {
        const int target = pieces.target_lengths[piece], query = pieces.query_lengths[piece];
        keys[piece] = kNoKey;
        if (fills.states[piece] != kPending) continue;
        if (target <= 0 || query <= 0) {
            fills.states[piece] = kAligned;
            continue;
        }
        const int band = fits ? chosen_band(scoring, fills, piece, target, query) : kNoBand;
        if (band == kNoBand) {
            fills.states[piece] = kRefused;
            fills.scores[piece] = 0;
            continue;
        }
        const unsigned long long key = (unsigned long long)band << kBaseBits
            | (kMaxBases - (target + query));
        keys[piece] = key << kPieceBits | piece;
    }
}

// Reads sorted keys: the piece of each row, the bytes of its directions, and for each band the end
// of its rows. One thread per row.
extern "C" __global__ void __launch_bounds__(kThreads) order_fills(
    const unsigned long long* keys, int* order, long long* bytes, long long* ends, int count
) {
    for (int row = first_thread(); row < count; row += all_threads()) {
        const unsigned long long key = keys[row];
        const int band = min((int)(key >> (kPieceBits + kBaseBits)), kNoBand);
        const int bases = kMaxBases - (int)(key >> kPieceBits & ((1 << kBaseBits) - 1));
        order[row] = (int)(key & ((1ull << kPieceBits) - 1));
        bytes[row] = band == kNoBand ? 0 : direction_bytes(kFirstPairs << band, bases);
        const int before =
            row ? min((int)(keys[row - 1] >> (kPieceBits + kBaseBits)), kNoBand) : 0;
        for (int number = before; number < band; ++number) ends[number] = row;
        if (row == count - 1) {
            for (int number = band; number < kBands; ++number) ends[number] = count;
        }
    }
}

// Aligns fills in band `kNumber`, with `kCells` cells per lane; a group of lanes per fill. `kBlocks`
// thread blocks run on a multiprocessor, so that no register is kept in memory.
template <int kNumber, int kLanes, int kCells, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) align_band(
    const __grid_constant__ Pieces pieces, const __grid_constant__ ReadCodes reads,
    const __grid_constant__ TargetCodes targets, const __grid_constant__ Scoring scoring,
    const __grid_constant__ CellCosts costs, const __grid_constant__ Fills fills,
    const __grid_constant__ Run run
) {
    static_assert(kLanes * kCells == kFirstPairs << kNumber, "all pairs of diagonals");
    fill_rows<kLanes, kCells>(pieces, reads, targets, scoring, costs, fills, run, kNumber);
}

// Copies the operations of aligned fills to the pool; those for which it has no room are refused.
// One thread per row.
extern "C" __global__ void __launch_bounds__(kThreads) trace_fills(
    const __grid_constant__ Pieces pieces, const __grid_constant__ ReadCodes reads,
    const __grid_constant__ TargetCodes targets, const __grid_constant__ Fills fills,
    const __grid_constant__ Run run, const __grid_constant__ Pool pool
) {
    const int end = run.end_row();
    for (int row = run.first_row() + first_thread(); row < end; row += all_threads()) {
        const int piece = run.order[row];
        if (fills.states[piece] != kAligned) continue;
        const FillCodes codes = codes_of(pieces, reads, targets, piece);
        const Band band = band_of(fills.bands[piece], codes.target_length, codes.query_length);
        unsigned char* directions = run.directions_of(row);
        const unsigned* path = write_path(codes, band, directions);
        const unsigned* path_end =
            (const unsigned*)(directions + direction_bytes(band.pairs, codes.bases()));
        const int count = (int)(path_end - path);
        const long long start = (long long)atomicAdd(pool.used, (unsigned long long)count);
        if (start + count > pool.size) {
            fills.states[piece] = kRefused;
            fills.scores[piece] = 0;
            continue;
        }
        for (int k = 0; k < count; ++k) pool.operations[start + k] = path[k];
        fills.starts[piece] = start;
        fills.counts[piece] = count;
    }
}
