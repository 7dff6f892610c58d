// Best paths of sequence graphs, as in hapgpu/calling/assembly/haplotypes.py. One lane works.

#include "calling/sequence_graph.cuh"

constexpr int kBasesPerWord = 4;  // the first in the highest byte, each one more than its code

// Paths so far: path i has lengths[i] bases in the words from starts[i] on, with zeros at the end.
struct Paths {
    double* scores;
    int *starts, *lengths, *ends, *queue, *best;
    unsigned* words;
    int path_room, word_room;
    int word_count, found;
    bool has_more, is_exhausted;

    __device__ int base(int path, int at) const {
        const unsigned word = words[starts[path] + at / kBasesPerWord];
        return (word >> 24 - at % kBasesPerWord * 8 & 255) - 1;
    }
};

__device__ inline int words_for_bases(int bases) {
    return (bases + kBasesPerWord - 1) / kBasesPerWord;
}

// Tells which path is better: the score, then the lexicographically larger bases, then the longer.
__device__ inline bool is_better(const Paths& paths, int one, int other) {
    if (paths.scores[one] != paths.scores[other]) return paths.scores[one] > paths.scores[other];
    const unsigned* words = paths.words + paths.starts[one];
    const unsigned* other_words = paths.words + paths.starts[other];
    const int count = words_for_bases(min(paths.lengths[one], paths.lengths[other]));
    for (int k = 0; k < count; ++k) {
        if (words[k] != other_words[k]) return words[k] > other_words[k];
    }
    return paths.lengths[one] > paths.lengths[other];
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

// Adds path `number`: the bases of path `before`, none if it is `kNone`, and of a vertex. False if
// there is no room.
__device__ inline bool add_path(Paths& paths, const Graph& graph, int number, int before,
                                int vertex, double score) {
    const int start = paths.word_count, more = graph.length_of(vertex);
    const int length = before < 0 ? 0 : paths.lengths[before];
    const int end = start + words_for_bases(length + more);
    if (number >= paths.path_room || end > paths.word_room) return false;
    const int copied = length / kBasesPerWord;
    unsigned word = 0;
    if (before >= 0) {
        const unsigned* from = paths.words + paths.starts[before];
        for (int k = 0; k < copied; ++k) paths.words[start + k] = from[k];
        if (length % kBasesPerWord) word = from[copied];
    }
    const unsigned char* bases = graph.text + graph.vertices[vertex].text_start;
    int at = start + copied, shift = 24 - length % kBasesPerWord * 8;
    for (int k = 0; k < more; ++k) {
        word |= bases[k] + 1u << shift;
        shift -= 8;
        if (shift < 0) {
            paths.words[at++] = word;
            word = 0, shift = 24;
        }
    }
    if (at < end) paths.words[at] = word;
    paths.word_count = end;
    paths.starts[number] = start;
    paths.lengths[number] = length + more;
    paths.ends[number] = vertex;
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
    paths.queue[0] = paths.word_count = 0;
    paths.is_exhausted = !add_path(paths, graph, 0, kNone, ends.source, 0.0);
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
            paths.is_exhausted = !add_path(paths, graph, count, path, along.target, score);
            if (paths.is_exhausted) break;
            paths.queue[queued] = count++;
            sift_up(paths, queued++);
        }
    }
    paths.has_more = queued > 0 && max_paths > 0;
}
