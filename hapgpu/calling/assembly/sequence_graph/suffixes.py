"""Common suffixes of the vertices before one vertex, split off and merged into it."""

from __future__ import annotations

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
from hapgpu.calling.assembly.sequence_graph.edits import (
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
