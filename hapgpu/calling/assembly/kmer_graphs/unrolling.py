"""Cycles of k-mer graphs, unrolled: a path may go round each of them once.

In a tandem duplication, the bases after the first copy are those before the second one: its edge
leads back. GATK gives a graph with a cycle up.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    Graph,
    add_vertex,
    append_edge,
    graph_with_room,
    remove_edge,
)
from hapgpu.runtime.jit import njit, njit_inlined

_UNSEEN: Final = 0
_OPEN: Final = 1
_DONE: Final = 2


@njit
def unrolled(graph: Graph, source: Integer) -> Graph:
    """Return an acyclic graph, or a larger copy, whose paths use at most one edge that led back.

    The vertices between an edge that leads back and any such edge get a copy; the edges lead to
    the copies instead. Which edges lead back is found depth first, along the reference first: so
    the reference stays as it is.

    Parameters
    ----------
    graph
        A graph; all its vertices can be reached from `source`.
    source
        Vertex of the first k-mer of the reference.
    """
    back = back_edges(graph, source)
    if back.size == 0:
        return graph
    sources, targets = np.empty(back.size, np.int32), np.empty(back.size, np.int32)
    multiplicities = np.empty(back.size, np.int32)
    for k in range(back.size):
        edge = graph.edges[back[k]]
        sources[k], targets[k] = edge.source, edge.target
        multiplicities[k] = edge.multiplicity
        remove_edge(graph, back[k])
    is_copied = _marked(graph, targets, 1)
    leads_back = _marked(graph, sources, 0)
    count, edges = graph.counts[0], graph.counts[1]
    graph = graph_with_room(graph, count, edges + back.size, 0)
    copies = np.full(count, -1, np.int32)
    for vertex in range(count):
        if is_copied[vertex] and leads_back[vertex]:
            start, end = graph.vertices[vertex].text_start, graph.vertices[vertex].text_end
            copies[vertex] = add_vertex(graph, start, end)
    for edge in range(edges):
        origin, target = graph.edges[edge].source, graph.edges[edge].target
        if graph.edges[edge].is_edge and copies[origin] >= 0:
            to = copies[target] if copies[target] >= 0 else target
            append_edge(graph, copies[origin], to, graph.edges[edge].multiplicity)
    for k in range(back.size):
        append_edge(graph, sources[k], copies[targets[k]], multiplicities[k])
    return graph


@njit
def back_edges(graph: Graph, source: Integer) -> NDArray[np.int32]:
    """Return the edges to a vertex that is on the path to their source, int32.

    The path is that of a search depth first, which follows an edge of the reference before others.
    """
    count = graph.counts[0]
    states = np.zeros(count, np.uint8)
    path = np.empty(count, np.int32)
    following = np.empty(count, np.int32)
    on_reference = np.zeros(count, np.bool_)
    found = np.empty(graph.counts[1], np.int32)
    backs, depth = 0, 0
    path[0] = source
    states[source] = _OPEN
    following[0] = _reference_edge(graph, source)
    on_reference[0] = following[0] >= 0
    if following[0] < 0:
        following[0] = graph.vertices[source].first_out
    while depth >= 0:
        vertex, edge = path[depth], following[depth]
        if edge < 0:
            states[vertex] = _DONE
            depth -= 1
            continue
        if on_reference[depth]:
            on_reference[depth] = False
            following[depth] = graph.vertices[vertex].first_out
        else:
            following[depth] = graph.edges[edge].next_out
        target = graph.edges[edge].target
        if states[target] == _OPEN:
            found[backs] = edge
            backs += 1
        elif states[target] == _UNSEEN:
            depth += 1
            path[depth] = target
            states[target] = _OPEN
            following[depth] = _reference_edge(graph, target)
            on_reference[depth] = following[depth] >= 0
            if following[depth] < 0:
                following[depth] = graph.vertices[target].first_out
    return found[:backs]


@njit_inlined
def _reference_edge(graph: Graph, vertex: Integer) -> Integer:
    """Return the edge of the reference out of a vertex; -1 if there is none."""
    edge = np.int64(graph.vertices[vertex].first_out)
    while edge >= 0 and not graph.edges[edge].is_reference:
        edge = np.int64(graph.edges[edge].next_out)
    return edge


@njit
def _marked(graph: Graph, starts: NDArray[np.int32], is_forward: int) -> NDArray[np.bool_]:
    """Return bool per vertex: some vertices, and with `is_forward` 1 those after, else before."""
    is_marked = np.zeros(graph.counts[0], np.bool_)
    stack = np.empty(graph.counts[0], np.int32)
    count = 0
    for start in starts:
        if not is_marked[start]:
            is_marked[start] = True
            stack[count] = start
            count += 1
    while count:
        count -= 1
        vertex = stack[count]
        edge = graph.vertices[vertex].first_out if is_forward else graph.vertices[vertex].first_in
        while edge >= 0:
            end = graph.edges[edge].target if is_forward else graph.edges[edge].source
            if not is_marked[end]:
                is_marked[end] = True
                stack[count] = end
                count += 1
            edge = graph.edges[edge].next_out if is_forward else graph.edges[edge].next_in
    return is_marked
