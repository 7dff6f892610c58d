// Merging of vertices with common prefixes or suffixes, as in hapgpu/calling/assembly/suffixes.py and
// graph_edits.py. One lane works on a graph.

#include "calling/graph.cuh"

enum Change { kUnchanged, kChanged, kNoRoom };

// Adds an edge; if there is one, only its reference flag may change.
__device__ __noinline__ void link(Graph& graph, int source, int target, int multiplicity,
                            bool is_reference) {
    int edge = find_edge(graph, source, target);
    if (edge < 0) edge = append_edge(graph, source, target, multiplicity);
    graph.edges[edge].is_reference |= is_reference;
}

// Adds an edge with the properties of another one, which may have been removed.
__device__ inline void copy_edge(Graph& graph, int edge, int source, int target) {
    link(graph, source, target, graph.edges[edge].multiplicity, graph.edges[edge].is_reference);
}

__device__ inline void copy_in_edges(Graph& graph, int old, int made) {
    int edge = graph.vertices[old].first_in;
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        copy_edge(graph, edge, graph.edges[edge].source, made);
    }
}

__device__ inline void copy_out_edges(Graph& graph, int old, int made) {
    int edge = graph.vertices[old].first_out;
    for (; edge >= 0; edge = graph.edges[edge].next_out) {
        copy_edge(graph, edge, made, graph.edges[edge].target);
    }
}

__device__ inline int edges_into_sources(const Graph& graph, int vertex) {
    int total = 0, edge = graph.vertices[vertex].first_in;
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        total += graph.vertices[graph.edges[edge].source].in_degree;
    }
    return total;
}

// Tells whether `bottom` is the only successor of each vertex before it, without a cycle.
__device__ inline bool end_there_only(const Graph& graph, int bottom) {
    int edge = graph.vertices[bottom].first_in;
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        const int middle = graph.edges[edge].source;
        if (middle == bottom || graph.vertices[middle].out_degree != 1) return false;
        if (find_edge(graph, bottom, middle) >= 0) return false;
    }
    return true;
}

__device__ inline int common_suffix(const Graph& graph, int one, int other, int at_most) {
    const int longest = min(at_most, graph.length_of(other));
    const int end = graph.vertices[one].text_end - 1, other_end = graph.vertices[other].text_end - 1;
    int k = 0;
    while (k < longest && graph.text[end - k] == graph.text[other_end - k]) ++k;
    return k;
}

// Tells whether the vertex at which the reference starts is longer than the suffix.
__device__ inline bool leaves_source(const Graph& graph, int bottom, int suffix) {
    int edge = graph.vertices[bottom].first_in;
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        const int middle = graph.edges[edge].source;
        if (has_reference_out(graph, middle) && !has_reference_in(graph, middle)) {
            return graph.length_of(middle) != suffix;
        }
    }
    return true;
}

// Returns the length of the suffix to split off the vertices before `bottom`; 0 for none.
__device__ inline int suffix_to_split(const Graph& graph, int bottom) {
    if (!end_there_only(graph, bottom)) return 0;
    int edge = graph.vertices[bottom].first_in;
    const int first = graph.edges[edge].source;
    int suffix = graph.length_of(first);
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        suffix = common_suffix(graph, first, graph.edges[edge].source, suffix);
    }
    if (suffix == 0 || !leaves_source(graph, bottom, suffix)) return 0;
    edge = graph.vertices[bottom].first_in;
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        if (graph.length_of(graph.edges[edge].source) > suffix) return suffix;
    }
    return 0;
}

// Replaces each vertex before `bottom` by two: the last is the common suffix.
__device__ inline bool split(Graph& graph, int bottom, int suffix, Scratch& scratch) {
    Borrowed borrowed(scratch);
    const int count = graph.vertices[bottom].in_degree;
    int* before = borrowed.take(count);
    if (!before) return false;
    int edge = graph.vertices[bottom].first_in;
    for (int k = 0; k < count; ++k, edge = graph.edges[edge].next_in) {
        before[k] = graph.edges[edge].source;
    }
    for (int k = 0; k < count; ++k) {
        const int middle = before[k], out = graph.vertices[middle].first_out;
        const int start = graph.vertices[middle].text_start;
        const int end = graph.vertices[middle].text_end;
        const int last = add_vertex(graph, end - suffix, end);
        int first = last;
        if (end - start > suffix) {
            first = add_vertex(graph, start, end - suffix);
            link(graph, first, last, 1, graph.edges[out].is_reference);
        }
        copy_edge(graph, out, last, bottom);
        copy_in_edges(graph, middle, first);
    }
    for (int k = 0; k < count; ++k) remove_vertex(graph, before[k]);
    return true;
}

// Splits the common suffix off all vertices before a vertex, for each vertex once, also for those
// that splits add (GATK's CommonSuffixSplitter).
__device__ inline Change split_common_suffixes(Graph& graph, Scratch& scratch) {
    Change result = kUnchanged;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) {
        if (!graph.vertices[vertex].is_vertex || graph.vertices[vertex].in_degree <= 1) continue;
        const int length = suffix_to_split(graph, vertex);
        if (length == 0) continue;
        const int before = graph.vertices[vertex].in_degree;
        const int edges = edges_into_sources(graph, vertex);
        if (!graph.has_room(2 * before, 2 * before + edges, 0)) return kNoRoom;
        if (!split(graph, vertex, length, scratch)) return kNoRoom;
        result = kChanged;
    }
    return result;
}

__device__ inline int first_before(const Graph& graph, int vertex) {
    return graph.edges[graph.vertices[vertex].first_in].source;
}

// Tells whether all vertices before `bottom` have equal bases, and no other successor.
__device__ inline bool can_merge(const Graph& graph, int bottom) {
    if (graph.vertices[bottom].in_degree == 0) return false;
    int edge = graph.vertices[bottom].first_in;
    const int first = graph.edges[edge].source, length = graph.length_of(first);
    for (; edge >= 0; edge = graph.edges[edge].next_in) {
        const int before = graph.edges[edge].source;
        const Vertex& vertex = graph.vertices[before];
        if (vertex.out_degree != 1 || vertex.in_degree == 0) return false;
        if (graph.length_of(before) != length) return false;
        if (common_suffix(graph, first, before, length) != length) return false;
    }
    return true;
}

__device__ inline void append_bases_of(Graph& graph, int vertex) {
    append_text(graph, graph.text, graph.vertices[vertex].text_start,
                graph.vertices[vertex].text_end);
}

// Merges equal vertices before a vertex into it; after each change the search starts again (GATK's
// SharedSequenceMerger).
__device__ inline Change merge_common_suffixes(Graph& graph, Scratch& scratch) {
    Change result = kUnchanged;
    for (int bottom = 0; bottom < graph.vertex_count; ++bottom) {
        if (!scratch.spend(1)) return kNoRoom;
        if (!graph.vertices[bottom].is_vertex || !can_merge(graph, bottom)) continue;
        const int first = first_before(graph, bottom);
        const int edges = edges_into_sources(graph, bottom) + graph.vertices[bottom].out_degree;
        const int text = graph.length_of(bottom) + graph.length_of(first);
        if (!graph.has_room(1, edges, text)) return kNoRoom;
        const int start = graph.text_size;
        append_bases_of(graph, first);
        append_bases_of(graph, bottom);
        const int made = add_vertex(graph, start, graph.text_size);
        int edge = graph.vertices[bottom].first_in;
        for (; edge >= 0; edge = graph.edges[edge].next_in) {
            copy_in_edges(graph, graph.edges[edge].source, made);
        }
        copy_out_edges(graph, bottom, made);
        while (graph.vertices[bottom].first_in >= 0) {
            remove_vertex(graph, first_before(graph, bottom));
        }
        remove_vertex(graph, bottom);
        result = kChanged;
        bottom = -1;
    }
    return result;
}

// Returns the vertex in which all branches from `top` end, and nothing else; kNone if there is none.
__device__ inline int bottom_of(const Graph& graph, int top) {
    int bottom = kNone;
    const int first = graph.vertices[top].first_out;
    for (int edge = first; edge >= 0; edge = graph.edges[edge].next_out) {
        const Vertex& middle = graph.vertices[graph.edges[edge].target];
        if (middle.out_degree != 1 || middle.in_degree != 1) return kNone;
        const int target = graph.edges[middle.first_out].target;
        if (edge == first) bottom = target;
        if (target != bottom) return kNone;
    }
    return graph.vertices[bottom].in_degree == (int)graph.vertices[top].out_degree ? bottom : kNone;
}

// Lengths of the bases that all branches start with, and of what remains end with.
struct SharedBases {
    int prefix, suffix;
};

__device__ inline SharedBases shared_of(const Graph& graph, int top) {
    int edge = graph.vertices[top].first_out;
    const int first = graph.edges[edge].target, start_of_first = graph.vertices[first].text_start;
    int shortest = graph.length_of(first), prefix = shortest, suffix = shortest;
    for (edge = graph.edges[edge].next_out; edge >= 0; edge = graph.edges[edge].next_out) {
        const int middle = graph.edges[edge].target, start = graph.vertices[middle].text_start;
        shortest = min(shortest, graph.length_of(middle));
        prefix = min(prefix, shortest);
        int k = 0;
        while (k < prefix && graph.text[start + k] == graph.text[start_of_first + k]) ++k;
        prefix = k;
        suffix = common_suffix(graph, first, middle, min(suffix, shortest));
    }
    return {prefix, min(suffix, shortest - prefix)};
}

// Replaces the branches by their common prefix, what remains of each, and their common suffix. A
// branch of which nothing remains becomes an edge with the multiplicities of both its edges; several
// such branches become one.
__device__ inline bool merge_diamond(Graph& graph, int top, int bottom, SharedBases shared,
                                     Scratch& scratch) {
    Borrowed borrowed(scratch);
    const int branches = graph.vertices[top].out_degree;
    int *into = borrowed.take(branches), *out = borrowed.take(branches);
    int* made = borrowed.take(branches);
    if (scratch.is_exhausted) return false;
    int edge = graph.vertices[top].first_out;
    for (int k = 0; k < branches; ++k, edge = graph.edges[edge].next_out) {
        into[k] = edge;
        out[k] = graph.vertices[graph.edges[edge].target].first_out;
    }
    int direct = 0;
    bool into_reference = false, out_of_reference = false, is_direct_reference = false;
    for (int k = 0; k < branches; ++k) {
        const Edge &in = graph.edges[into[k]], &on = graph.edges[out[k]];
        const int middle = in.target;
        remove_vertex(graph, middle);  // its text and the properties of its edges stay
        into_reference |= in.is_reference;
        out_of_reference |= on.is_reference;
        const int start = graph.vertices[middle].text_start + shared.prefix;
        const int end = graph.vertices[middle].text_end - shared.suffix;
        made[k] = kNone;
        if (start < end) {
            made[k] = add_vertex(graph, start, end);
        } else {
            direct += in.multiplicity + on.multiplicity;
            is_direct_reference |= in.is_reference | on.is_reference;
        }
    }
    const int first = graph.edges[into[0]].target;
    const int start = graph.vertices[first].text_start, end = graph.vertices[first].text_end;
    int above = top, below = bottom;
    if (shared.prefix > 0) {
        above = add_vertex(graph, start, start + shared.prefix);
        link(graph, top, above, 1, into_reference | is_direct_reference);
    }
    if (shared.suffix > 0) {
        below = add_vertex(graph, end - shared.suffix, end);
        link(graph, below, bottom, 1, out_of_reference | is_direct_reference);
    }
    for (int k = 0; k < branches; ++k) {
        if (made[k] >= 0) copy_edge(graph, into[k], above, made[k]);
        else link(graph, above, below, direct, is_direct_reference);
    }
    for (int k = 0; k < branches; ++k) {
        if (made[k] >= 0) copy_edge(graph, out[k], made[k], below);
    }
    return true;
}

// Merges what the branches of diamonds share; after each change the search starts again (GATK's
// MergeDiamonds).
__device__ inline Change merge_diamonds(Graph& graph, Scratch& scratch) {
    Change result = kUnchanged;
    for (int top = 0; top < graph.vertex_count; ++top) {
        if (!scratch.spend(1)) return kNoRoom;
        if (!graph.vertices[top].is_vertex || graph.vertices[top].out_degree <= 1) continue;
        const int bottom = bottom_of(graph, top);
        if (bottom < 0) continue;
        const SharedBases shared = shared_of(graph, top);
        if (shared.prefix + shared.suffix == 0) continue;
        const int branches = graph.vertices[top].out_degree;
        if (!graph.has_room(branches + 2, 2 * branches + 3, 0)) return kNoRoom;
        if (!merge_diamond(graph, top, bottom, shared, scratch)) return kNoRoom;
        result = kChanged;
        top = -1;
    }
    return result;
}
