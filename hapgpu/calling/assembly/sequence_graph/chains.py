"""Chains of a sequence graph, zipped to single vertices."""

from __future__ import annotations

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    TEXT,
    VERTICES,
    Graph,
    add_vertex,
    append_text,
    remove_vertex,
)
from hapgpu.calling.assembly.sequence_graph.edits import (
    CHANGED,
    NO_ROOM,
    UNCHANGED,
    copy_in_edges,
    copy_out_edges,
    has_room,
    is_on_reference,
    length_of,
)
from hapgpu.runtime.jit import njit, njit_inlined


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
