// k-mer graphs of an active region, as in hapgpu/calling/assembly/{kmers,kmer_graphs,pruning}.py.
// All lanes of a warp number the k-mers; one lane threads the sequences, in GATK's order.

#include "common/warp.cuh"
#include "calling/graph.cuh"

// Bases are numbered in the order of their letters.
constexpr int kUnknownBase = 3;  // N
constexpr int kBaseBits = 7;
constexpr int kGoodBase = 1 << 3;  // a bit of bases that are threaded
constexpr int kPackedBases = 8;    // per word
constexpr int kMostProbes = 256;

// A slot of the hash table: a k-mer.
struct Kmer {
    int text_start;     // some occurrence; -1: an empty slot
    int last_sequence;  // the last sequence that has it
    int vertex;         // if it is unique
    int is_non_unique;  // a sequence has it twice
};

// A run of good bases of a read, of at least k.
struct Run {
    int start, end, sample;
};

struct KmerSpace {
    unsigned* packed;    // the text, kPackedBases per word, and two words more
    Kmer* table;
    int* kmers;          // per base of the text: the slot of the k-mer that starts there
    int* vertex_kmers;   // per vertex
    int* sample_counts;  // per edge: reads of the sample that is threaded
    Run* runs;
    int slots, run_room;
    int run_count, non_unique, with_vertex;
    bool is_full;
};

__device__ inline unsigned packed_word(const KmerSpace& space, int at, int word, int k) {
    const int first = at / kPackedBases + word, shift = at % kPackedBases * 4;
    const unsigned bases = __funnelshift_r(space.packed[first], space.packed[first + 1], shift);
    const int left = k - word * kPackedBases;
    return left >= kPackedBases ? bases : bases & ((1u << 4 * left) - 1);
}

__device__ inline int words_of(int k) { return (k + kPackedBases - 1) / kPackedBases; }

__device__ inline unsigned hash_of_kmer(const KmerSpace& space, int at, int k) {
    unsigned long long hash = 0x9E3779B97F4A7C15ull;
    for (int word = 0; word < words_of(k); ++word) {
        hash = (hash ^ packed_word(space, at, word, k)) * 0xD6E8FEB86659FD93ull;
        hash ^= hash >> 32;
    }
    return static_cast<unsigned>(hash);
}

__device__ inline bool are_same_kmers(const KmerSpace& space, int one, int other, int k) {
    for (int word = 0; word < words_of(k); ++word) {
        if (packed_word(space, one, word, k) != packed_word(space, other, word, k)) return false;
    }
    return true;
}

// Returns the slot of the k-mer at an offset of the text; takes one if it is new; kNone: none is left.
__device__ inline int slot_of(KmerSpace& space, int at, int k) {
    int slot = hash_of_kmer(space, at, k) & space.slots - 1;
    for (int probe = 0; probe < kMostProbes; ++probe) {
        int found = space.table[slot].text_start;
        if (found < 0) {
            found = atomicCAS(&space.table[slot].text_start, kNone, at);
            if (found < 0) {
                space.table[slot].last_sequence = kNone;
                space.table[slot].vertex = kNone;
                space.table[slot].is_non_unique = 0;
                return slot;
            }
        }
        if (are_same_kmers(space, found, at, k)) return slot;
        slot = slot + 1 & space.slots - 1;
    }
    return kNone;
}

// Gives slots to all k-mers of text[start:end], and marks those that it has twice. Called by all
// lanes; sequences have different numbers.
__device__ inline void number_kmers(KmerSpace& space, int start, int end, int k, int sequence) {
    for (int first = start; first + k <= end; first += kWarpLanes) {
        const int at = first + lane_id();
        const bool is_inside = at + k <= end;
        const int slot = is_inside ? slot_of(space, at, k) : kNone;
        if (is_inside && slot < 0) space.is_full = true;
        __syncwarp();  // new slots are cleared
        if (slot >= 0) {
            space.kmers[at] = slot;
            Kmer& kmer = space.table[slot];
            if (atomicExch(&kmer.last_sequence, sequence) == sequence &&
                atomicExch(&kmer.is_non_unique, 1) == 0) {
                atomicAdd(&space.non_unique, 1);
            }
        }
        __syncwarp();
    }
}

__device__ inline bool is_good(unsigned char base) { return base & kGoodBase; }

// The edge from a vertex to one that ends in a base; kNone if there is none.
__device__ inline int edge_with_base(const Graph& graph, int vertex, int base) {
    int edge = graph.vertices[vertex].first_out;
    while (edge >= 0 && graph.edges[edge].last_base != base) edge = graph.edges[edge].next_out;
    return edge;
}

__device__ inline int base_at(const Graph& graph, int at) { return graph.text[at] & kBaseBits; }

// Adds a vertex for the k-mer at an offset; maps the k-mer to it if unique and not yet mapped.
__device__ inline int new_vertex(Graph& graph, KmerSpace& space, int at, int k) {
    const int vertex = add_vertex(graph, at, at + k), slot = space.kmers[at];
    space.vertex_kmers[vertex] = slot;
    Kmer& kmer = space.table[slot];
    if (kmer.vertex < 0 && !kmer.is_non_unique) {
        kmer.vertex = vertex;
        ++space.with_vertex;
    }
    return vertex;
}

__device__ inline int new_edge(Graph& graph, KmerSpace& space, int source, int target, int base) {
    const int edge = append_edge(graph, source, target, 1, base);
    space.sample_counts[edge] = 1;
    return edge;
}

__device__ inline int followed(Graph& graph, KmerSpace& space, int edge) {
    graph.edges[edge].multiplicity += 1;
    space.sample_counts[edge] += 1;
    return graph.edges[edge].target;
}

// Takes the counts of a sample into the pruning multiplicities, and begins the next one.
__device__ inline void flush_sample(Graph& graph, KmerSpace& space) {
    for (int edge = 0; edge < graph.edge_count; ++edge) {
        const unsigned count = space.sample_counts[edge];
        if (count > graph.edges[edge].pruning_multiplicity) {
            graph.edges[edge].pruning_multiplicity = count;
        }
        space.sample_counts[edge] = 0;
    }
}

// Threads text[:length], the reference, through an empty graph; returns its last vertex. Its first
// vertex is 0.
__device__ inline int thread_reference(Graph& graph, KmerSpace& space, int length, int k) {
    int vertex = new_vertex(graph, space, 0, k);
    for (int at = 1; at <= length - k; ++at) {
        const int base = base_at(graph, at + k - 1);
        int edge = edge_with_base(graph, vertex, base);
        if (edge >= 0) {
            vertex = followed(graph, space, edge);
            continue;
        }
        if (!graph.has_room(1, 1, 0)) {
            space.is_full = true;
            return vertex;
        }
        int target = space.table[space.kmers[at]].vertex;
        if (target < 0) target = new_vertex(graph, space, at, k);
        edge = new_edge(graph, space, vertex, target, base);
        graph.edges[edge].is_reference = 1;
        vertex = target;
    }
    flush_sample(graph, space);
    return vertex;
}

// Counts the edges that lead to the k-mer at `start`, while they are the only ones.
__device__ inline void count_backwards(Graph& graph, KmerSpace& space, int vertex, int start,
                                       int k) {
    for (int offset = start + k - 2; offset >= start; --offset) {
        if (graph.vertices[vertex].in_degree != 1) return;
        const int edge = graph.vertices[vertex].first_in;
        vertex = graph.edges[edge].source;
        if ((graph.last_base(vertex) & kBaseBits) != base_at(graph, offset)) return;
        followed(graph, space, edge);
    }
}

// Threads a run from its first unique k-mer on. As in GATK, its last k-mer does not count as a start.
__device__ inline void thread_run(Graph& graph, KmerSpace& space, int start, int end, int k) {
    int first = start;
    while (first < end - k && space.table[space.kmers[first]].is_non_unique) ++first;
    if (first >= end - k) return;
    if (!graph.has_room(1, 0, 0)) {
        space.is_full = true;
        return;
    }
    int vertex = space.table[space.kmers[first]].vertex;
    if (vertex < 0) vertex = new_vertex(graph, space, first, k);
    count_backwards(graph, space, vertex, first, k);
    const int source_kmer = space.vertex_kmers[0];
    for (int at = first + 1; at <= end - k; ++at) {
        const int base = base_at(graph, at + k - 1);
        const int edge = edge_with_base(graph, vertex, base);
        if (edge >= 0) {
            vertex = followed(graph, space, edge);
            continue;
        }
        if (!graph.has_room(1, 1, 0)) {
            space.is_full = true;
            return;
        }
        const int kmer = space.kmers[at];
        int target = kmer == source_kmer ? kNone : space.table[kmer].vertex;
        if (target < 0) target = new_vertex(graph, space, at, k);
        new_edge(graph, space, vertex, target, base);
        vertex = target;
    }
}

// Threads the runs, sample by sample in the order of the first run of each.
__device__ inline void thread_runs(Graph& graph, KmerSpace& space, int k, int samples,
                                   Scratch& scratch) {
    Borrowed borrowed(scratch);
    int* is_done = borrowed.take(samples);
    if (scratch.is_exhausted) return;
    for (int sample = 0; sample < samples; ++sample) is_done[sample] = 0;
    for (int leader = 0; leader < space.run_count; ++leader) {
        const int sample = space.runs[leader].sample;
        if (is_done[sample]) continue;
        is_done[sample] = 1;
        for (int number = leader; number < space.run_count && !space.is_full; ++number) {
            const Run run = space.runs[number];
            if (run.sample == sample) thread_run(graph, space, run.start, run.end, k);
        }
        flush_sample(graph, space);
    }
}

// Removes chains whose edges all have a lower multiplicity. A chain starts at a source, or at the
// end of a chain, and goes on while its vertices have one edge out, and at most one in. Edges of
// the reference are kept, and so are parts of the graph without a source.
__device__ inline void prune_chains(Graph& graph, int min_pruning, Scratch& scratch) {
    Borrowed borrowed(scratch);
    int* starts = borrowed.take(graph.vertex_count);
    int* was_start = borrowed.take(graph.vertex_count);
    int* pruned = borrowed.take(graph.edge_count);
    if (scratch.is_exhausted) return;
    int known = 0, removed = 0;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) {
        was_start[vertex] = graph.vertices[vertex].is_vertex && !graph.vertices[vertex].in_degree;
        if (was_start[vertex]) starts[known++] = vertex;
    }
    for (int taken = 0; taken < known; ++taken) {
        const int start = starts[taken];
        int first = graph.vertices[start].first_out;
        for (; first >= 0; first = graph.edges[first].next_out) {
            bool is_low = true;
            int length = 0, edge = first, end;
            while (true) {
                const Edge& along = graph.edges[edge];
                pruned[removed + length++] = edge;
                is_low &= !along.is_reference && (int)along.pruning_multiplicity < min_pruning;
                end = along.target;
                const Vertex& vertex = graph.vertices[end];
                if (vertex.out_degree != 1 || vertex.in_degree > 1 || end == start) break;
                edge = vertex.first_out;
            }
            if (is_low) removed += length;
            if (!was_start[end]) {
                starts[known++] = end;
                was_start[end] = 1;
            }
        }
    }
    for (int k = 0; k < removed; ++k) remove_edge(graph, pruned[k]);
}

// Removes the vertices without edges; their k-mers have no vertex any more, as in GATK.
__device__ inline void remove_lone_vertices(Graph& graph, KmerSpace& space) {
    for (int number = 0; number < graph.vertex_count; ++number) {
        Vertex& vertex = graph.vertices[number];
        if (!vertex.is_vertex || vertex.in_degree || vertex.out_degree) continue;
        vertex.is_vertex = 0;
        Kmer& kmer = space.table[space.vertex_kmers[number]];
        if (kmer.vertex >= 0) {
            kmer.vertex = kNone;
            --space.with_vertex;
        }
    }
}
