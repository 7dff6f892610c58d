"""Cycles, and what lies between the ends of the reference."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import Graph, remove_vertex
from hapgpu.runtime.jit import njit

_AFTER: Final = 0
_BEFORE: Final = 1


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
