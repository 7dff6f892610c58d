// Sequence graphs of k-mer graphs, simplified in the order and with the limits of GATK's SeqGraph, as
// in hapgpu/calling/assembly/simplification.py and graph_edits.py. One lane works on a graph.

#include "calling/suffixes.cuh"

constexpr int kRoundsUncompared = 6, kMostRounds = 100;

struct Ends {
    int source, sink;
};

// Returns the vertices at which the reference path starts and ends; kNone if there is none. A graph
// of one vertex, without edges, is that path.
__device__ inline Ends reference_ends(const Graph& graph) {
    int source = kNone, sink = kNone, only = kNone, count = 0;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) {
        if (!graph.vertices[vertex].is_vertex) continue;
        only = vertex;
        ++count;
        const bool has_in = has_reference_in(graph, vertex);
        const bool has_out = has_reference_out(graph, vertex);
        if (has_out && !has_in && source < 0) source = vertex;
        if (has_in && !has_out && sink < 0) sink = vertex;
    }
    return count == 1 ? Ends{only, only} : Ends{source, sink};
}

__device__ inline bool starts_chain(const Graph& graph, int number) {
    const Vertex& vertex = graph.vertices[number];
    if (vertex.out_degree != 1) return false;
    if (vertex.in_degree != 1) return true;
    return graph.vertices[graph.edges[vertex.first_in].source].out_degree > 1;
}

// Returns the number of vertices of the chain from a vertex: without other edges inside, and either
// all on the reference or all off it.
__device__ inline int length_of_chain(const Graph& graph, int vertex) {
    int count = 1;
    const bool of_first = is_on_reference(graph, vertex);
    while (graph.vertices[vertex].out_degree == 1) {
        const int target = graph.next_of(vertex);
        if (graph.vertices[target].in_degree != 1 || target == vertex) break;
        if (is_on_reference(graph, target) != of_first) break;
        ++count;
        vertex = target;
    }
    return count;
}

// Replaces a chain by one vertex, unless there is no room.
__device__ inline bool zip(Graph& graph, int first, int count) {
    int text = graph.length_of(first), last = first;
    for (int k = 1; k < count; ++k) {
        last = graph.next_of(last);
        text += graph.length_of(last);
    }
    const int edges = graph.vertices[first].in_degree + graph.vertices[last].out_degree;
    if (!graph.has_room(1, edges + 1, text)) return false;  // 1 from the chain to itself
    const int start = graph.text_size;
    int vertex = first;
    append_bases_of(graph, vertex);
    while (vertex != last) {
        vertex = graph.next_of(vertex);
        append_bases_of(graph, vertex);
    }
    const int made = add_vertex(graph, start, graph.text_size);
    copy_out_edges(graph, last, made);
    copy_in_edges(graph, first, made);
    for (vertex = first; vertex != last;) {
        const int after = graph.next_of(vertex);
        remove_vertex(graph, vertex);
        vertex = after;
    }
    remove_vertex(graph, last);
    return true;
}

__device__ inline Change zip_chains(Graph& graph) {
    Change result = kUnchanged;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) {
        if (!graph.vertices[vertex].is_vertex || !starts_chain(graph, vertex)) continue;
        const int count = length_of_chain(graph, vertex);
        if (count <= 1) continue;
        if (!zip(graph, vertex, count)) return kNoRoom;
        result = kChanged;
    }
    return result;
}

// Hashes of the sequences of the vertices, and of those at both ends of each edge.
struct Content {
    unsigned long long *vertices, *sources, *targets;
    int vertex_count, edge_count;
};

__device__ inline unsigned long long* take_hashes(Scratch& scratch, int count) {
    scratch.used += scratch.used & 1;
    return reinterpret_cast<unsigned long long*>(scratch.take(2 * count));
}

__device__ inline Content content_of(const Graph& graph, Scratch& scratch) {
    Content content{take_hashes(scratch, graph.vertex_count), take_hashes(scratch, graph.edge_count),
                    take_hashes(scratch, graph.edge_count), 0, 0};
    unsigned long long* hashes = take_hashes(scratch, graph.vertex_count);
    if (scratch.is_exhausted) return content;
    for (int number = 0; number < graph.vertex_count; ++number) {
        const Vertex& vertex = graph.vertices[number];
        if (!vertex.is_vertex) continue;
        unsigned long long hash = 0xCBF29CE484222325ull;
        for (int at = vertex.text_start; at < vertex.text_end; ++at) {
            hash = (hash ^ graph.text[at]) * 0x100000001B3ull;
        }
        content.vertices[content.vertex_count++] = hashes[number] = hash;
    }
    for (int number = 0; number < graph.edge_count; ++number) {
        const Edge& edge = graph.edges[number];
        if (!edge.is_edge) continue;
        content.sources[content.edge_count] = hashes[edge.source];
        content.targets[content.edge_count++] = hashes[edge.target];
    }
    return content;
}

__device__ inline bool is_within(const unsigned long long* first, const unsigned long long* second,
                                 int count, const unsigned long long* other_first,
                                 const unsigned long long* other_second, int other_count) {
    for (int k = 0; k < count; ++k) {
        int j = 0;
        while (j < other_count && (first[k] != other_first[j] || second[k] != other_second[j])) ++j;
        if (j == other_count) return false;
    }
    return true;
}

// Compares the sets of vertices and edges by their sequences.
__device__ inline bool are_equal(const Content& one, const Content& other) {
    const int vertices = one.vertex_count, edges = one.edge_count;
    return vertices == other.vertex_count && edges == other.edge_count &&
           is_within(one.vertices, one.vertices, vertices, other.vertices, other.vertices,
                     vertices) &&
           is_within(one.sources, one.targets, edges, other.sources, other.targets, edges) &&
           is_within(other.sources, other.targets, edges, one.sources, one.targets, edges);
}

// Merges equal parts of paths; false if given up halfway, for lack of room.
__device__ inline bool simplify(Graph& graph, Scratch& scratch) {
    Borrowed borrowed(scratch);
    Content before{};
    Change result = kUnchanged;  // of a round
    int step = 3;                // chains are zipped before the first round, too
#pragma unroll 1
    for (int rounds = -1; rounds < kMostRounds;) {
        const Change change = step == 0   ? merge_diamonds(graph, scratch)
                              : step == 1 ? split_common_suffixes(graph, scratch)
                              : step == 2 ? merge_common_suffixes(graph, scratch)
                                          : zip_chains(graph);
        if (change == kNoRoom) return false;
        if (change > result) result = change;
        if (step++ < 3) continue;
        if (rounds >= 0 && result == kUnchanged) break;
        if (rounds >= kRoundsUncompared) {
            const Content now = content_of(graph, scratch);
            if (scratch.is_exhausted) return false;
            const int vertices = now.vertex_count, edges = now.edge_count;
            if (!scratch.spend(vertices / 16 * vertices + edges / 8 * edges)) return false;
            if (rounds > kRoundsUncompared && are_equal(before, now)) break;
            before = now;
        }
        step = 0, result = kUnchanged, ++rounds;
    }
    return true;
}

// Appends the bases that a k-mer vertex gives: the k-mer if no edge leads into it, else the last one.
__device__ inline int append_bases(Graph& graph, const Graph& kmers, int number) {
    const Vertex& vertex = kmers.vertices[number];
    const int start = vertex.in_degree == 0 ? vertex.text_start : vertex.text_end - 1;
    const int at = graph.text_size;
    for (int k = start; k < vertex.text_end; ++k) graph.text[graph.text_size++] = kmers.text[k] & 7;
    return at;
}

__device__ inline void copy_kmer_edge(Graph& graph, const Graph& kmers, int edge, int source,
                                      int target) {
    const int made = append_edge(graph, source, target, kmers.edges[edge].multiplicity);
    graph.edges[made].is_reference = kmers.edges[edge].is_reference;
}

// Returns the edge out of, or into, a vertex whose other end has the first number from `start` on and
// before `end`; kNone if there is none.
__device__ inline int edge_by_number(const Graph& kmers, int vertex, bool is_out,
                                     const int* numbers, int start, int end) {
    int best = kNone, lowest = end;
    int edge = is_out ? kmers.vertices[vertex].first_out : kmers.vertices[vertex].first_in;
    while (edge >= 0) {
        const Edge& along = kmers.edges[edge];
        const int number = numbers[is_out ? along.target : along.source];
        if (start <= number && number < lowest) best = edge, lowest = number;
        edge = is_out ? along.next_out : along.next_in;
    }
    return best;
}

// Adds the edges between a chain and what is in no chain, or in chains before it. The others are in
// the order of the k-mer graph, then chains in their own; an edge from the chain to itself is last.
__device__ inline void link_chain(Graph& graph, const Graph& kmers, const int* numbers, int first,
                                  int last, int first_chain) {
    const int chain = numbers[first];
    int edge = kmers.vertices[last].first_out;
    for (; edge >= 0; edge = kmers.edges[edge].next_out) {
        const int target = numbers[kmers.edges[edge].target];
        if (target < first_chain) copy_kmer_edge(graph, kmers, edge, chain, target);
    }
    for (int start = first_chain;;) {
        edge = edge_by_number(kmers, last, true, numbers, start, chain);
        if (edge < 0) break;
        start = numbers[kmers.edges[edge].target] + 1;
        copy_kmer_edge(graph, kmers, edge, chain, start - 1);
    }
    edge = kmers.vertices[first].first_in;
    for (; edge >= 0; edge = kmers.edges[edge].next_in) {
        const int source = numbers[kmers.edges[edge].source];
        if (source < first_chain) copy_kmer_edge(graph, kmers, edge, source, chain);
    }
    for (int start = first_chain;;) {
        edge = edge_by_number(kmers, first, false, numbers, start, chain + 1);
        if (edge < 0) break;
        start = numbers[kmers.edges[edge].source] + 1;
        copy_kmer_edge(graph, kmers, edge, start - 1, chain);
    }
}

// Writes the sequence graph of a k-mer graph; false if there is no room.
__device__ inline bool make_sequence_graph(const Graph& kmers, Graph& graph, Scratch& scratch) {
    Borrowed borrowed(scratch);
    const int vertices = kmers.vertex_count;
    int* lasts = borrowed.take(vertices);    // of the chain that starts at a vertex; kNone
    int* numbers = borrowed.take(vertices);  // kNone inside of chains
    int* is_inside = borrowed.take(vertices);
    if (scratch.is_exhausted) return false;
    int text = 0, made_vertices = 0, edges = 0;
    for (int vertex = 0; vertex < vertices; ++vertex) {
        lasts[vertex] = numbers[vertex] = kNone;
        is_inside[vertex] = 0;
        const Vertex& kmer = kmers.vertices[vertex];
        if (kmer.is_vertex) text += kmer.in_degree == 0 ? kmer.text_end - kmer.text_start : 1;
    }
    for (int first = 0; first < vertices; ++first) {
        if (!kmers.vertices[first].is_vertex || !starts_chain(kmers, first)) continue;
        const int count = length_of_chain(kmers, first);
        if (count <= 1) continue;
        int vertex = first;
        is_inside[vertex] = 1;
        for (int k = 1; k < count; ++k) is_inside[vertex = kmers.next_of(vertex)] = 1;
        lasts[first] = vertex;
        edges += kmers.vertices[first].in_degree + kmers.vertices[vertex].out_degree;
    }
    for (int vertex = 0; vertex < vertices; ++vertex) {
        if (!kmers.vertices[vertex].is_vertex) continue;
        if (!is_inside[vertex]) {
            ++made_vertices;
            edges += kmers.vertices[vertex].out_degree;
        }
        made_vertices += lasts[vertex] >= 0;
    }
    graph.clear();
    if (!graph.has_room(made_vertices, edges, text)) return false;
    for (int vertex = 0; vertex < vertices; ++vertex) {
        if (!kmers.vertices[vertex].is_vertex || is_inside[vertex]) continue;
        const int start = append_bases(graph, kmers, vertex);
        numbers[vertex] = add_vertex(graph, start, graph.text_size);
    }
    const int first_chain = graph.vertex_count;
    for (int first = 0; first < vertices; ++first) {
        if (lasts[first] < 0) continue;
        int inside = first;
        const int start = append_bases(graph, kmers, first);
        while (inside != lasts[first]) append_bases(graph, kmers, inside = kmers.next_of(inside));
        numbers[first] = numbers[inside] = add_vertex(graph, start, graph.text_size);
    }
    for (int edge = 0; edge < kmers.edge_count; ++edge) {
        if (!kmers.edges[edge].is_edge) continue;
        const int source = numbers[kmers.edges[edge].source];
        const int target = numbers[kmers.edges[edge].target];
        if (max(source, target) < first_chain && min(source, target) >= 0) {
            copy_kmer_edge(graph, kmers, edge, source, target);
        }
    }
    for (int first = 0; first < vertices; ++first) {
        if (lasts[first] >= 0) link_chain(graph, kmers, numbers, first, lasts[first], first_chain);
    }
    return true;
}

// Writes the simplified sequence graph of a k-mer graph, cut to what lies between the ends of the
// reference; false if there is no room.
__device__ inline bool make_simplified(const Graph& kmers, Graph& graph, Scratch& scratch) {
    if (!make_sequence_graph(kmers, graph, scratch)) return false;
#pragma unroll 1
    for (bool is_cut = false;; is_cut = true) {
        if (!simplify(graph, scratch)) return false;
        if (is_cut) return true;
        const Ends ends = reference_ends(graph);
        if (ends.source < 0 || ends.sink < 0) return true;
        keep_between(graph, ends.source, ends.sink, scratch);
        if (scratch.is_exhausted) return false;
    }
}
