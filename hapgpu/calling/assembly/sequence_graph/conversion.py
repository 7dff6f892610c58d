"""Sequence graphs of k-mer graphs, with chains zipped from the start.

Most k-mers are in chains: the graph has some ten vertices instead of some hundred. Vertices and
lists of edges are in the order that GATK's conversion and first zipping give them: what is in no
chain comes first, then chains in the order of their starts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
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
)
from hapgpu.calling.assembly.sequence_graph.chains import (
    length_of_chain,
    next_of,
    starts_chain,
)
from hapgpu.runtime.jit import njit, njit_inlined

_NO_NUMBER: Final = -1


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
        start = _append_bases(graph, kmers, first)
        inside: Integer = first
        while inside != last:
            inside = next_of(kmers, inside)
            _append_bases(graph, kmers, inside)
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
    vertices = kmers.counts[VERTICES]
    is_inside = np.zeros(vertices, dtype=np.bool_)
    firsts, lasts = np.empty(vertices, dtype=np.int64), np.empty(vertices, dtype=np.int64)
    chains = 0
    for first in range(vertices):
        if not (kmers.vertices[first].is_vertex and starts_chain(kmers, first)):
            continue
        count = length_of_chain(kmers, first)
        if count > 1:
            vertex: Integer = np.int64(first)
            is_inside[vertex] = True
            for _ in range(count - 1):
                vertex = next_of(kmers, vertex)
                is_inside[vertex] = True
            firsts[chains], lasts[chains] = first, vertex
            chains += 1
    return _Chains(firsts[:chains], lasts[:chains], is_inside)


@njit_inlined
def _append_bases(graph: Graph, kmers: Graph, vertex: Integer) -> Integer:
    """Append the bases of a k-mer vertex to the text; return their start."""
    start, end = kmers.vertices[vertex].text_end - 1, kmers.vertices[vertex].text_end
    if kmers.vertices[vertex].in_degree == 0:
        start = kmers.vertices[vertex].text_start
    return append_text(graph, kmers.text, start, end)


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
