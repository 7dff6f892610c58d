// Alignment of pieces one by one: extensions, and fills that need the whole matrix; same as
// `_align_one_by_one` of hapgpu/longread/align/cpu.py.

#include "common/cigar.cuh"
#include "common/grid.cuh"
#include "longread/align/rows.cuh"
#include "longread/align/dp/bands.cuh"
#include "longread/align/dp/cells.cuh"
#include "longread/align/dp/pair_jobs.cuh"
#include "longread/align/dp/pair_teams.cuh"
#include "longread/align/dp/antidiagonals.cuh"
#include "longread/align/dp/trace.cuh"

namespace {

constexpr int kMinNarrowed = 512;  // shorter fills were not certified in narrow bands
constexpr int kClassShift = 56;
constexpr long long kMaxWork = (1ll << kClassShift) - 1;

// Pairs with at most so many lanes per antidiagonal are of the first, second, third class.
struct ClassLanes {
    int warp, few_warps, many_warps;
};

// What is set for each pair before its alignment.
struct PairPlans {
    PairJob* jobs;
    int* widths;
    long long* chunk_counts;  // one more than there are jobs, the first is 0
    long long* byte_counts;   // the same
    long long* keys;          // sort the jobs: the largest class first, then the most work
    int* classes;
    int* lanes;
};

// Whether minimap2 does not align the pair.
__device__ inline bool is_rejected(const Pieces& pieces, long long piece, const Scoring& scoring) {
    const int worst = max(max(scoring.mismatch, scoring.transition), scoring.ambiguous);
    return pieces.query_lengths[piece] == 0 || pieces.target_lengths[piece] == 0 ||
        worst > 2 * (scoring.gap_open + scoring.gap_extend);
}

__device__ inline void set_results(
    const PieceAlignments& results, long long piece, const Filled& filled, bool reaches_end
) {
    results.scores[piece] = filled.score;
    results.max_scores[piece] = filled.best.max_score;
    results.max_targets[piece] = filled.best.max_target;
    results.max_queries[piece] = filled.best.max_query;
    results.query_end_targets[piece] = filled.best.query_end_target;
    results.reaches_end[piece] = reaches_end;
    results.is_dropped[piece] = filled.is_dropped;
}

__device__ inline int first_width(const Pieces& pieces, long long piece, const Scoring& scoring) {
    const int query = pieces.query_lengths[piece], target = pieces.target_lengths[piece];
    const int band = pieces.bands[piece], longest = max(query, target);
    const bool has_all_cells = band < 0 || band >= longest - 1;
    if (pieces.kinds[piece] != kFill || !has_all_cells || longest < kMinNarrowed) return 0;
    if (!has_narrow_bands(scoring)) return 0;
    return saving_width(query, target, max(kMinWidth, longest / kWidthFraction));
}

__device__ inline Band band_of(const Pieces& pieces, long long piece, int width) {
    const int query = pieces.query_lengths[piece], target = pieces.target_lengths[piece];
    if (width > 0) return narrow_band(query, target, width);
    return whole_band(query, target, pieces.bands[piece]);
}

}  // namespace

// Sets the results of pieces that are not aligned, and marks whole fills and all others to align; one
// thread per piece. Empty fills have a score, as if they were aligned.
extern "C" __global__ void __launch_bounds__(128) classify_pieces(
    const __grid_constant__ Pieces pieces, long long max_cells,
    const __grid_constant__ PieceAlignments results, long long* is_fill, long long* is_other
) {
    for (int piece = first_thread(); piece < pieces.count; piece += all_threads()) {
        const int query = pieces.query_lengths[piece], target = pieces.target_lengths[piece];
        const long long cells = (long long)query * target;
        const bool is_capped = max_cells > 0 && cells > max_cells;
        const bool is_whole = pieces.kinds[piece] == kFill && !is_capped &&
            pieces.bands[piece] >= max(query, target) - 1;
        is_fill[piece] = is_whole && cells > 0;
        is_other[piece] = !is_whole && !is_capped;
        Filled none = no_cells();
        none.score = is_whole ? 0 : kNoScore;
        none.is_dropped = is_capped;
        set_results(results, piece, none, false);
    }
}

// Sets the bands of pairs and the memory that they may take; one thread per pair.
extern "C" __global__ void __launch_bounds__(128) plan_pairs(
    const __grid_constant__ Pieces pieces, const __grid_constant__ Scoring scoring,
    const long long* rows, const __grid_constant__ PairPlans plans, ClassLanes most, int count
) {
    for (int k = first_thread(); k < count; k += all_threads()) {
        const long long piece = rows[k];
        PairJob job = {0, 0, 0, 0, 0, kOneChunk};
        long long chunks = 0, bytes = 0, work = 0;
        if (!is_rejected(pieces, piece, scoring)) {
            if (plans.widths[k] == kUnknownWidth) {
                plans.widths[k] = first_width(pieces, piece, scoring);
            }
            const Band band = band_of(pieces, piece, plans.widths[k]);
            const int bases = band.query_length + band.target_length, antidiagonals = bases - 1;
            const int stride = max_lanes(band);
            job = {band.lowest, band.highest, band.leaks, plans.widths[k], stride, kOneChunk};
            chunks = 1;
            if ((long long)antidiagonals * stride > kChunkBytes) {
                job.shift = 0;
                while ((long long)stride << (job.shift + 1) <= kChunkBytes) ++job.shift;
                chunks = ((long long)antidiagonals + (1 << job.shift) - 1) >> job.shift;
            }
            bytes = chunks * chunk_bytes(job, antidiagonals) +
                whole_units((bases + 1ll) * sizeof(unsigned));
            work = (long long)antidiagonals * (stride + kRingMargin);
        }
        const int lanes = job.stride;
        const int kind =
            (lanes > most.warp) + (lanes > most.few_warps) + (lanes > most.many_warps);
        plans.jobs[k] = job;
        plans.chunk_counts[k + 1] = chunks;
        plans.byte_counts[k + 1] = bytes;
        plans.classes[k] = kind;
        plans.lanes[k] = lanes;
        plans.keys[k] = -((long long)kind << kClassShift | min(work, kMaxWork));
    }
    if (first_thread() == 0) plans.chunk_counts[0] = plans.byte_counts[0] = 0;
}

namespace {

// Sequences, pieces and scores.
struct PairInputs {
    ReadCodes reads;
    TargetCodes targets;
    Pieces pieces;
    Scoring scoring;
    int end_bonus;
};

// Traces a filled matrix by a warp; returns the state of the pair.
__device__ inline int finish(
    const PairJobs& jobs, int k, const PairJob& job, const Band& band, const PairOptions& options,
    const Scoring& scoring, const Filled& filled, const Pool& pool, const PieceAlignments& results
) {
    if (!filled.has_room) return kNoRoom;
    if (job.width > 0 && !is_certified(filled.score, band, scoring)) {
        if (lane_id() == 0) {
            jobs.widths[k] = next_width(filled.score, band, scoring, job.width);
        }
        return kUncertified;
    }
    int i = filled.best.max_target, j = filled.best.max_query;
    bool reaches_end = false;
    if (!filled.is_dropped && !options.is_extension) {
        i = band.target_length - 1;
        j = band.query_length - 1;
    } else if (!filled.is_dropped &&
               filled.best.query_end_score + options.end_bonus > filled.best.max_score) {
        reaches_end = true;
        i = filled.best.query_end_target;
        j = band.query_length - 1;
    }
    if (i >= 0 && j >= 0) {
        const int room = i + j + 2;
        long long at = 0;
        if (lane_id() == 0) at = pool.taken(whole_units(room * (long long)sizeof(unsigned)));
        at = __shfl_sync(kAllLanes, at, 0);
        if (at < 0) return kNoRoom;
        OperationWriter writer((unsigned*)(pool.bytes + at), room, options.is_left);
        const PathReader path = {band, job, pool.bytes, pool.chunks + jobs.chunk_offsets[k]};
        trace(path, i, j, writer);
        if (lane_id() == 0) {
            const int first = options.is_left ? 0 : room - writer.count;
            jobs.operation_starts[k] = at / (long long)sizeof(unsigned) + first;
            jobs.operation_counts[k + 1] = writer.count;
        }
    }
    if (lane_id() == 0) set_results(results, jobs.rows[k], filled, reaches_end);
    return kAligned;
}

// Aligns one pair by all threads of a team.
template <int kWarps, int kSlots>
__device__ inline void align_one(
    const PairInputs& inputs, const PairJobs& jobs, int k, const Pool& pool, const Ring& ring,
    Exchange<kWarps>& exchange, const PieceAlignments& results
) {
    const Pieces& pieces = inputs.pieces;
    const Scoring& scoring = inputs.scoring;
    const long long piece = jobs.rows[k];
    const PairJob job = jobs.jobs[k];
    Filled filled = no_cells();
    int state = kAligned;
    if (job.stride > 0) {
        const Band band = {
            pieces.query_lengths[piece], pieces.target_lengths[piece], job.lowest, job.highest,
            job.leaks != 0
        };
        const PairOptions options =
            options_of(pieces.kinds[piece], pieces.drops[piece], inputs.end_bonus);
        const Codes query(
            inputs.reads.codes + pieces.query_starts[piece], band.query_length, options.is_left
        );
        const Codes target(
            inputs.targets.codes + pieces.target_starts[piece], band.target_length, options.is_left
        );
        long long* chunks = pool.chunks + jobs.chunk_offsets[k];
        const Borders borders = borders_of(scoring);
        const PairScores pair_scores = pair_scores_of(scoring);
        if (band.leaks || is_single_affine(scoring) || !fits_bytes(scoring)) {
            filled = MatrixFiller<kWarps, true, kSlots>{
                band, job, options, query, target, scoring, ring, pool, exchange, chunks, borders,
                pair_scores
            }.fill();
        } else {
            filled = MatrixFiller<kWarps, false, kSlots>{
                band, job, options, query, target, scoring, ring, pool, exchange, chunks, borders,
                pair_scores
            }.fill();
        }
        if (Team<kWarps>::rank() >= kWarpLanes) return;
        state = finish(jobs, k, job, band, options, scoring, filled, pool, results);
    } else if (Team<kWarps>::rank() == 0) {
        set_results(results, piece, filled, false);
    }
    if (Team<kWarps>::rank() == 0) jobs.states[k] = state;
}

}  // namespace

// Aligns pairs from a queue, in memory on the chip (`kRing` lanes) or `rings` (`ring_size` lanes per
// thread block); `kWarps` warps per pair, `kTeams` pairs per thread block, and registers for
// `kBlocks` thread blocks per multiprocessor.
template <int kWarps, int kTeams, int kRing, int kBlocks>
__global__ void __launch_bounds__(32 * kWarps * kTeams, kBlocks) align_pairs(
    const __grid_constant__ PairInputs inputs, const __grid_constant__ PairJobs jobs,
    const __grid_constant__ Pool pool, const __grid_constant__ PieceAlignments results,
    const long long* order, int* taken, int count, unsigned* rings, int ring_size
) {
    using Threads = Team<kWarps>;
    constexpr int kSlots = kRing / Threads::kThreads;
    __shared__ Exchange<kWarps> exchanges[kTeams];
    __shared__ unsigned memory[kTeams][kRing > 0 ? kRingArrays * kRing : 1];
    const int team = kTeams > 1 ? threadIdx.x / Threads::kThreads : 0;
    Exchange<kWarps>& exchange = exchanges[team];
    unsigned* lanes = memory[team];
    if (kRing == 0) lanes = rings + (long long)kRingArrays * ring_size * blockIdx.x;
    const Ring ring = {lanes, kRing > 0 ? kRing : ring_size};
    while (true) {
        Threads::wait();  // until the pair before is done
        if (Threads::rank() == 0) exchange.item = atomicAdd(taken, 1);
        Threads::wait();
        if (exchange.item >= count) return;
        const int k = (int)order[exchange.item];
        align_one<kWarps, kSlots>(inputs, jobs, k, pool, ring, exchange, results);
    }
}
