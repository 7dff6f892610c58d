// Directed graphs of sequences, as in hapgpu/calling/assembly/graph.py: edges of a vertex are
// doubly linked lists in the order of insertion, vertices are numbered in it, and numbers of removed
// ones are not used again. Results depend on these orders. One lane works on a graph.

constexpr int kNone = -1;

struct Vertex {
    int text_start, text_end;
    int first_out, last_out, first_in, last_in;
    int in_degree;
    unsigned out_degree : 31;
    unsigned is_vertex : 1;
};

struct Edge {
    int source, target;
    int multiplicity;                   // reads of all samples, and the reference
    unsigned pruning_multiplicity : 27;  // the most reads of one sample
    unsigned last_base : 3;             // of the target, while sequences are threaded
    unsigned is_reference : 1;
    unsigned is_edge : 1;
    int next_out, previous_out, next_in, previous_in;
};

struct Graph {
    unsigned char* text;
    Vertex* vertices;
    Edge* edges;
    int text_room, vertex_room, edge_room;
    int text_size, vertex_count, edge_count;  // also removed ones

    __device__ void clear() { text_size = vertex_count = edge_count = 0; }

    __device__ bool has_room(int more_vertices, int more_edges, int more_text) const {
        return vertex_count + more_vertices <= vertex_room &&
               edge_count + more_edges <= edge_room && text_size + more_text <= text_room;
    }

    __device__ int length_of(int vertex) const {
        return vertices[vertex].text_end - vertices[vertex].text_start;
    }

    __device__ int last_base(int vertex) const { return text[vertices[vertex].text_end - 1]; }

    __device__ int next_of(int vertex) const { return edges[vertices[vertex].first_out].target; }
};

// Appends bases from[start:end], which may be those of the graph; there must be room.
__device__ inline int append_text(Graph& graph, const unsigned char* from, int start, int end) {
    const int at = graph.text_size;
    for (int k = 0; k < end - start; ++k) graph.text[at + k] = from[start + k];
    graph.text_size = at + end - start;
    return at;
}

__device__ inline int add_vertex(Graph& graph, int text_start, int text_end) {
    const int vertex = graph.vertex_count++;
    graph.vertices[vertex] = {text_start, text_end, kNone, kNone, kNone, kNone, 0, 0, 1};
    return vertex;
}

__device__ inline int find_edge(const Graph& graph, int source, int target) {
    int edge = graph.vertices[source].first_out;
    while (edge >= 0 && graph.edges[edge].target != target) edge = graph.edges[edge].next_out;
    return edge;
}

// Adds an edge that is known to be new, and not on the reference.
__device__ __noinline__ int append_edge(Graph& graph, int source, int target, int multiplicity,
                                  int last_base = 0) {
    const int edge = graph.edge_count++;
    Vertex& from = graph.vertices[source];
    Vertex& to = graph.vertices[target];
    Edge made;
    made.source = source;
    made.target = target;
    made.multiplicity = multiplicity;
    made.pruning_multiplicity = multiplicity;
    made.last_base = last_base;
    made.is_reference = 0;
    made.is_edge = 1;
    made.next_out = made.next_in = kNone;
    made.previous_out = from.last_out;
    made.previous_in = to.last_in;
    graph.edges[edge] = made;
    if (from.last_out < 0) from.first_out = edge;
    else graph.edges[from.last_out].next_out = edge;
    from.last_out = edge;
    from.out_degree += 1;
    if (to.last_in < 0) to.first_in = edge;
    else graph.edges[to.last_in].next_in = edge;
    to.last_in = edge;
    to.in_degree += 1;
    return edge;
}

// Adds an edge unless there is one.
__device__ inline void add_edge(Graph& graph, int source, int target, int multiplicity) {
    if (find_edge(graph, source, target) < 0) append_edge(graph, source, target, multiplicity);
}

// The `next_out` and `next_in` of the edge stay, so that loops over lists can go on.
__device__ inline void remove_edge(Graph& graph, int edge) {
    Edge& removed = graph.edges[edge];
    Vertex& source = graph.vertices[removed.source];
    Vertex& target = graph.vertices[removed.target];
    int before = removed.previous_out, after = removed.next_out;
    if (before < 0) source.first_out = after;
    else graph.edges[before].next_out = after;
    if (after < 0) source.last_out = before;
    else graph.edges[after].previous_out = before;
    before = removed.previous_in, after = removed.next_in;
    if (before < 0) target.first_in = after;
    else graph.edges[before].next_in = after;
    if (after < 0) target.last_in = before;
    else graph.edges[after].previous_in = before;
    source.out_degree -= 1;
    target.in_degree -= 1;
    removed.is_edge = 0;
}

__device__ __noinline__ void remove_vertex(Graph& graph, int vertex) {
    Vertex& removed = graph.vertices[vertex];
    while (removed.first_out >= 0) remove_edge(graph, removed.first_out);
    while (removed.first_in >= 0) remove_edge(graph, removed.first_in);
    removed.is_vertex = 0;
}

// Memory for the time of a function, which gives it back by setting `used` to what it was; and steps
// that a region may take where their number is not limited by its bases.
struct Scratch {
    int* memory;
    int room, used;
    int steps;          // that are left
    bool is_exhausted;  // an array was larger than what was left, or there were too many steps

    // Tells whether so many more steps may be taken.
    __device__ bool spend(int more) {
        steps -= more;
        is_exhausted |= steps < 0;
        return !is_exhausted;
    }

    // Returns an array of `size` integers, or null if it does not fit.
    __device__ int* take(int size) {
        if (size < 0 || size > room - used) {
            is_exhausted = true;
            return nullptr;
        }
        int* array = memory + used;
        used += size;
        return array;
    }
};

// Gives back, at the end of a scope, what one lane takes in it.
class Borrowed {
  public:
    __device__ explicit Borrowed(Scratch& scratch) : scratch_(scratch), before_(scratch.used) {}
    __device__ ~Borrowed() { scratch_.used = before_; }

    __device__ int* take(int size) { return scratch_.take(size); }

  private:
    Scratch& scratch_;
    int before_;
};

// Tells whether the graph has a directed cycle; an edge from a vertex to itself is one.
__device__ inline bool has_cycle(const Graph& graph, Scratch& scratch) {
    Borrowed borrowed(scratch);
    int* open_edges = borrowed.take(graph.vertex_count);
    int* ready = borrowed.take(graph.vertex_count);
    if (scratch.is_exhausted) return true;
    int count = 0, left = 0;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) {
        if (!graph.vertices[vertex].is_vertex) continue;
        ++left;
        open_edges[vertex] = graph.vertices[vertex].in_degree;
        if (open_edges[vertex] == 0) ready[count++] = vertex;
    }
    while (count) {
        --left;
        int edge = graph.vertices[ready[--count]].first_out;
        for (; edge >= 0; edge = graph.edges[edge].next_out) {
            const int target = graph.edges[edge].target;
            if (--open_edges[target] == 0) ready[count++] = target;
        }
    }
    return left > 0;
}

// Sets `bit` in the marks of a vertex and of what is after it, or before it.
__device__ inline void mark(const Graph& graph, int start, bool is_forward, int bit, int* marks,
                            int* stack) {
    int count = 0;
    stack[count++] = start;
    marks[start] |= bit;
    while (count) {
        const Vertex& vertex = graph.vertices[stack[--count]];
        int edge = is_forward ? vertex.first_out : vertex.first_in;
        while (edge >= 0) {
            const Edge& along = graph.edges[edge];
            const int end = is_forward ? along.target : along.source;
            if (!(marks[end] & bit)) {
                marks[end] |= bit;
                stack[count++] = end;
            }
            edge = is_forward ? along.next_out : along.next_in;
        }
    }
}

// Removes the vertices that are not both after `source` and before `sink`.
__device__ inline void keep_between(Graph& graph, int source, int sink, Scratch& scratch) {
    Borrowed borrowed(scratch);
    int* marks = borrowed.take(graph.vertex_count);
    int* stack = borrowed.take(graph.vertex_count);
    if (scratch.is_exhausted) return;
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) marks[vertex] = 0;
    mark(graph, source, true, 1, marks, stack);
    mark(graph, sink, false, 2, marks, stack);
    for (int vertex = 0; vertex < graph.vertex_count; ++vertex) {
        if (graph.vertices[vertex].is_vertex && marks[vertex] != 3) remove_vertex(graph, vertex);
    }
}

__device__ inline bool has_reference_in(const Graph& graph, int vertex) {
    int edge = graph.vertices[vertex].first_in;
    while (edge >= 0 && !graph.edges[edge].is_reference) edge = graph.edges[edge].next_in;
    return edge >= 0;
}

__device__ inline bool has_reference_out(const Graph& graph, int vertex) {
    int edge = graph.vertices[vertex].first_out;
    while (edge >= 0 && !graph.edges[edge].is_reference) edge = graph.edges[edge].next_out;
    return edge >= 0;
}

__device__ inline bool is_on_reference(const Graph& graph, int vertex) {
    return has_reference_in(graph, vertex) || has_reference_out(graph, vertex);
}
