// Local assembly of active regions to the strings of the best paths, with the results of
// hapgpu/calling/assembly/assembler.py (GATK's ReadThreadingAssembler). A warp assembles one region
// at a time: all lanes load its bases, number k-mers and align dangling branches; one lane does what
// depends on order. Regions that need unrolled cycles, or more memory, are left to the CPU.

#include "common/work_queue.cuh"
#include "calling/branches.cuh"
#include "calling/paths.cuh"
#include "calling/threading.cuh"

namespace {

enum Status { kReady, kFailed, kShort, kCyclic, kLimited, kRefused };

// Flags of a region, as in hapgpu/calling/assembly/haplotypes.py.
constexpr int kNotAssembled = 2, kAtLimit = 4, kLeft = 8;

constexpr int kMostLarger = 6, kKmerStep = 10;
constexpr int kMostPaths = 2048, kPathWords = 1 << 15, kMostFound = 1024, kFoundText = 1 << 16;
constexpr int kHeadText = 4096, kRunBases = 8;
constexpr int kMostSteps = 1 << 22;  // less than a second
__device__ const char kLetters[] = "ACGNT";

// Bases, sorted by letter, with the bit `kGoodBase`; reads of region i are rows region_reads[i] to
// region_reads[i + 1], one after the other in `bases`.
struct Reads {
    const unsigned char* bases;
    const long long *offsets, *region_reads;
    const int* samples;
};

struct References {
    const unsigned char* bases;
    const long long* offsets;
};

struct Rules {
    const long long* kmer_sizes;
    int sizes, min_pruning, max_haplotypes, is_strict, samples;
};

struct Logarithms {
    const double* log10_of;
    int numbers;
};

// Memory of the warps: `stride` integers each, for regions of up to `text` bases.
struct Memory {
    int* integers;
    int warps, stride, text, slots;
};

// Strings found, in any order of regions: those of region i are rows firsts[i] to firsts[i] + counts[i].
struct Strings {
    int *firsts, *counts, *flags;
    double* scores;
    int *starts, *lengths;
    unsigned char* text;
    int* used;  // rows, bases
    int row_room, text_room;
};

// Strings of a region so far.
struct Found {
    double* scores;
    int *starts, *lengths;
    unsigned* hashes;
    unsigned char* text;
    int count, text_size, flags;
};

struct Region {
    const unsigned char *reference, *bases;
    long long first_base;
    int first_read, end_read, length, base_count;
};

struct Workspace {
    Graph kmers, sequences;
    KmerSpace space;
    Scratch scratch;
    Branch branch;
    Paths paths;
    Found found;
    Region region;
    int k, sink, status;
};

// Divides the memory of a warp.
__device__ inline void lay_out_workspace(Workspace& own, const Memory& memory, int warp) {
    int* next = memory.integers + (long long)warp * memory.stride;
    int* const end = next + memory.stride;
    auto take = [&](int integers) {
        int* array = next;
        next += integers + 3 & ~3;
        return array;
    };
    const int text = memory.text, vertices = text / 2 + 1024, edges = vertices + vertices / 4;
    auto make_graph = [&](Graph& graph, int bases, int vertex_room, int edge_room) {
        graph.text = reinterpret_cast<unsigned char*>(take(bases / 4));
        graph.vertices = reinterpret_cast<Vertex*>(take(vertex_room * 8));
        graph.edges = reinterpret_cast<Edge*>(take(edge_room * 8));
        graph.text_room = bases, graph.vertex_room = vertex_room, graph.edge_room = edge_room;
    };
    make_graph(own.kmers, text + kHeadText, vertices, edges);
    make_graph(own.sequences, text / 2 + (1 << 15), text / 8 + 1024, text / 4 + 2048);
    KmerSpace& space = own.space;
    space.packed = reinterpret_cast<unsigned*>(take(text / kPackedBases + 4));
    space.table = reinterpret_cast<Kmer*>(take(memory.slots * 4));
    space.kmers = take(text);
    space.vertex_kmers = take(vertices);
    space.sample_counts = take(edges);
    space.run_room = text / kRunBases;
    space.runs = reinterpret_cast<Run*>(take(space.run_room * 3));
    space.slots = memory.slots;
    Paths& paths = own.paths;
    paths.scores = reinterpret_cast<double*>(take(kMostPaths * 2));
    paths.starts = take(kMostPaths);
    paths.lengths = take(kMostPaths);
    paths.ends = take(kMostPaths);
    paths.queue = take(kMostPaths);
    paths.best = take(kMostPaths);
    paths.words = reinterpret_cast<unsigned*>(take(kPathWords));
    paths.path_room = kMostPaths, paths.word_room = kPathWords;
    Found& found = own.found;
    found.scores = reinterpret_cast<double*>(take(kMostFound * 2));
    found.starts = take(kMostFound);
    found.lengths = take(kMostFound);
    found.hashes = reinterpret_cast<unsigned*>(take(kMostFound));
    found.text = reinterpret_cast<unsigned char*>(take(kFoundText / 4));
    own.scratch = {next, static_cast<int>(end - next), 0, 0, false};
}

// Loads the bases of a region as text and as packed text, and empties the table. Called by all lanes.
__device__ inline void load_region(Workspace& own) {
    const Region& region = own.region;
    unsigned char* text = own.kmers.text;
    for (int at = lane_id(); at < region.length; at += kWarpLanes) text[at] = region.reference[at];
    for (int at = lane_id(); at < region.base_count; at += kWarpLanes) {
        text[region.length + at] = region.bases[at];
    }
    __syncwarp();
    const int size = region.length + region.base_count;
    for (int word = lane_id(); word < size / kPackedBases + 3; word += kWarpLanes) {
        unsigned packed = 0;
        for (int k = 0; k < kPackedBases; ++k) {
            const int at = word * kPackedBases + k;
            if (at < size) packed |= (text[at] & kBaseBits) << 4 * k;
        }
        own.space.packed[word] = packed;
    }
}

__device__ inline void clear_space(Workspace& own) {
    for (int slot = lane_id(); slot < own.space.slots; slot += kWarpLanes) {
        own.space.table[slot].text_start = kNone;
    }
    if (lane_id() == 0) {
        own.space.run_count = own.space.non_unique = own.space.with_vertex = 0;
        own.space.is_full = false;
        own.kmers.vertex_count = own.kmers.edge_count = 0;
        own.kmers.text_size = own.region.length + own.region.base_count;
    }
    __syncwarp();
}

__device__ inline int run_end(const unsigned char* text, int at, int end) {
    while (at < end && is_good(text[at])) ++at;
    return at;
}

// Lists the runs of good bases of reads that are not shorter than k, and numbers the k-mers of each
// read up to the end of its last run, as GATK does. Called by all lanes.
__device__ inline void number_reads(Workspace& own, const Reads& reads) {
    const Region& region = own.region;
    KmerSpace& space = own.space;
    const int k = own.k;
    for (int chunk = region.first_read; chunk < region.end_read; chunk += kWarpLanes) {
        const int read = chunk + lane_id();
        int start = 0, end = 0, last_end = 0, runs = 0;
        if (read < region.end_read) {
            start = region.length + static_cast<int>(reads.offsets[read] - region.first_base);
            end = region.length + static_cast<int>(reads.offsets[read + 1] - region.first_base);
            last_end = start;
        }
        for (int at = start; at < end;) {
            const int stop = run_end(own.kmers.text, at, end);
            if (stop - at >= k) ++runs, last_end = stop;
            at = stop + 1;
        }
        int before = runs;  // of this lane and the lanes before it
        for (int distance = 1; distance < kWarpLanes; distance *= 2) {
            const int other = __shfl_up_sync(kAllLanes, before, distance);
            if (lane_id() >= distance) before += other;
        }
        const int total = __shfl_sync(kAllLanes, before, kWarpLanes - 1);
        int number = space.run_count + before - runs;
        const bool fits = space.run_count + total <= space.run_room;
        for (int at = start; at < end && fits;) {
            const int stop = run_end(own.kmers.text, at, end);
            if (stop - at >= k) space.runs[number++] = {at, stop, reads.samples[read]};
            at = stop + 1;
        }
        __syncwarp();
        if (lane_id() == 0) {
            space.run_count += fits ? total : 0;
            space.is_full |= !fits;
        }
        for (int lane = 0; lane < kWarpLanes; ++lane) {
            const int first = __shfl_sync(kAllLanes, start, lane);
            const int last = __shfl_sync(kAllLanes, last_end, lane);
            number_kmers(space, first, last, k, chunk + lane - region.first_read + 1);
        }
        __syncwarp();
    }
}

// Threads all sequences and prunes the graph; sets the status of the graph.
__device__ inline void thread_all(Workspace& own, const Rules& rules, bool is_last_try) {
    Graph& graph = own.kmers;
    KmerSpace& space = own.space;
    own.sink = thread_reference(graph, space, own.region.length, own.k);
    thread_runs(graph, space, own.k, rules.samples, own.scratch);
    if (space.is_full || own.scratch.is_exhausted) return;
    prune_chains(graph, rules.min_pruning, own.scratch);
    remove_lone_vertices(graph, space);
    const bool is_cyclic = has_cycle(graph, own.scratch);
    if (own.scratch.is_exhausted) return;
    own.status = kReady;
    if (is_cyclic) own.status = kCyclic;
    else if (!is_last_try && 4 * space.non_unique > space.with_vertex) own.status = kFailed;
}

// Builds the k-mer graph of the region, and sets its status. Called by all lanes.
__device__ inline void build_kmer_graph(Workspace& own, const Reads& reads, const Rules& rules,
                                        bool is_last_try) {
    if (own.region.length <= own.k) {
        if (lane_id() == 0) own.status = kShort;
        __syncwarp();
        return;
    }
    clear_space(own);
    number_kmers(own.space, 0, own.region.length, own.k, 0);
    if (!is_last_try && own.space.non_unique > 0) {
        __syncwarp();
        if (lane_id() == 0) own.status = kFailed;
        __syncwarp();
        return;
    }
    number_reads(own, reads);
    if (lane_id() == 0) {
        own.status = kRefused;
        if (!own.space.is_full) thread_all(own, rules, is_last_try);
    }
    __syncwarp();
    if (own.status != kReady) return;
    recover_branches(own.kmers, {own.k, rules.min_pruning, 0, own.sink}, own.branch, own.scratch);
    if (lane_id() == 0) {
        keep_between(own.kmers, 0, own.sink, own.scratch);
        if (own.scratch.is_exhausted) own.status = kRefused;
    }
    __syncwarp();
}

// Tells whether a path has the bases of a string. Called by all lanes.
__device__ inline bool is_string(const Paths& paths, int path, const unsigned char* bases,
                                 int length) {
    if (paths.lengths[path] != length) return false;
    for (int first = 0; first < length; first += kWarpLanes) {
        const int at = first + lane_id();
        const bool differs = at < length && paths.base(path, at) != (bases[at] & kBaseBits);
        if (__any_sync(kAllLanes, differs)) return false;
    }
    return true;
}

// Returns a hash of the bases of a path. Called by all lanes.
__device__ inline unsigned hash_of_path(const Paths& paths, int path) {
    unsigned hash = 0;
    for (int at = lane_id(); at < words_for_bases(paths.lengths[path]); at += kWarpLanes) {
        hash += (paths.words[paths.starts[path] + at] + at) * (2654435761u + 2 * at);
    }
    for (int distance = kWarpLanes / 2; distance; distance /= 2) {
        hash += __shfl_xor_sync(kAllLanes, hash, distance);
    }
    return hash;
}

// Tells whether a path, with this hash, is the reference or is there already. Called by all lanes.
__device__ inline bool is_known(const Found& found, const Paths& paths, int path, unsigned hash,
                                const Region& region) {
    if (is_string(paths, path, region.reference, region.length)) return true;
    for (int first = 0; first < found.count; first += kWarpLanes) {
        const int row = first + lane_id();
        unsigned alike = __ballot_sync(kAllLanes, row < found.count && found.hashes[row] == hash);
        for (; alike; alike &= alike - 1) {
            const int other = first + __ffs(alike) - 1;
            if (is_string(paths, path, found.text + found.starts[other], found.lengths[other])) {
                return true;
            }
        }
    }
    return false;
}

// Adds the strings of paths that are neither the reference nor there already; false without room.
// Called by all lanes.
__device__ inline bool add_strings(Found& found, const Paths& paths, const Region& region) {
    for (int row = 0; row < paths.found; ++row) {
        const int path = paths.best[row], length = paths.lengths[path];
        const unsigned hash = hash_of_path(paths, path);
        if (is_known(found, paths, path, hash, region)) continue;
        const int number = found.count, start = found.text_size;
        if (number == kMostFound || start + length > kFoundText) return false;
        for (int at = lane_id(); at < length; at += kWarpLanes) {
            found.text[start + at] = paths.base(path, at);
        }
        __syncwarp();
        if (lane_id() == 0) {
            found.scores[number] = paths.scores[path];
            found.starts[number] = start;
            found.lengths[number] = length;
            found.hashes[number] = hash;
            found.text_size = start + length;
            found.count = number + 1;
        }
        __syncwarp();
    }
    return true;
}

// Finds the best paths of the graph that is ready; the status is refused without room.
__device__ inline void find_paths(Workspace& own, const Rules& rules,
                                  const Logarithms& logarithms) {
    own.status = kRefused;
    own.paths.found = 0;
    own.paths.has_more = own.paths.is_exhausted = false;
    if (!make_simplified(own.kmers, own.sequences, own.scratch)) return;
    const Ends ends = reference_ends(own.sequences);
    if (ends.source >= 0 && ends.sink >= 0) {
        if (has_cycle(own.sequences, own.scratch)) return;
        find_best_paths(own.paths, own.sequences, ends, rules.max_haplotypes, logarithms.log10_of,
                        logarithms.numbers, own.scratch);
    }
    if (own.paths.is_exhausted || own.scratch.is_exhausted) return;
    if (own.paths.has_more) own.found.flags |= kAtLimit;
    own.status = own.paths.has_more ? kLimited : kReady;
}

// Builds the graph of one k, `larger` steps above a given one, and adds its strings; with `is_whole`,
// all of them or none. Called by all lanes.
__device__ inline Status with_graph(Workspace& own, const Reads& reads, const Rules& rules,
                                    const Logarithms& logarithms, int k, int larger,
                                    bool is_whole) {
    __syncwarp();
    if (lane_id() == 0) own.k = k + larger * kKmerStep;
    __syncwarp();
    build_kmer_graph(own, reads, rules, larger == kMostLarger);
    if (own.status != kReady) return static_cast<Status>(own.status);
    __syncwarp();
    if (lane_id() == 0) find_paths(own, rules, logarithms);
    __syncwarp();
    if (own.status == kRefused || (is_whole && own.paths.has_more)) {
        return static_cast<Status>(own.status);
    }
    return add_strings(own.found, own.paths, own.region) ? static_cast<Status>(own.status)
                                                         : kRefused;
}

__device__ inline bool is_result(Status status) { return status != kFailed && status != kCyclic; }

// Assembles the region; false if it is left to the CPU. Called by all lanes.
__device__ inline bool assemble_region(Workspace& own, const Reads& reads, const Rules& rules,
                                       const Logarithms& logarithms) {
    bool has_result = false, is_limited = false;
    Status status = kFailed;
    const int largest = static_cast<int>(rules.kmer_sizes[rules.sizes - 1]);
    for (int number = 0; number < rules.sizes; ++number) {
        const int k = static_cast<int>(rules.kmer_sizes[number]);
        status = with_graph(own, reads, rules, logarithms, k, 0, false);
        if (status == kRefused) return false;
        has_result |= is_result(status);
        is_limited |= status == kLimited;
    }
    if (status == kCyclic && !rules.is_strict) return false;
    for (int larger = 1; larger <= kMostLarger; ++larger) {
        if (has_result && !(is_limited && !rules.is_strict)) break;
        status = with_graph(own, reads, rules, logarithms, largest, larger, has_result);
        if (status == kRefused) return false;
        is_limited = status == kLimited || (is_limited && status != kReady);
        has_result |= is_result(status);
    }
    if (!has_result && !rules.is_strict) return false;
    if (!has_result && lane_id() == 0) own.found.flags |= kNotAssembled;
    __syncwarp();
    return true;
}

// Writes what was found in a region; false if there is no room. Called by all lanes.
__device__ inline bool write_strings(const Found& found, int region, const Strings& out) {
    int row = 0, at = 0;
    if (lane_id() == 0) {
        row = atomicAdd(&out.used[0], found.count);
        at = atomicAdd(&out.used[1], found.text_size);
    }
    row = __shfl_sync(kAllLanes, row, 0);
    at = __shfl_sync(kAllLanes, at, 0);
    if (row > out.row_room - found.count || at > out.text_room - found.text_size) return false;
    for (int k = lane_id(); k < found.count; k += kWarpLanes) {
        out.scores[row + k] = found.scores[k];
        out.starts[row + k] = at + found.starts[k];
        out.lengths[row + k] = found.lengths[k];
    }
    for (int k = lane_id(); k < found.text_size; k += kWarpLanes) {
        out.text[at + k] = kLetters[found.text[k]];
    }
    if (lane_id() == 0) {
        out.firsts[region] = row;
        out.counts[region] = found.count;
        out.flags[region] = found.flags;
    }
    return true;
}

}  // namespace

// Assembles the regions of a queue. `flags` of regions that are left to the CPU are `kLeft`.
extern "C" __global__ void __launch_bounds__(32, 16)
    assemble(Reads reads, References references, WorkQueue queue, Rules rules,
             Logarithms logarithms, Memory memory, Strings strings) {
    __shared__ Workspace own;
    if (lane_id() == 0) lay_out_workspace(own, memory, blockIdx.x);
    __syncwarp();
    while (true) {
        const int number = queue.next();
        if (number < 0) return;
        if (lane_id() == 0) {
            Region& region = own.region;
            region.first_read = static_cast<int>(reads.region_reads[number]);
            region.end_read = static_cast<int>(reads.region_reads[number + 1]);
            region.first_base = reads.offsets[region.first_read];
            region.base_count =
                static_cast<int>(reads.offsets[region.end_read] - region.first_base);
            region.bases = reads.bases + region.first_base;
            region.reference = references.bases + references.offsets[number];
            region.length =
                static_cast<int>(references.offsets[number + 1] - references.offsets[number]);
            own.found.count = own.found.text_size = own.found.flags = 0;
            own.scratch.used = 0;
            own.scratch.steps = kMostSteps;
            own.scratch.is_exhausted = false;
        }
        __syncwarp();
        bool is_done = own.scratch.room >= 0 &&
                       own.region.length + own.region.base_count <= memory.text;
        if (is_done) {
            load_region(own);
            __syncwarp();
            is_done = assemble_region(own, reads, rules, logarithms);
            is_done = is_done && write_strings(own.found, number, strings);
        }
        __syncwarp();
        if (!is_done && lane_id() == 0) {
            strings.firsts[number] = strings.counts[number] = 0;
            strings.flags[number] = kLeft;
        }
    }
}
