// Recovery of dangling tails and heads, by the legacy rules of GATK's AbstractReadThreadingGraph, as
// in hapgpu/calling/assembly/{dangling_tails,dangling_heads}.py. One lane finds and joins branches;
// all lanes of a warp align them.

#include "calling/branch_alignment.cuh"
#include "calling/graph.cuh"

constexpr int kMinBranch = 4;  // branches with so many vertices are not recovered

struct BranchRules {
    int k, min_pruning, source, sink;
};

__device__ inline void reverse(int* path, int length) {
    for (int k = 0; k < length / 2; ++k) {
        const int vertex = path[k];
        path[k] = path[length - 1 - k];
        path[length - 1 - k] = vertex;
    }
}

// Goes up from the end of a tail to where it branches off; returns the length of the path, 0 if no
// branch is found. An edge of low multiplicity empties the path so far.
__device__ inline int tail_path(const Graph& graph, int vertex, int min_pruning, int* path) {
    int length = 0, steps = 0;
    while (graph.vertices[vertex].in_degree == 1 && graph.vertices[vertex].out_degree < 2) {
        const Edge& edge = graph.edges[graph.vertices[vertex].first_in];
        if ((int)edge.pruning_multiplicity < min_pruning) length = 0;
        else path[length++] = vertex;
        vertex = edge.source;
        if (++steps > graph.vertex_count) return 0;  // a loop: GATK gives up too
    }
    if (graph.vertices[vertex].out_degree < 2) return 0;
    path[length++] = vertex;
    reverse(path, length);
    return length;
}

// Follows the reference from the start of a tail; returns the length of the path, 0 if it is
// endless. Without an edge of the reference, the only edge that is not the tail's is followed.
__device__ inline int path_down(const Graph& graph, const int* tail, int* path) {
    const int tail_edge = graph.vertices[tail[1]].first_in;
    int length = 0;
    for (int vertex = tail[0]; vertex >= 0;) {
        if (length == graph.vertex_count) return 0;
        path[length++] = vertex;
        int edge = graph.vertices[vertex].first_out, others = 0;
        vertex = kNone;
        for (; edge >= 0; edge = graph.edges[edge].next_out) {
            if (graph.edges[edge].is_reference) {
                others = 1, vertex = graph.edges[edge].target;
                break;
            }
            if (edge != tail_edge) ++others, vertex = graph.edges[edge].target;
        }
        if (others != 1) break;
    }
    return length;
}

// Goes down from a head to the reference; returns the length of the path, 0 if there is none.
__device__ inline int head_path(const Graph& graph, int vertex, int min_pruning, int* path) {
    int length = 0, steps = 0;
    bool is_reference = is_on_reference(graph, vertex);
    while (!is_reference && graph.vertices[vertex].out_degree == 1) {
        const Edge& edge = graph.edges[graph.vertices[vertex].first_out];
        if ((int)edge.pruning_multiplicity < min_pruning) length = 0;
        else path[length++] = vertex;
        vertex = edge.target;
        is_reference = is_on_reference(graph, vertex);
        if (++steps > graph.vertex_count) return 0;
    }
    if (!is_reference) return 0;
    path[length++] = vertex;
    reverse(path, length);
    return length;
}

// Follows the first edges in from vertices of the reference; returns the length, 0 if endless.
__device__ inline int path_up(const Graph& graph, int start, int* path) {
    int length = 0;
    for (int vertex = start; vertex >= 0;) {
        if (length == graph.vertex_count) return 0;
        path[length++] = vertex;
        int edge = graph.vertices[vertex].first_in;
        while (edge >= 0 && !is_on_reference(graph, graph.edges[edge].source)) {
            edge = graph.edges[edge].next_in;
        }
        vertex = edge >= 0 ? graph.edges[edge].source : kNone;
    }
    return length;
}

// Bases of a text of which other bits are not looked at.
__device__ inline unsigned char plain_base(const Graph& graph, int at) {
    return graph.text[at] & 7;
}

// Writes the last base of each vertex of a path; with `k`, of a vertex without an edge in, the whole
// k-mer reversed. Returns the number of bases; -1 if there are more than `room`.
__device__ inline int path_bases(const Graph& graph, const int* path, int length, int k,
                                 unsigned char* bases, int room) {
    int count = 0;
    for (int at = 0; at < length; ++at) {
        const Vertex& vertex = graph.vertices[path[at]];
        const int backs = k && vertex.in_degree == 0 ? k : 1;
        if (count + backs > room) return -1;
        for (int back = 1; back <= backs; ++back) {
            bases[count++] = plain_base(graph, vertex.text_end - back);
        }
    }
    return count;
}

// Takes memory for a branch whose paths are known, and writes its bases; false without memory.
__device__ inline bool lay_out(const Graph& graph, Branch& branch, int k, Scratch& scratch) {
    const int more = 2 * k, room = branch.length + more;
    const int reference_room = branch.reference_length + more;
    branch.bases = reinterpret_cast<unsigned char*>(scratch.take(room / 4 + 1));
    branch.reference = reinterpret_cast<unsigned char*>(scratch.take(reference_room / 4 + 1));
    if (scratch.is_exhausted) return false;
    branch.base_count = path_bases(graph, branch.path, branch.length, k, branch.bases, room);
    branch.reference_base_count = path_bases(graph, branch.reference_path, branch.reference_length,
                                             k, branch.reference, reference_room);
    const bool are_short = branch.base_count <= kMostBranchBases &&
                           branch.reference_base_count <= kMostBranchBases;
    if (branch.base_count < 0 || branch.reference_base_count < 0 || !are_short) {
        scratch.is_exhausted = true;
        return false;
    }
    const int rows = branch.reference_base_count + 1;
    const int cells = rows * (branch.base_count + 1);
    if (!scratch.spend(cells / kWarpLanes)) return false;
    branch.steps = reinterpret_cast<short*>(scratch.take(cells / 2 + 1));
    branch.border = scratch.take(3 * rows);
    return !scratch.is_exhausted;
}

// Adds the edge from a tail to the reference path, if it aligns well.
__device__ inline void join_tail(Graph& graph, const Branch& tail, const Runs& cigar) {
    const int count = cigar.count;
    if (count < 1 || count > kMostElements || (cigar.element(count - 1) & 15) != kMatch) return;
    const int last = cigar.element(count - 1) >> 4;
    const int reference_last = cigar.bases_without(kInsertion) - 1;
    int matching = 0;
    while (matching < min(last, tail.length) &&
           tail.reference[reference_last - matching] == tail.bases[tail.length - 1 - matching]) {
        ++matching;
    }
    if (matching < 1) return;
    const int at = max(cigar.bases_without(kDeletion) - matching - 1, 0);
    int to = reference_last - matching + 1;
    const int first = cigar.element(0);
    if ((first & 15) == kDeletion && (first >> 4) + matching == reference_last + 1) ++to;
    if (to == 0 || to >= tail.reference_length) return;
    add_edge(graph, tail.path[at], tail.reference_path[to], 1);
}

// Returns the last mismatch in the first element; kNone if there is none, or there are too many.
__device__ inline int last_mismatch(const Branch& head, int first_element, int k) {
    const int length = first_element >> 4;
    int mismatches = 0, last = kNone;
    for (int at = 0; at < length; ++at) {
        if (head.reference[at] != head.bases[at]) ++mismatches, last = at;
    }
    return mismatches <= max(1, length / k) ? last : kNone;
}

// Replaces the source of a head by `added` vertices, with bases of a k-mer of the reference.
__device__ inline void extend_head(Graph& graph, Branch& head, int reference_vertex, int added,
                                   int k) {
    const int last = head.length - 1, old = head.path[last], at = graph.text_size;
    graph.text_size = at + added + k;
    for (int base = 0; base < added; ++base) {
        graph.text[at + base] = graph.text[graph.vertices[reference_vertex].text_start + base];
    }
    for (int base = 0; base < k; ++base) {
        graph.text[at + added + base] = graph.text[graph.vertices[old].text_start + base];
    }
    const int edge = graph.vertices[old].first_out, multiplicity = graph.edges[edge].multiplicity;
    int below = graph.edges[edge].target;
    remove_edge(graph, edge);
    for (int step = 0; step < added; ++step) {
        const int start = at + added - step, vertex = add_vertex(graph, start, start + k);
        const int made = append_edge(graph, vertex, below, multiplicity);
        graph.edges[made].pruning_multiplicity = 1;
        head.path[last + step] = vertex;
        below = vertex;
    }
}

// Adds the edge from the reference path to a head, if it aligns well.
__device__ inline void join_head(Graph& graph, Branch& head, const Runs& cigar, int k) {
    const int count = cigar.count;
    if (count < 1 || count > kMostElements || (cigar.element(0) & 15) != kMatch) return;
    const int at = last_mismatch(head, cigar.element(0), k);
    if (at <= 0 || at >= head.reference_length - 1) return;
    if (at >= head.length) {
        const int shift = cigar.bases_without(kInsertion) - cigar.bases_without(kDeletion);
        const int added = at - head.length + 2;
        const int from_reference = head.length - 1 + shift + added;
        if (from_reference < 0 || from_reference >= head.reference_length) return;
        extend_head(graph, head, head.reference_path[from_reference], added, k);
    }
    add_edge(graph, head.reference_path[at + 1], head.path[at], 1);
}

// Finds the branch that ends, or starts, at a vertex, and lays out its bases; without one, or
// without memory, its reference path is empty.
__device__ inline void find_branch(const Graph& graph, int vertex, bool is_tail,
                                   const BranchRules& rules, Branch& branch, Scratch& scratch) {
    branch.reference_length = 0;
    branch.path = scratch.take(graph.vertex_count + rules.k + 1);
    branch.reference_path = scratch.take(graph.vertex_count);
    if (scratch.is_exhausted) return;
    branch.length = is_tail ? tail_path(graph, vertex, rules.min_pruning, branch.path)
                            : head_path(graph, vertex, rules.min_pruning, branch.path);
    if (branch.length <= kMinBranch) return;
    if (branch.path[0] == (is_tail ? rules.source : rules.sink)) return;
    branch.reference_length = is_tail ? path_down(graph, branch.path, branch.reference_path)
                                      : path_up(graph, branch.path[0], branch.reference_path);
    if (!scratch.spend(branch.length + branch.reference_length)) branch.reference_length = 0;
    if (branch.reference_length && !lay_out(graph, branch, is_tail ? 0 : rules.k, scratch)) {
        branch.reference_length = 0;
    }
}

__device__ inline void join_branch(Graph& graph, bool is_tail, int k, Branch& branch,
                                   Scratch& scratch) {
    int* elements = scratch.take(branch.base_count + branch.reference_base_count);
    scratch.is_exhausted |= !graph.has_room(k, k + 1, 2 * k);
    if (scratch.is_exhausted) return;
    const Runs cigar = branch_cigar(branch, elements);
    if (is_tail) join_tail(graph, branch, cigar);
    else join_head(graph, branch, cigar, k);
}

// Joins the branch that ends, or starts, at a vertex to the reference path. Called by all lanes, to
// which `branch` is known.
__device__ inline void recover_branch(Graph& graph, int vertex, bool is_tail,
                                      const BranchRules& rules, Branch& branch, Scratch& scratch) {
    const int before = scratch.used;
    __syncwarp();
    if (lane_id() == 0) find_branch(graph, vertex, is_tail, rules, branch, scratch);
    __syncwarp();
    if (branch.reference_length) {
        fill_matrix(branch);
        if (lane_id() == 0) join_branch(graph, is_tail, rules.k, branch, scratch);
    }
    if (lane_id() == 0) scratch.used = before;
    __syncwarp();
}

// Joins dangling tails, then heads, to the reference. Called by all lanes.
__device__ inline void recover_branches(Graph& graph, const BranchRules& rules, Branch& branch,
                                        Scratch& scratch) {
    for (int number = 0; number < graph.vertex_count; ++number) {
        const Vertex& vertex = graph.vertices[number];
        if (!vertex.is_vertex || vertex.out_degree || number == rules.sink) continue;
        recover_branch(graph, number, true, rules, branch, scratch);
        if (scratch.is_exhausted) return;
    }
    const int before = scratch.used, vertices = graph.vertex_count;
    __syncwarp();
    if (lane_id() == 0) {
        branch.heads = scratch.take(vertices);
        branch.head_count = 0;
        for (int number = 0; number < vertices && branch.heads; ++number) {
            const Vertex& vertex = graph.vertices[number];
            if (vertex.is_vertex && !vertex.in_degree && number != rules.source) {
                branch.heads[branch.head_count++] = number;
            }
        }
    }
    __syncwarp();
    for (int number = 0; number < branch.head_count && !scratch.is_exhausted; ++number) {
        recover_branch(graph, branch.heads[number], false, rules, branch, scratch);
    }
    if (lane_id() == 0) scratch.used = before;
    __syncwarp();
}
