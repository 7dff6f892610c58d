"""Directed graphs of sequences, for compiled functions.

The sets of GATK's graphs (broadinstitute/gatk, BaseGraph) iterate in the order of insertion, and
its results depend on that order. Here the edges of a vertex are doubly linked lists in that order;
vertices are numbered in it. Numbers of removed vertices and edges are not used again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import with_room
from hapgpu.runtime.jit import njit, njit_inlined

VERTICES: Final = 0
"""Index of `Graph.counts`: vertices so far, also removed ones."""
EDGES: Final = 1
"""Index of `Graph.counts`: edges so far, also removed ones."""
TEXT: Final = 2
"""Index of `Graph.counts`: bases of `Graph.text` in use."""
NONE: Final = -1
"""No vertex or no edge."""


class Graph(NamedTuple):
    """A graph without parallel edges, in arrays with room for more.

    Attributes
    ----------
    counts
        int64[3], see `VERTICES`, `EDGES` and `TEXT`.
    text
        uint8: bases.
    text_starts, text_ends
        int64 per vertex: its sequence in `text`.
    is_vertex
        bool per vertex: False if removed.
    first_out, last_out, first_in, last_in
        int32 per vertex: ends of the lists of its edges; -1 if empty.
    in_degrees, out_degrees
        int32 per vertex.
    sources, targets
        int32 per edge.
    multiplicities
        int32 per edge: reads of all samples, and the reference.
    pruning_multiplicities
        int32 per edge: the largest number of reads of one sample.
    is_reference
        bool per edge: whether the reference contains it.
    is_edge
        bool per edge: False if removed.
    next_out, previous_out, next_in, previous_in
        int32 per edge: neighbours in the list of its source, and of its target; -1 at the ends.
    """

    counts: NDArray[np.int64]
    text: NDArray[np.uint8]
    text_starts: NDArray[np.int64]
    text_ends: NDArray[np.int64]
    is_vertex: NDArray[np.bool_]
    first_out: NDArray[np.int32]
    last_out: NDArray[np.int32]
    first_in: NDArray[np.int32]
    last_in: NDArray[np.int32]
    in_degrees: NDArray[np.int32]
    out_degrees: NDArray[np.int32]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    multiplicities: NDArray[np.int32]
    pruning_multiplicities: NDArray[np.int32]
    is_reference: NDArray[np.bool_]
    is_edge: NDArray[np.bool_]
    next_out: NDArray[np.int32]
    previous_out: NDArray[np.int32]
    next_in: NDArray[np.int32]
    previous_in: NDArray[np.int32]


@njit
def new_graph(vertices: Integer, edges: Integer, text: Integer) -> Graph:
    """Return an empty graph with room for so many vertices, edges and bases."""
    return Graph(
        np.zeros(3, np.int64),
        np.empty(text, np.uint8),
        np.empty(vertices, np.int64),
        np.empty(vertices, np.int64),
        np.empty(vertices, np.bool_),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.bool_),
        np.empty(edges, np.bool_),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
        np.empty(edges, np.int32),
    )


@njit
def graph_with_room(graph: Graph, vertices: Integer, edges: Integer, text: Integer) -> Graph:
    """Return `graph`, or a copy if it lacks room for so many more vertices, edges and bases."""
    v = graph.counts[0] + vertices
    e = graph.counts[1] + edges
    return Graph(
        graph.counts,
        with_room(graph.text, graph.counts[2] + text),
        with_room(graph.text_starts, v),
        with_room(graph.text_ends, v),
        with_room(graph.is_vertex, v),
        with_room(graph.first_out, v),
        with_room(graph.last_out, v),
        with_room(graph.first_in, v),
        with_room(graph.last_in, v),
        with_room(graph.in_degrees, v),
        with_room(graph.out_degrees, v),
        with_room(graph.sources, e),
        with_room(graph.targets, e),
        with_room(graph.multiplicities, e),
        with_room(graph.pruning_multiplicities, e),
        with_room(graph.is_reference, e),
        with_room(graph.is_edge, e),
        with_room(graph.next_out, e),
        with_room(graph.previous_out, e),
        with_room(graph.next_in, e),
        with_room(graph.previous_in, e),
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

    `bases` may be the text itself, and may be read-only or not: each is a specialisation.
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
    graph.text_starts[v] = text_start
    graph.text_ends[v] = text_end
    graph.is_vertex[v] = True
    graph.first_out[v] = -1
    graph.last_out[v] = -1
    graph.first_in[v] = -1
    graph.last_in[v] = -1
    graph.in_degrees[v] = 0
    graph.out_degrees[v] = 0
    return v


@njit_inlined
def last_base(graph: Graph, vertex: Integer) -> Integer:
    """Return the last base of a vertex."""
    base: Integer = graph.text[graph.text_ends[vertex] - 1]
    return base


@njit_inlined
def find_edge(graph: Graph, source: Integer, target: Integer) -> Integer:
    """Return the edge between two vertices; -1 if there is none."""
    edge = np.int64(graph.first_out[source])
    while edge >= 0 and graph.targets[edge] != target:
        edge = np.int64(graph.next_out[edge])
    return edge


@njit_inlined
def append_edge(graph: Graph, source: Integer, target: Integer, multiplicity: Integer) -> Integer:
    """Add an edge that is known to be new, and not on the reference; return its number.

    Its pruning multiplicity is `multiplicity` too.
    """
    edge = np.int64(graph.counts[1])
    graph.counts[1] = edge + 1
    graph.sources[edge] = source
    graph.targets[edge] = target
    graph.multiplicities[edge] = multiplicity
    graph.pruning_multiplicities[edge] = multiplicity
    graph.is_reference[edge] = False
    graph.is_edge[edge] = True
    # Without branches: with them, Numba would count references to all arrays, at a higher cost.
    before = np.int64(graph.last_out[source])
    is_first = np.int64(before < 0)
    graph.first_out[source] += is_first * (edge - graph.first_out[source])
    graph.next_out[before + is_first * (edge - before)] = edge
    graph.previous_out[edge] = before
    graph.next_out[edge] = -1
    graph.last_out[source] = edge
    graph.out_degrees[source] += 1
    before = np.int64(graph.last_in[target])
    is_first = np.int64(before < 0)
    graph.first_in[target] += is_first * (edge - graph.first_in[target])
    graph.next_in[before + is_first * (edge - before)] = edge
    graph.previous_in[edge] = before
    graph.next_in[edge] = -1
    graph.last_in[target] = edge
    graph.in_degrees[target] += 1
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
    source, target = graph.sources[edge], graph.targets[edge]
    before, after = np.int64(graph.previous_out[edge]), np.int64(graph.next_out[edge])
    is_first, is_last = np.int64(before < 0), np.int64(after < 0)
    graph.first_out[source] += is_first * (after - graph.first_out[source])
    graph.last_out[source] += is_last * (before - graph.last_out[source])
    graph.next_out[before + is_first * (edge - before)] = after
    graph.previous_out[after + is_last * (edge - after)] = before
    before, after = np.int64(graph.previous_in[edge]), np.int64(graph.next_in[edge])
    is_first, is_last = np.int64(before < 0), np.int64(after < 0)
    graph.first_in[target] += is_first * (after - graph.first_in[target])
    graph.last_in[target] += is_last * (before - graph.last_in[target])
    graph.next_in[before + is_first * (edge - before)] = after
    graph.previous_in[after + is_last * (edge - after)] = before
    graph.out_degrees[source] -= 1
    graph.in_degrees[target] -= 1
    graph.is_edge[edge] = False


@njit
def remove_vertex(graph: Graph, vertex: Integer) -> None:
    """Remove a vertex and its edges."""
    while graph.first_out[vertex] >= 0:
        remove_edge(graph, graph.first_out[vertex])
    while graph.first_in[vertex] >= 0:
        remove_edge(graph, graph.first_in[vertex])
    graph.is_vertex[vertex] = False
