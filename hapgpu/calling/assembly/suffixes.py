"""Merging of vertices with common prefixes or suffixes: diamonds and shared ends."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    TEXT,
    VERTICES,
    Graph,
    add_vertex,
    append_text,
    find_edge,
    remove_vertex,
)
from hapgpu.calling.assembly.graph_edits import (
    CHANGED,
    NO_ROOM,
    UNCHANGED,
    copy_edge,
    copy_in_edges,
    copy_out_edges,
    has_reference_in,
    has_reference_out,
    has_room,
    length_of,
    link,
)
from hapgpu.runtime.jit import njit

_NO_DIAMOND: Final = -1


@njit
def split_common_suffixes(graph: Graph) -> int:
    """Split the common suffix off all vertices before a vertex, for each vertex once.

    Return `UNCHANGED`, `CHANGED` or `NO_ROOM` (GATK's CommonSuffixSplitter).
    """
    result = UNCHANGED
    vertex = 0
    while vertex < graph.counts[VERTICES]:  # also those that splits add
        if graph.vertices[vertex].is_vertex and graph.vertices[vertex].in_degree > 1:
            length = _suffix_to_split(graph, vertex)
            if length > 0:
                before = graph.vertices[vertex].in_degree
                edges = _edges_into_sources(graph, vertex)
                if not has_room(graph, 2 * before, 2 * before + edges, 0):
                    return NO_ROOM
                _split(graph, vertex, length)
                result = CHANGED
        vertex += 1
    return result


@njit
def _edges_into_sources(graph: Graph, vertex: Integer) -> int:
    total = 0
    edge = graph.vertices[vertex].first_in
    while edge >= 0:
        total += graph.vertices[graph.edges[edge].source].in_degree
        edge = graph.edges[edge].next_in
    return total


@njit
def _suffix_to_split(graph: Graph, bottom: Integer) -> int:
    """Return the length of the suffix to split off the vertices before `bottom`; 0 for none."""
    if not _end_there_only(graph, bottom):
        return 0
    edge = graph.vertices[bottom].first_in
    first = graph.edges[edge].source
    suffix = length_of(graph, first)
    while edge >= 0:
        suffix = _common_suffix(graph, first, graph.edges[edge].source, suffix)
        edge = graph.edges[edge].next_in
    if suffix == 0 or not _leaves_source(graph, bottom, suffix):
        return 0
    edge = graph.vertices[bottom].first_in
    while edge >= 0:
        if length_of(graph, graph.edges[edge].source) > suffix:
            return int(suffix)
        edge = graph.edges[edge].next_in
    return 0


@njit
def _end_there_only(graph: Graph, bottom: Integer) -> bool:
    """Return whether `bottom` is the only successor of each vertex before it, without a cycle."""
    edge = graph.vertices[bottom].first_in
    while edge >= 0:
        middle = graph.edges[edge].source
        if middle == bottom or graph.vertices[middle].out_degree != 1:
            return False
        if find_edge(graph, bottom, middle) >= 0:
            return False
        edge = graph.edges[edge].next_in
    return True


@njit
def _common_suffix(graph: Graph, one: Integer, other: Integer, at_most: Integer) -> Integer:
    longest = min(at_most, length_of(graph, other))
    end, end_of_other = graph.vertices[one].text_end - 1, graph.vertices[other].text_end - 1
    k = 0
    while k < longest and graph.text[end - k] == graph.text[end_of_other - k]:
        k += 1
    return k


@njit
def _leaves_source(graph: Graph, bottom: Integer, suffix: Integer) -> bool:
    """Return whether the vertex at which the reference starts is longer than the suffix."""
    edge = graph.vertices[bottom].first_in
    while edge >= 0:
        middle = graph.edges[edge].source
        if has_reference_out(graph, middle) and not has_reference_in(graph, middle):
            return bool(length_of(graph, middle) != suffix)
        edge = graph.edges[edge].next_in
    return True


@njit
def _split(graph: Graph, bottom: Integer, suffix: Integer) -> None:
    """Replace each vertex before `bottom` by two: the last is the common suffix."""
    count = np.int64(graph.vertices[bottom].in_degree)
    before = np.empty(count, dtype=np.int64)
    edge = graph.vertices[bottom].first_in
    for k in range(count):
        before[k] = graph.edges[edge].source
        edge = graph.edges[edge].next_in
    for k in range(count):
        middle = before[k]
        out = graph.vertices[middle].first_out
        start, end = graph.vertices[middle].text_start, graph.vertices[middle].text_end
        last = add_vertex(graph, end - suffix, end)
        first = last
        if end - start > suffix:
            first = add_vertex(graph, start, end - suffix)
            link(graph, first, last, 1, graph.edges[out].is_reference)
        copy_edge(graph, out, last, bottom)
        copy_in_edges(graph, middle, first)
    for k in range(count):
        remove_vertex(graph, before[k])


@njit
def merge_common_suffixes(graph: Graph) -> int:
    """Merge equal vertices before a vertex into it; return `UNCHANGED`, `CHANGED` or `NO_ROOM`.

    After each change the search starts again (GATK's SharedSequenceMerger).
    """
    result = UNCHANGED
    vertex = 0
    while vertex < graph.counts[VERTICES]:
        if graph.vertices[vertex].is_vertex and _can_merge(graph, vertex):
            edges = _edges_into_sources(graph, vertex) + graph.vertices[vertex].out_degree
            text = length_of(graph, vertex) + length_of(graph, _first_before(graph, vertex))
            if not has_room(graph, 1, edges, text):
                return NO_ROOM
            _merge(graph, vertex)
            result = CHANGED
            vertex = -1
        vertex += 1
    return result


@njit
def _first_before(graph: Graph, vertex: Integer) -> Integer:
    source: Integer = graph.edges[graph.vertices[vertex].first_in].source
    return source


@njit
def _can_merge(graph: Graph, bottom: Integer) -> bool:
    """Return whether all vertices before `bottom` have equal bases, and no other successor."""
    if graph.vertices[bottom].in_degree == 0:
        return False
    edge = graph.vertices[bottom].first_in
    first = graph.edges[edge].source
    length = length_of(graph, first)
    while edge >= 0:
        before = graph.edges[edge].source
        if graph.vertices[before].out_degree != 1 or graph.vertices[before].in_degree == 0:
            return False
        if length_of(graph, before) != length:
            return False
        if _common_suffix(graph, first, before, length) != length:
            return False
        edge = graph.edges[edge].next_in
    return True


@njit
def _merge(graph: Graph, bottom: Integer) -> None:
    first = _first_before(graph, bottom)
    start = graph.counts[TEXT]
    append_text(graph, graph.text, graph.vertices[first].text_start, graph.vertices[first].text_end)
    append_text(
        graph, graph.text, graph.vertices[bottom].text_start, graph.vertices[bottom].text_end
    )
    new = add_vertex(graph, start, graph.counts[TEXT])
    edge = graph.vertices[bottom].first_in
    while edge >= 0:
        copy_in_edges(graph, graph.edges[edge].source, new)
        edge = graph.edges[edge].next_in
    copy_out_edges(graph, bottom, new)
    while graph.vertices[bottom].first_in >= 0:
        remove_vertex(graph, _first_before(graph, bottom))
    remove_vertex(graph, bottom)


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
                    _merge_diamond(graph, top, bottom, shared)
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
def _merge_diamond(graph: Graph, top: Integer, bottom: Integer, shared: _Shared) -> None:
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
