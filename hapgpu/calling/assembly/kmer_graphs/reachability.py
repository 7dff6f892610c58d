"""Cycles, and what lies between the ends of the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import Graph, remove_vertex
from hapgpu.runtime.jit import njit


@njit
def has_cycle(graph: Graph) -> bool:
    """Tell whether the graph has a directed cycle; an edge from a vertex to itself is one."""
    vertices = graph.counts[0]
    open_edges = np.empty(vertices, np.int32)
    ready = np.empty(vertices, np.int32)
    count, left = 0, 0
    for vertex in range(vertices):
        if graph.is_vertex[vertex]:
            left += 1
            open_edges[vertex] = graph.in_degrees[vertex]
            if graph.in_degrees[vertex] == 0:
                ready[count] = vertex
                count += 1
    while count:
        count -= 1
        left -= 1
        edge = graph.first_out[ready[count]]
        while edge >= 0:
            target = graph.targets[edge]
            open_edges[target] -= 1
            if open_edges[target] == 0:
                ready[count] = target
                count += 1
            edge = graph.next_out[edge]
    return bool(left > 0)


@njit
def keep_between(graph: Graph, source: Integer, sink: Integer) -> None:
    """Remove the vertices that are not both after `source` and before `sink`."""
    after = np.zeros(graph.counts[0], np.bool_)
    before = np.zeros(graph.counts[0], np.bool_)
    _mark(source, graph.first_out, graph.next_out, graph.targets, after)
    _mark(sink, graph.first_in, graph.next_in, graph.sources, before)
    for vertex in range(graph.counts[0]):
        if graph.is_vertex[vertex] and not (after[vertex] and before[vertex]):
            remove_vertex(graph, vertex)


@njit
def _mark(
    start: Integer,
    first_edges: NDArray[np.int32],
    next_edges: NDArray[np.int32],
    ends: NDArray[np.int32],
    is_marked: NDArray[np.bool_],
) -> None:
    """Mark the vertices that lists of edges lead to, and the start."""
    stack = np.empty(is_marked.size, np.int32)
    stack[0] = start
    is_marked[start] = True
    count = 1
    while count:
        count -= 1
        edge = first_edges[stack[count]]
        while edge >= 0:
            end = ends[edge]
            if not is_marked[end]:
                is_marked[end] = True
                stack[count] = end
                count += 1
            edge = next_edges[edge]
