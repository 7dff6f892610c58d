"""Simplification of sequence graphs, in the order and with the limits of GATK's SeqGraph."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import hash_of
from hapgpu.calling.assembly.graph import EDGES, VERTICES, Graph
from hapgpu.calling.assembly.kmer_graphs.reachability import keep_between
from hapgpu.calling.assembly.sequence_graph.chains import zip_chains
from hapgpu.calling.assembly.sequence_graph.conversion import sequence_graph_of
from hapgpu.calling.assembly.sequence_graph.diamonds import merge_diamonds
from hapgpu.calling.assembly.sequence_graph.edits import NO_ROOM, UNCHANGED, reference_ends
from hapgpu.calling.assembly.sequence_graph.suffixes import (
    merge_common_suffixes,
    split_common_suffixes,
)
from hapgpu.runtime.jit import njit

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
