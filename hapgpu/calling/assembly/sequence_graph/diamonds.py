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
        if graph.is_vertex[top] and graph.out_degrees[top] > 1:
            bottom = _bottom_of(graph, top)
            if bottom != _NO_DIAMOND:
                shared = _shared_of(graph, top)
                if shared.prefix + shared.suffix > 0:
                    branches = graph.out_degrees[top]
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
    edge = graph.first_out[top]
    while edge >= 0:
        middle = graph.targets[edge]
        if graph.out_degrees[middle] != 1 or graph.in_degrees[middle] != 1:
            return _NO_DIAMOND
        target = np.int64(graph.targets[graph.first_out[middle]])
        if edge == graph.first_out[top]:
            bottom = target
        if target != bottom:
            return _NO_DIAMOND
        edge = graph.next_out[edge]
    return bottom if graph.in_degrees[bottom] == graph.out_degrees[top] else _NO_DIAMOND


@njit
def _shared_of(graph: Graph, top: Integer) -> _Shared:
    """Measure the common prefix of the branches, and the common suffix of what remains."""
    edge = graph.first_out[top]
    first = graph.targets[edge]
    prefix = shortest = length_of(graph, first)
    suffix = shortest
    edge = graph.next_out[edge]
    while edge >= 0:
        middle = graph.targets[edge]
        shortest = min(shortest, length_of(graph, middle))
        prefix = min(prefix, shortest)
        k = 0
        start, start_of_first = graph.text_starts[middle], graph.text_starts[first]
        while k < prefix and graph.text[start + k] == graph.text[start_of_first + k]:
            k += 1
        prefix = k
        suffix = min(suffix, shortest)
        k = 0
        end, end_of_first = graph.text_ends[middle] - 1, graph.text_ends[first] - 1
        while k < suffix and graph.text[end - k] == graph.text[end_of_first - k]:
            k += 1
        suffix = k
        edge = graph.next_out[edge]
    return _Shared(prefix, min(suffix, shortest - prefix))


@njit
def _merge(graph: Graph, top: Integer, bottom: Integer, shared: _Shared) -> None:
    """Replace the branches by their common prefix, what remains of each, and their common suffix.

    A branch of which nothing remains becomes an edge with the multiplicities of both its edges;
    several such branches become one.
    """
    branches = np.int64(graph.out_degrees[top])
    into, out = np.empty(branches, dtype=np.int64), np.empty(branches, dtype=np.int64)
    edge = graph.first_out[top]
    for k in range(branches):
        into[k], out[k] = edge, graph.first_out[graph.targets[edge]]
        edge = graph.next_out[edge]
    direct, into_reference, out_of_reference, is_direct_reference = 0, False, False, False
    new = np.full(branches, -1, dtype=np.int64)
    for k in range(branches):
        middle = graph.targets[into[k]]
        remove_vertex(graph, middle)  # its text and the properties of its edges stay
        into_reference |= graph.is_reference[into[k]]
        out_of_reference |= graph.is_reference[out[k]]
        start = graph.text_starts[middle] + shared.prefix
        end = graph.text_ends[middle] - shared.suffix
        if start < end:
            new[k] = add_vertex(graph, start, end)
        else:
            direct += graph.multiplicities[into[k]] + graph.multiplicities[out[k]]
            is_direct_reference |= graph.is_reference[into[k]] | graph.is_reference[out[k]]
    first = graph.targets[into[0]]
    start, end = graph.text_starts[first], graph.text_ends[first]
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
