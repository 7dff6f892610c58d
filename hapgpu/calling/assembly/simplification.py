"""Simplification of sequence graphs, in the order and with the limits of GATK's SeqGraph."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, hash_of
from hapgpu.calling.assembly.graph import (
    EDGES,
    TEXT,
    VERTICES,
    Graph,
    add_vertex,
    append_edge,
    append_text,
    clear,
    graph_with_room,
    keep_between,
)
from hapgpu.calling.assembly.graph_edits import (
    NO_ROOM,
    UNCHANGED,
    reference_ends,
    zip_chains,
)
from hapgpu.calling.assembly.suffixes import (
    merge_common_suffixes,
    merge_diamonds,
    split_common_suffixes,
)
from hapgpu.runtime.jit import njit

_NO_NUMBER: Final = -1

_ROUNDS_UNCOMPARED: Final = 6
_MAX_ROUNDS: Final = 100  # GATK fails here
_SPARE: Final = 256


class _Content(NamedTuple):
    """Hashes of the sequences of the vertices, and of those at both ends of each edge."""

    vertices: NDArray[np.uint64]
    sources: NDArray[np.uint64]
    targets: NDArray[np.uint64]


@njit
def simplified(kmers: Graph, graph: Graph) -> Graph:
    """Write the simplified sequence graph of a k-mer graph to `graph`; return it, or a larger one.

    It is simplified twice, and cut to what lies between the ends of the reference.
    """
    spare = _SPARE
    while True:
        graph = sequence_graph_of(kmers, graph, spare)
        if simplify(graph):
            source, sink = reference_ends(graph)
            if source < 0 or sink < 0:
                return graph
            keep_between(graph, source, sink)
            if simplify(graph):
                return graph
        spare *= 2


@njit
def simplify(graph: Graph) -> bool:
    """Merge equal parts of paths; return False if given up halfway, for lack of room.

    The strings of the paths between the ends of the graph stay the same.
    """
    if zip_chains(graph) == NO_ROOM:
        return False
    before = _content_of(graph, 0)
    for rounds in range(_MAX_ROUNDS):
        result = _simplify_once(graph)
        if result == NO_ROOM:
            return False
        if result == UNCHANGED:
            break
        if rounds >= _ROUNDS_UNCOMPARED:
            now = _content_of(graph, graph.counts[VERTICES])
            if rounds > _ROUNDS_UNCOMPARED and _are_equal(before, now):
                break
            before = now
    return True


@njit
def _simplify_once(graph: Graph) -> int:
    result = UNCHANGED
    for step in range(4):
        if step == 0:
            changed = merge_diamonds(graph)
        elif step == 1:
            changed = split_common_suffixes(graph)
        elif step == 2:
            changed = merge_common_suffixes(graph)
        else:
            changed = zip_chains(graph)
        result = max(result, changed)
        if result == NO_ROOM:
            break
    return result


@njit
def _content_of(graph: Graph, vertices: int) -> _Content:
    """Hash the vertices and edges of a graph; of the first `vertices` numbers, all or none."""
    hashes = np.zeros(vertices, dtype=np.uint64)
    of_vertices = np.empty(vertices, dtype=np.uint64)
    edges = graph.counts[EDGES] if vertices > 0 else 0
    sources, targets = np.empty(edges, dtype=np.uint64), np.empty(edges, dtype=np.uint64)
    count = 0
    for vertex in range(vertices):
        if graph.vertices[vertex].is_vertex:
            hashes[vertex] = hash_of(
                graph.text, graph.vertices[vertex].text_start, graph.vertices[vertex].text_end
            )
            of_vertices[count] = hashes[vertex]
            count += 1
    end = 0
    for edge in range(edges):
        if graph.edges[edge].is_edge:
            sources[end] = hashes[graph.edges[edge].source]
            targets[end] = hashes[graph.edges[edge].target]
            end += 1
    return _Content(of_vertices[:count], sources[:end], targets[:end])


@njit
def _are_equal(one: _Content, other: _Content) -> bool:
    """Compare the sets of vertices and edges by their sequences."""
    if one.vertices.size != other.vertices.size or one.sources.size != other.sources.size:
        return False
    return (
        _is_within(one.vertices, one.vertices, other.vertices, other.vertices)
        and _is_within(one.sources, one.targets, other.sources, other.targets)
        and _is_within(other.sources, other.targets, one.sources, one.targets)
    )


@njit
def _is_within(
    first: NDArray[np.uint64],
    second: NDArray[np.uint64],
    first_of_other: NDArray[np.uint64],
    second_of_other: NDArray[np.uint64],
) -> bool:
    for k in range(first.size):
        is_found = False
        for j in range(first_of_other.size):
            if first[k] == first_of_other[j] and second[k] == second_of_other[j]:
                is_found = True
                break
        if not is_found:
            return False
    return True


class _Chains(NamedTuple):
    """Chains of a k-mer graph.

    Attributes
    ----------
    firsts, lasts
        int64 per chain, in the order of the first vertices.
    is_inside
        bool per k-mer vertex: whether it is in a chain.
    """

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    is_inside: NDArray[np.bool_]


@njit
def sequence_graph_of(kmers: Graph, graph: Graph, spare: int) -> Graph:
    """Write the sequence graph of a k-mer graph to `graph`; return it, or a larger copy.

    A vertex without edges into it gives its k-mer, any other its last base. There is room for
    `spare` more vertices.
    """
    vertices, edges = kmers.counts[VERTICES], kmers.counts[EDGES]
    chains = _chains_of(kmers)
    clear(graph)
    graph = graph_with_room(
        graph, vertices + spare, edges + 2 * spare, kmers.counts[TEXT] + 8 * (vertices + spare)
    )
    numbers = np.full(vertices, _NO_NUMBER, dtype=np.int64)
    for vertex in range(vertices):
        if kmers.vertices[vertex].is_vertex and not chains.is_inside[vertex]:
            start = _append_bases(graph, kmers, vertex)
            numbers[vertex] = add_vertex(graph, start, graph.counts[TEXT])
    first_chain = graph.counts[VERTICES]
    for chain in range(chains.firsts.size):
        first, last = chains.firsts[chain], chains.lasts[chain]
        start = _append_chain(graph, kmers, first, last)
        numbers[first] = numbers[last] = add_vertex(graph, start, graph.counts[TEXT])
    for edge in range(edges):
        if kmers.edges[edge].is_edge:
            source, target = numbers[kmers.edges[edge].source], numbers[kmers.edges[edge].target]
            if max(source, target) < first_chain and min(source, target) >= 0:
                _copy(graph, kmers, edge, source, target)
    for chain in range(chains.firsts.size):
        _link_chain(graph, kmers, numbers, chains.firsts[chain], chains.lasts[chain], first_chain)
    return graph


@njit
def _chains_of(kmers: Graph) -> _Chains:
    """Find the chains of at least two vertices, as `length_of_chain` does."""
    count, vertices, edges = kmers.counts[VERTICES], kmers.vertices, kmers.edges
    on_reference = _on_reference(kmers)
    is_inside = np.zeros(count, dtype=np.bool_)
    firsts, lasts = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    chains = 0
    for first in range(count):
        if not vertices[first].is_vertex or vertices[first].out_degree != 1:
            continue
        if (
            vertices[first].in_degree == 1
            and vertices[edges[vertices[first].first_in].source].out_degree < 2
        ):
            continue
        last: Integer = np.int64(first)
        while vertices[last].out_degree == 1:
            target = np.int64(edges[vertices[last].first_out].target)
            if vertices[target].in_degree != 1 or target == last:
                break
            if on_reference[target] != on_reference[first]:
                break
            is_inside[last] = is_inside[target] = True
            last = target
        if last != first:
            firsts[chains], lasts[chains] = first, last
            chains += 1
    return _Chains(firsts[:chains], lasts[:chains], is_inside)


@njit
def _on_reference(graph: Graph) -> NDArray[np.bool_]:
    """Return bool per vertex: whether one of its edges is on the reference."""
    on_reference = np.zeros(graph.counts[VERTICES], dtype=np.bool_)
    for edge in range(graph.counts[EDGES]):
        if graph.edges[edge].is_edge and graph.edges[edge].is_reference:
            on_reference[graph.edges[edge].source] = True
            on_reference[graph.edges[edge].target] = True
    return on_reference


@njit
def _append_bases(graph: Graph, kmers: Graph, vertex: Integer) -> Integer:
    """Append the bases of a k-mer vertex to the text; return their start."""
    start, end = kmers.vertices[vertex].text_end - 1, kmers.vertices[vertex].text_end
    if kmers.vertices[vertex].in_degree == 0:
        start = kmers.vertices[vertex].text_start
    return append_text(graph, kmers.text, start, end)


@njit
def _append_chain(graph: Graph, kmers: Graph, first: Integer, last: Integer) -> Integer:
    """Append the bases of a chain of k-mer vertices to the text; return their start."""
    start = _append_bases(graph, kmers, first)
    at = graph.counts[TEXT]
    vertex: Integer = np.int64(first)
    while vertex != last:
        vertex = np.int64(kmers.edges[kmers.vertices[vertex].first_out].target)
        graph.text[at] = kmers.text[kmers.vertices[vertex].text_end - 1]
        at += 1
    graph.counts[TEXT] = at
    return start


@njit
def _copy(graph: Graph, kmers: Graph, edge: Integer, source: Integer, target: Integer) -> None:
    new = append_edge(graph, source, target, kmers.edges[edge].multiplicity)
    graph.edges[new].is_reference = kmers.edges[edge].is_reference


@njit
def _link_chain(
    graph: Graph,
    kmers: Graph,
    numbers: NDArray[np.int64],
    first: Integer,
    last: Integer,
    first_chain: Integer,
) -> None:
    """Add the edges between a chain and what is in no chain, or in chains before it.

    The others are in the order of the k-mer graph, then chains in their own; an edge from the chain
    to itself is the last.
    """
    chain = numbers[first]
    edge = kmers.vertices[last].first_out
    while edge >= 0:
        target = numbers[kmers.edges[edge].target]
        if target < first_chain:
            _copy(graph, kmers, edge, chain, target)
        edge = kmers.edges[edge].next_out
    start = first_chain
    while True:
        edge = _edge_out(kmers, last, numbers, start, chain)
        if edge < 0:
            break
        start = numbers[kmers.edges[edge].target] + 1
        _copy(graph, kmers, edge, chain, start - 1)
    edge = kmers.vertices[first].first_in
    while edge >= 0:
        source = numbers[kmers.edges[edge].source]
        if source < first_chain:
            _copy(graph, kmers, edge, source, chain)
        edge = kmers.edges[edge].next_in
    start = first_chain
    while True:
        edge = _edge_in(kmers, first, numbers, start, chain + 1)
        if edge < 0:
            break
        start = numbers[kmers.edges[edge].source] + 1
        _copy(graph, kmers, edge, start - 1, chain)


@njit
def _edge_out(
    kmers: Graph, vertex: Integer, numbers: NDArray[np.int64], start: Integer, end: Integer
) -> Integer:
    """Return the edge to the vertex with the first number from `start` to `end`; or -1."""
    best, lowest = np.int64(-1), end
    edge = kmers.vertices[vertex].first_out
    while edge >= 0:
        number = numbers[kmers.edges[edge].target]
        if start <= number < lowest:
            best, lowest = np.int64(edge), number
        edge = kmers.edges[edge].next_out
    return best


@njit
def _edge_in(
    kmers: Graph, vertex: Integer, numbers: NDArray[np.int64], start: Integer, end: Integer
) -> Integer:
    """Return the edge from the vertex with the first number from `start` to `end`; or -1."""
    best, lowest = np.int64(-1), end
    edge = kmers.vertices[vertex].first_in
    while edge >= 0:
        number = numbers[kmers.edges[edge].source]
        if start <= number < lowest:
            best, lowest = np.int64(edge), number
        edge = kmers.edges[edge].next_in
    return best
