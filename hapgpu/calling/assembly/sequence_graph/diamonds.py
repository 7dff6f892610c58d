"""Diamonds of a sequence graph: branches between two vertices, merged where they are equal."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    VERTICES,
    Graph,
    add_vertex,
    remove_vertex,
)
from hapgpu.calling.assembly.sequence_graph.edits import (
    CHANGED,
    NO_ROOM,
    UNCHANGED,
    copy_edge,
    has_room,
    length_of,
    link,
)
from hapgpu.runtime.jit import njit

_NO_DIAMOND: Final = -1


class _Shared(NamedTuple):
    """Lengths of the bases that all branches start with, and end with."""

    prefix: Integer
    suffix: Integer


@njit
def merge_diamonds(graph: Graph) -> int:
    """Merge what the branches of diamonds share; return `UNCHANGED`, `CHANGED` or `NO_ROOM`.

    After each change the search starts again (GATK's MergeDiamonds).
    """
    result = UNCHANGED
    top = 0
    while top < graph.counts[VERTICES]:
        if graph.vertices[top].is_vertex and graph.vertices[top].out_degree > 1:
            bottom = _bottom_of(graph, top)
            if bottom != _NO_DIAMOND:
                shared = _shared_of(graph, top)
                if shared.prefix + shared.suffix > 0:
                    branches = graph.vertices[top].out_degree
                    if not has_room(graph, branches + 2, 2 * branches + 3, 0):
                        return NO_ROOM
                    _merge(graph, top, bottom, shared)
                    result = CHANGED
                    top = -1
        top += 1
    return result


@njit
def _bottom_of(graph: Graph, top: Integer) -> Integer:
    """Return the vertex in which all branches from `top` end, and nothing else."""
    bottom: Integer = _NO_DIAMOND
    edge = graph.vertices[top].first_out
    while edge >= 0:
        middle = graph.edges[edge].target
        if graph.vertices[middle].out_degree != 1 or graph.vertices[middle].in_degree != 1:
            return _NO_DIAMOND
        target = np.int64(graph.edges[graph.vertices[middle].first_out].target)
        if edge == graph.vertices[top].first_out:
            bottom = target
        if target != bottom:
            return _NO_DIAMOND
        edge = graph.edges[edge].next_out
    return (
        bottom
        if graph.vertices[bottom].in_degree == graph.vertices[top].out_degree
        else _NO_DIAMOND
    )


@njit
def _shared_of(graph: Graph, top: Integer) -> _Shared:
    """Measure the common prefix of the branches, and the common suffix of what remains."""
    edge = graph.vertices[top].first_out
    first = graph.edges[edge].target
    prefix = shortest = length_of(graph, first)
    suffix = shortest
    edge = graph.edges[edge].next_out
    while edge >= 0:
        middle = graph.edges[edge].target
        shortest = min(shortest, length_of(graph, middle))
        prefix = min(prefix, shortest)
        k = 0
        start, start_of_first = graph.vertices[middle].text_start, graph.vertices[first].text_start
        while k < prefix and graph.text[start + k] == graph.text[start_of_first + k]:
            k += 1
        prefix = k
        suffix = min(suffix, shortest)
        k = 0
        end, end_of_first = graph.vertices[middle].text_end - 1, graph.vertices[first].text_end - 1
        while k < suffix and graph.text[end - k] == graph.text[end_of_first - k]:
            k += 1
        suffix = k
        edge = graph.edges[edge].next_out
    return _Shared(prefix, min(suffix, shortest - prefix))


@njit
def _merge(graph: Graph, top: Integer, bottom: Integer, shared: _Shared) -> None:
    """Replace the branches by their common prefix, what remains of each, and their common suffix.

    A branch of which nothing remains becomes an edge with the multiplicities of both its edges;
    several such branches become one.
    """
    branches = np.int64(graph.vertices[top].out_degree)
    into, out = np.empty(branches, dtype=np.int64), np.empty(branches, dtype=np.int64)
    edge = graph.vertices[top].first_out
    for k in range(branches):
        into[k], out[k] = edge, graph.vertices[graph.edges[edge].target].first_out
        edge = graph.edges[edge].next_out
    direct, into_reference, out_of_reference, is_direct_reference = 0, False, False, False
    new = np.full(branches, -1, dtype=np.int64)
    for k in range(branches):
        middle = graph.edges[into[k]].target
        remove_vertex(graph, middle)  # its text and the properties of its edges stay
        into_reference |= graph.edges[into[k]].is_reference
        out_of_reference |= graph.edges[out[k]].is_reference
        start = graph.vertices[middle].text_start + shared.prefix
        end = graph.vertices[middle].text_end - shared.suffix
        if start < end:
            new[k] = add_vertex(graph, start, end)
        else:
            direct += graph.edges[into[k]].multiplicity + graph.edges[out[k]].multiplicity
            is_direct_reference |= (
                graph.edges[into[k]].is_reference | graph.edges[out[k]].is_reference
            )
    first = graph.edges[into[0]].target
    start, end = graph.vertices[first].text_start, graph.vertices[first].text_end
    above, below = top, bottom
    if shared.prefix > 0:
        above = add_vertex(graph, start, start + shared.prefix)
        link(graph, top, above, 1, into_reference | is_direct_reference)
    if shared.suffix > 0:
        below = add_vertex(graph, end - shared.suffix, end)
        link(graph, below, bottom, 1, out_of_reference | is_direct_reference)
    for k in range(branches):
        if new[k] >= 0:
            copy_edge(graph, into[k], above, new[k])
        else:
            link(graph, above, below, direct, is_direct_reference)
    for k in range(branches):
        if new[k] >= 0:
            copy_edge(graph, out[k], new[k], below)
