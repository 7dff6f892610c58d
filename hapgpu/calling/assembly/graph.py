"""Directed graphs of sequences, for compiled functions.

The sets of GATK's graphs (broadinstitute/gatk, BaseGraph) iterate in the order of insertion, and
its results depend on that order. Here the edges of a vertex are doubly linked lists in that order;
vertices are numbered in it. Numbers of removed vertices and edges are not used again.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import with_room
from hapgpu.runtime.jit import njit, njit_inlined

_AFTER: Final = 0
_BEFORE: Final = 1

VERTICES: Final = 0
"""Index of `Graph.counts`: vertices so far, also removed ones."""
EDGES: Final = 1
"""Index of `Graph.counts`: edges so far, also removed ones."""
TEXT: Final = 2
"""Index of `Graph.counts`: bases of `Graph.text` in use."""
VERTEX: Final = np.dtype(
    [
        ("text_start", np.int64),
        ("text_end", np.int64),
        ("first_out", np.int32),
        ("last_out", np.int32),
        ("first_in", np.int32),
        ("last_in", np.int32),
        ("in_degree", np.int32),
        ("out_degree", np.int32),
        ("is_vertex", np.bool_),
    ],
    align=True,
)
"""A vertex: its sequence in the text; ends of the lists of its edges, -1 if empty; numbers of
edges; False if removed."""
EDGE: Final = np.dtype(
    [
        ("source", np.int32),
        ("target", np.int32),
        ("multiplicity", np.int32),
        ("pruning_multiplicity", np.int32),
        ("next_out", np.int32),
        ("previous_out", np.int32),
        ("next_in", np.int32),
        ("previous_in", np.int32),
        ("is_reference", np.bool_),
        ("is_edge", np.bool_),
    ],
    align=True,
)
"""An edge: its vertices; reads of all samples, and the reference; the largest number of reads of
one sample; neighbours in the lists of its source and of its target, -1 at their ends; whether the
reference contains it; False if removed."""


class Graph(NamedTuple):
    """A graph without parallel edges, in arrays with room for more.

    Columns are fields of records: Numba compiles functions of few arrays much faster.

    Attributes
    ----------
    counts
        int64[3], see `VERTICES`, `EDGES` and `TEXT`.
    text
        uint8: bases.
    vertices
        Array of records of `VERTEX`.
    edges
        Array of records of `EDGE`.
    """

    counts: NDArray[np.int64]
    text: NDArray[np.uint8]
    vertices: Any
    edges: Any


@njit
def new_graph(vertices: Integer, edges: Integer, text: Integer) -> Graph:
    """Return an empty graph with room for so many vertices, edges and bases."""
    return Graph(
        np.zeros(3, np.int64),
        np.empty(text, np.uint8),
        np.empty(vertices, VERTEX),
        np.empty(edges, EDGE),
    )


@njit
def graph_with_room(graph: Graph, vertices: Integer, edges: Integer, text: Integer) -> Graph:
    """Return `graph`, or a copy if it lacks room for so many more vertices, edges and bases."""
    return Graph(
        graph.counts,
        with_room(graph.text, graph.counts[TEXT] + text),
        with_room(graph.vertices, graph.counts[VERTICES] + vertices),
        with_room(graph.edges, graph.counts[EDGES] + edges),
    )


@njit_inlined
def clear(graph: Graph) -> None:
    """Remove everything; the room stays."""
    graph.counts[0] = 0
    graph.counts[1] = 0
    graph.counts[2] = 0


@njit
def append_text(graph: Graph, bases: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Append bases[start:end] to the text; return its start there.

    `bases`, uint8, may be the text itself, and may be read-only or not: each is a specialisation.
    """
    at = np.int64(graph.counts[2])
    for k in range(end - start):
        graph.text[at + k] = bases[start + k]
    graph.counts[2] = at + end - start
    return at


@njit_inlined
def add_vertex(graph: Graph, text_start: Integer, text_end: Integer) -> Integer:
    """Add a vertex with the sequence text[text_start:text_end]; return its number."""
    v = np.int64(graph.counts[0])
    graph.counts[0] = v + 1
    graph.vertices[v].text_start = text_start
    graph.vertices[v].text_end = text_end
    graph.vertices[v].is_vertex = True
    graph.vertices[v].first_out = -1
    graph.vertices[v].last_out = -1
    graph.vertices[v].first_in = -1
    graph.vertices[v].last_in = -1
    graph.vertices[v].in_degree = 0
    graph.vertices[v].out_degree = 0
    return v


@njit_inlined
def last_base(graph: Graph, vertex: Integer) -> Integer:
    """Return the last base of a vertex."""
    base: Integer = graph.text[graph.vertices[vertex].text_end - 1]
    return base


@njit_inlined
def find_edge(graph: Graph, source: Integer, target: Integer) -> Integer:
    """Return the edge between two vertices; -1 if there is none."""
    edge = np.int64(graph.vertices[source].first_out)
    while edge >= 0 and graph.edges[edge].target != target:
        edge = np.int64(graph.edges[edge].next_out)
    return edge


@njit_inlined
def append_edge(graph: Graph, source: Integer, target: Integer, multiplicity: Integer) -> Integer:
    """Add an edge that is known to be new, and not on the reference; return its number.

    Its pruning multiplicity is `multiplicity` too.
    """
    edge = np.int64(graph.counts[1])
    graph.counts[1] = edge + 1
    graph.edges[edge].source = source
    graph.edges[edge].target = target
    graph.edges[edge].multiplicity = multiplicity
    graph.edges[edge].pruning_multiplicity = multiplicity
    graph.edges[edge].is_reference = False
    graph.edges[edge].is_edge = True
    # Without branches: with them, Numba would count references to all arrays, at a higher cost.
    before = np.int64(graph.vertices[source].last_out)
    is_first = np.int64(before < 0)
    graph.vertices[source].first_out += is_first * (edge - graph.vertices[source].first_out)
    graph.edges[before + is_first * (edge - before)].next_out = edge
    graph.edges[edge].previous_out = before
    graph.edges[edge].next_out = -1
    graph.vertices[source].last_out = edge
    graph.vertices[source].out_degree += 1
    before = np.int64(graph.vertices[target].last_in)
    is_first = np.int64(before < 0)
    graph.vertices[target].first_in += is_first * (edge - graph.vertices[target].first_in)
    graph.edges[before + is_first * (edge - before)].next_in = edge
    graph.edges[edge].previous_in = before
    graph.edges[edge].next_in = -1
    graph.vertices[target].last_in = edge
    graph.vertices[target].in_degree += 1
    return edge


@njit
def add_edge(graph: Graph, source: Integer, target: Integer, multiplicity: Integer) -> Integer:
    """Add an edge as `append_edge` does, unless there is one, which stays; then return -1."""
    if find_edge(graph, source, target) >= 0:
        return np.int64(-1)
    return append_edge(graph, source, target, multiplicity)


@njit_inlined
def remove_edge(graph: Graph, edge: Integer) -> None:
    """Remove an edge; its `next_out` and `next_in` stay, so that loops over lists can go on."""
    # Without branches, as `append_edge`: at the end of a list, the edge writes to itself.
    source, target = graph.edges[edge].source, graph.edges[edge].target
    before, after = np.int64(graph.edges[edge].previous_out), np.int64(graph.edges[edge].next_out)
    is_first, is_last = np.int64(before < 0), np.int64(after < 0)
    graph.vertices[source].first_out += is_first * (after - graph.vertices[source].first_out)
    graph.vertices[source].last_out += is_last * (before - graph.vertices[source].last_out)
    graph.edges[before + is_first * (edge - before)].next_out = after
    graph.edges[after + is_last * (edge - after)].previous_out = before
    before, after = np.int64(graph.edges[edge].previous_in), np.int64(graph.edges[edge].next_in)
    is_first, is_last = np.int64(before < 0), np.int64(after < 0)
    graph.vertices[target].first_in += is_first * (after - graph.vertices[target].first_in)
    graph.vertices[target].last_in += is_last * (before - graph.vertices[target].last_in)
    graph.edges[before + is_first * (edge - before)].next_in = after
    graph.edges[after + is_last * (edge - after)].previous_in = before
    graph.vertices[source].out_degree -= 1
    graph.vertices[target].in_degree -= 1
    graph.edges[edge].is_edge = False


@njit
def remove_vertex(graph: Graph, vertex: Integer) -> None:
    """Remove a vertex and its edges."""
    while graph.vertices[vertex].first_out >= 0:
        remove_edge(graph, graph.vertices[vertex].first_out)
    while graph.vertices[vertex].first_in >= 0:
        remove_edge(graph, graph.vertices[vertex].first_in)
    graph.vertices[vertex].is_vertex = False


@njit
def has_cycle(graph: Graph) -> bool:
    """Tell whether the graph has a directed cycle; an edge from a vertex to itself is one."""
    vertices = graph.counts[0]
    open_edges = np.empty(vertices, np.int32)
    ready = np.empty(vertices, np.int32)
    count, left = 0, 0
    for vertex in range(vertices):
        if graph.vertices[vertex].is_vertex:
            left += 1
            open_edges[vertex] = graph.vertices[vertex].in_degree
            if graph.vertices[vertex].in_degree == 0:
                ready[count] = vertex
                count += 1
    while count:
        count -= 1
        left -= 1
        edge = graph.vertices[ready[count]].first_out
        while edge >= 0:
            target = graph.edges[edge].target
            open_edges[target] -= 1
            if open_edges[target] == 0:
                ready[count] = target
                count += 1
            edge = graph.edges[edge].next_out
    return bool(left > 0)


@njit
def keep_between(graph: Graph, source: Integer, sink: Integer) -> None:
    """Remove the vertices that are not both after `source` and before `sink`."""
    after = np.zeros(graph.counts[0], np.bool_)
    before = np.zeros(graph.counts[0], np.bool_)
    _mark(graph, source, _AFTER, after)
    _mark(graph, sink, _BEFORE, before)
    for vertex in range(graph.counts[0]):
        if graph.vertices[vertex].is_vertex and not (after[vertex] and before[vertex]):
            remove_vertex(graph, vertex)


@njit
def _mark(graph: Graph, start: Integer, direction: int, is_marked: NDArray[np.bool_]) -> None:
    """Mark a vertex and what is after it, or before it."""
    is_forward = direction == _AFTER
    stack = np.empty(is_marked.size, np.int32)
    stack[0] = start
    is_marked[start] = True
    count = 1
    while count:
        count -= 1
        vertex = graph.vertices[stack[count]]
        edge = vertex.first_out if is_forward else vertex.first_in
        while edge >= 0:
            along = graph.edges[edge]
            end = along.target if is_forward else along.source
            if not is_marked[end]:
                is_marked[end] = True
                stack[count] = end
                count += 1
            edge = along.next_out if is_forward else along.next_in
