// Best paths of sequence graphs, as in hapgpu/calling/assembly/haplotypes.py. One lane works.

#include "calling/sequence_graph.cuh"

// Paths so far: path i has the bases text[offsets[i]:offsets[i + 1]].
struct Paths {
    double* scores;
    int *offsets, *ends, *queue, *best;
    unsigned char* text;
    int path_room, text_room;
    int found;
    bool has_more, is_exhausted;
};

// Tells which path is better: the score, then the lexicographically larger bases, then the longer.
__device__ inline bool is_better(const Paths& paths, int one, int other) {
    if (paths.scores[one] != paths.scores[other]) return paths.scores[one] > paths.scores[other];
    const int start = paths.offsets[one], other_start = paths.offsets[other];
    const int length = paths.offsets[one + 1] - start;
    const int other_length = paths.offsets[other + 1] - other_start;
    for (int k = 0; k < min(length, other_length); ++k) {
        const unsigned char base = paths.text[start + k], other_base = paths.text[other_start + k];
        if (base != other_base) return base > other_base;
    }
    return length > other_length;
}

__device__ inline void sift_up(Paths& paths, int row) {
    const int path = paths.queue[row];
    while (row > 0) {
        const int above = row - 1 >> 1;
        if (!is_better(paths, path, paths.queue[above])) break;
        paths.queue[row] = paths.queue[above];
        row = above;
    }
    paths.queue[row] = path;
}

__device__ inline void sift_down(Paths& paths, int size) {
    int row = 0;
    const int path = paths.queue[0];
    while (2 * row + 1 < size) {
        int below = 2 * row + 1;
        if (below + 1 < size && is_better(paths, paths.queue[below + 1], paths.queue[below])) {
            ++below;
        }
        if (!is_better(paths, paths.queue[below], path)) break;
        paths.queue[row] = paths.queue[below];
        row = below;
    }
    paths.queue[row] = path;
}

// Writes the bases of a vertex to text[at:]; returns their end, or kNone if they do not fit.
__device__ inline int write_vertex(Paths& paths, const Graph& graph, int vertex, int at) {
    const int length = graph.length_of(vertex), start = graph.vertices[vertex].text_start;
    if (at + length > paths.text_room) return kNone;
    for (int k = 0; k < length; ++k) paths.text[at + k] = graph.text[start + k];
    return at + length;
}

// Adds a path: `before`, and an edge from its end; false if there is no room.
__device__ inline bool add_path(Paths& paths, const Graph& graph, int number, int before,
                                const Edge& edge, double score) {
    const int from = paths.offsets[before], length = paths.offsets[before + 1] - from;
    const int start = paths.offsets[number];
    if (number + 1 >= paths.path_room || start + length > paths.text_room) return false;
    for (int k = 0; k < length; ++k) paths.text[start + k] = paths.text[from + k];
    const int end = write_vertex(paths, graph, edge.target, start + length);
    if (end < 0) return false;
    paths.offsets[number + 1] = end;
    paths.ends[number] = edge.target;
    paths.scores[number] = score;
    return true;
}

// Finds at most `max_paths` paths from source to sink, best first. The score of a path is the sum of
// log10(multiplicity / sum over the out-edges of the vertex). Each vertex is extended at most
// `max_paths` times. `log10_of` has the logarithms of the numbers below `numbers`.
__device__ inline void find_best_paths(Paths& paths, const Graph& graph, Ends ends, int max_paths,
                                       const double* log10_of, int numbers, Scratch& scratch) {
    Borrowed borrowed(scratch);
    paths.found = 0;
    paths.has_more = false;
    int* visits = borrowed.take(graph.vertex_count);
    if (scratch.is_exhausted) return;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) visits[vertex] = 0;
    int queued = 1, count = 1;
    paths.queue[0] = paths.offsets[0] = 0;
    paths.scores[0] = 0.0;
    paths.ends[0] = ends.source;
    paths.offsets[1] = write_vertex(paths, graph, ends.source, 0);
    paths.is_exhausted = paths.offsets[1] < 0;
    while (queued > 0 && paths.found < max_paths && !paths.is_exhausted) {
        const int path = paths.queue[0];
        paths.queue[0] = paths.queue[--queued];
        sift_down(paths, queued);
        const int vertex = paths.ends[path];
        if (vertex == ends.sink) {
            paths.best[paths.found++] = path;
            continue;
        }
        if (visits[vertex]++ >= max_paths) continue;
        int total = 0, edge = graph.vertices[vertex].first_out;
        for (; edge >= 0; edge = graph.edges[edge].next_out) total += graph.edges[edge].multiplicity;
        paths.is_exhausted |= total >= numbers;
        edge = graph.vertices[vertex].first_out;
        for (; edge >= 0 && !paths.is_exhausted; edge = graph.edges[edge].next_out) {
            const Edge& along = graph.edges[edge];
            const double score =
                paths.scores[path] + (log10_of[along.multiplicity] - log10_of[total]);
            paths.is_exhausted = !add_path(paths, graph, count, path, along, score);
            if (paths.is_exhausted) break;
            paths.queue[queued] = count++;
            sift_up(paths, queued++);
        }
    }
    paths.has_more = queued > 0 && max_paths > 0;
}
