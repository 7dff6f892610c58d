"""Changes that the simplifications of a sequence graph share."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    EDGES,
    TEXT,
    VERTICES,
    Graph,
    add_vertex,
    append_edge,
    append_text,
    find_edge,
    remove_vertex,
)
from hapgpu.runtime.jit import njit, njit_inlined

UNCHANGED: Final = 0
"""Result of a step: nothing to do."""
CHANGED: Final = 1
"""Result of a step: the graph changed."""
NO_ROOM: Final = 2
"""Result of a step: given up, the graph has no room for a change."""


@njit_inlined
def has_room(graph: Graph, vertices: Integer, edges: Integer, text: Integer) -> bool:
    """Return whether so many more vertices, edges and bases fit."""
    has_vertices = graph.counts[VERTICES] + vertices <= graph.vertices.size
    has_edges = graph.counts[EDGES] + edges <= graph.edges.size
    has_text = graph.counts[TEXT] + text <= graph.text.size
    return bool(has_vertices and has_edges and has_text)


@njit_inlined
def length_of(graph: Graph, vertex: Integer) -> Integer:
    """Return the number of bases of a vertex."""
    length: Integer = graph.vertices[vertex].text_end - graph.vertices[vertex].text_start
    return length


@njit
def link(
    graph: Graph, source: Integer, target: Integer, multiplicity: Integer, is_reference: Integer
) -> None:
    """Add an edge; if there is one, only its reference flag may change.

    GATK loses the flag of the second edge, and with it, sometimes, the ends of the reference path.
    """
    edge = find_edge(graph, source, target)
    if edge < 0:
        edge = append_edge(graph, source, target, multiplicity)
    graph.edges[edge].is_reference |= is_reference


@njit
def copy_edge(graph: Graph, edge: Integer, source: Integer, target: Integer) -> None:
    """Add an edge with the properties of another one, which may have been removed."""
    multiplicity = np.int64(graph.edges[edge].multiplicity)  # one version of `link` is enough
    link(graph, np.int64(source), np.int64(target), multiplicity, graph.edges[edge].is_reference)


@njit
def copy_in_edges(graph: Graph, old: Integer, new: Integer) -> None:
    """Copy the edges into one vertex to another one."""
    edge = graph.vertices[old].first_in
    while edge >= 0:
        copy_edge(graph, edge, graph.edges[edge].source, new)
        edge = graph.edges[edge].next_in


@njit
def copy_out_edges(graph: Graph, old: Integer, new: Integer) -> None:
    """Copy the edges out of one vertex to another one."""
    edge = graph.vertices[old].first_out
    while edge >= 0:
        copy_edge(graph, edge, new, graph.edges[edge].target)
        edge = graph.edges[edge].next_out


@njit_inlined
def is_on_reference(graph: Graph, vertex: Integer) -> bool:
    """Return whether an edge of the vertex is on the reference."""
    return has_reference_in(graph, vertex) or has_reference_out(graph, vertex)


@njit_inlined
def has_reference_in(graph: Graph, vertex: Integer) -> bool:
    """Return whether an edge into the vertex is on the reference."""
    edge = graph.vertices[vertex].first_in
    while edge >= 0 and not graph.edges[edge].is_reference:
        edge = graph.edges[edge].next_in
    return bool(edge >= 0)


@njit_inlined
def has_reference_out(graph: Graph, vertex: Integer) -> bool:
    """Return whether an edge out of the vertex is on the reference."""
    edge = graph.vertices[vertex].first_out
    while edge >= 0 and not graph.edges[edge].is_reference:
        edge = graph.edges[edge].next_out
    return bool(edge >= 0)


@njit
def reference_ends(graph: Graph) -> tuple[int, int]:
    """Return the vertices at which the reference path starts and ends; -1 if there is none.

    A graph of one vertex, without edges, is that path.
    """
    source, sink, only, count = -1, -1, -1, 0
    for vertex in range(graph.counts[VERTICES]):
        if not graph.vertices[vertex].is_vertex:
            continue
        only = vertex
        count += 1
        has_in, has_out = has_reference_in(graph, vertex), has_reference_out(graph, vertex)
        if has_out and not has_in and source < 0:
            source = vertex
        if has_in and not has_out and sink < 0:
            sink = vertex
    return (only, only) if count == 1 else (source, sink)


@njit
def zip_chains(graph: Graph) -> int:
    """Replace each chain by one vertex; return `UNCHANGED`, `CHANGED` or `NO_ROOM`.

    A chain has no other edges inside, and is either all on the reference or all off it.
    """
    result = UNCHANGED
    for vertex in range(graph.counts[VERTICES]):
        if not (graph.vertices[vertex].is_vertex and starts_chain(graph, vertex)):
            continue
        count = length_of_chain(graph, vertex)
        if count > 1:
            if not _zip(graph, vertex, count):
                return NO_ROOM
            result = CHANGED
    return result


@njit_inlined
def starts_chain(graph: Graph, vertex: Integer) -> bool:
    """Return whether a chain may start at a vertex."""
    if graph.vertices[vertex].out_degree != 1:
        return False
    if graph.vertices[vertex].in_degree != 1:
        return True
    before = graph.edges[graph.vertices[vertex].first_in].source
    return bool(graph.vertices[before].out_degree > 1)


@njit_inlined
def next_of(graph: Graph, vertex: Integer) -> Integer:
    """Return the vertex that the first edge out of a vertex leads to."""
    target: Integer = graph.edges[graph.vertices[vertex].first_out].target
    return target


@njit_inlined
def length_of_chain(graph: Graph, vertex: Integer) -> int:
    """Return the number of vertices of the chain from a vertex."""
    count = 1
    of_first = is_on_reference(graph, vertex)
    while graph.vertices[vertex].out_degree == 1:
        target = next_of(graph, vertex)
        if graph.vertices[target].in_degree != 1 or target == vertex:
            break
        if is_on_reference(graph, target) != of_first:
            break
        count += 1
        vertex = target
    return count


@njit
def _zip(graph: Graph, first: Integer, count: int) -> bool:
    """Replace a chain by one vertex, unless there is no room."""
    text, last = length_of(graph, first), first
    for _ in range(count - 1):
        last = next_of(graph, last)
        text += length_of(graph, last)
    edges = graph.vertices[first].in_degree + graph.vertices[last].out_degree
    if not has_room(graph, 1, edges + 1, text):  # 1 from the chain to itself
        return False
    start, vertex = graph.counts[TEXT], first
    append_text(graph, graph.text, graph.vertices[first].text_start, graph.vertices[first].text_end)
    while vertex != last:
        vertex = next_of(graph, vertex)
        append_text(
            graph, graph.text, graph.vertices[vertex].text_start, graph.vertices[vertex].text_end
        )
    new = add_vertex(graph, start, graph.counts[TEXT])
    copy_out_edges(graph, last, new)
    copy_in_edges(graph, first, new)
    vertex = first
    while vertex != last:
        after = next_of(graph, vertex)
        remove_vertex(graph, vertex)
        vertex = after
    remove_vertex(graph, last)
    return True
