"""Removal of chains with low support, by the rules of GATK's LowWeightChainPruner."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import Graph, remove_edge, remove_vertex
from hapgpu.calling.assembly.kmer_graphs.space import KmerSpace
from hapgpu.runtime.jit import njit, njit_inlined

_RARE: Final = 20


@njit
def prune_chains(graph: Graph, min_pruning: Integer) -> Integer:
    """Remove chains whose edges all have a lower multiplicity; return the number of all chains.

    A chain starts at a source, or at the end of a chain, and goes on while its vertices have one
    edge out, and at most one in. Edges of the reference are kept, and so are parts of the graph
    without a source.
    """
    vertices = graph.counts[0]
    starts = np.empty(vertices, np.int32)
    was_start = np.zeros(vertices, np.bool_)
    pruned = np.empty(graph.counts[1], np.int32)
    known, taken, chains, removed = 0, 0, 0, 0
    for vertex in range(vertices):
        if graph.vertices[vertex].is_vertex and graph.vertices[vertex].in_degree == 0:
            starts[known] = vertex
            was_start[vertex] = True
            known += 1
    while taken < known:
        start = starts[taken]
        taken += 1
        first = np.int64(graph.vertices[start].first_out)
        while first >= 0:
            chains += 1
            length = _follow_chain(graph, first, pruned, removed)
            end = graph.edges[pruned[removed + length - 1]].target
            if _is_low(graph, pruned, removed, length, min_pruning):
                removed += length
            if not was_start[end]:
                starts[known] = end
                was_start[end] = True
                known += 1
            first = np.int64(graph.edges[first].next_out)
    for k in range(removed):
        remove_edge(graph, pruned[k])
    return chains


@njit_inlined
def _follow_chain(graph: Graph, first: Integer, edges: NDArray[np.int32], at: Integer) -> Integer:
    """Write the edges of the chain that starts with an edge to edges[at:]; return how many."""
    start, edge, length = graph.edges[first].source, first, 0
    while True:
        edges[at + length] = edge
        length += 1
        end = graph.edges[edge].target
        if graph.vertices[end].out_degree != 1 or graph.vertices[end].in_degree > 1 or end == start:
            return length
        edge = np.int64(graph.vertices[end].first_out)


@njit_inlined
def _is_low(
    graph: Graph, edges: NDArray[np.int32], at: Integer, length: Integer, min_pruning: Integer
) -> bool:
    """Tell whether edges[at : at + length] all have low multiplicities, and none is reference."""
    for k in range(at, at + length):
        edge = edges[k]
        if graph.edges[edge].is_reference or graph.edges[edge].pruning_multiplicity >= min_pruning:
            return False
    return True


@njit
def remove_lone_vertices(graph: Graph, space: KmerSpace) -> None:
    """Remove the vertices without edges; their k-mers have no vertex any more, as in GATK."""
    for vertex in range(graph.counts[0]):
        if not graph.vertices[vertex].is_vertex:
            continue
        if graph.vertices[vertex].in_degree == 0 and graph.vertices[vertex].out_degree == 0:
            graph.vertices[vertex].is_vertex = False
            kmer = space.vertex_kmers[vertex]
            if space.entries[kmer].vertex >= 0:
                space.entries[kmer].vertex = -1
                space.counts[2] -= 1


@njit
def remove_rare_edges(graph: Graph) -> None:
    """Remove edges that less than 1 in 20 of the reads go on with from a vertex, and what follows.

    The reads of an edge are those of the sample that has most. Edges of the reference stay.
    """
    for vertex in range(graph.counts[0]):
        if not graph.vertices[vertex].is_vertex or graph.vertices[vertex].out_degree < 2:
            continue
        total = np.int64(0)
        edge = np.int64(graph.vertices[vertex].first_out)
        while edge >= 0:
            total += graph.edges[edge].pruning_multiplicity
            edge = np.int64(graph.edges[edge].next_out)
        edge = np.int64(graph.vertices[vertex].first_out)
        while edge >= 0:
            is_rare = _RARE * graph.edges[edge].pruning_multiplicity < total
            following = np.int64(graph.edges[edge].next_out)
            if is_rare and not graph.edges[edge].is_reference:
                target = np.int64(graph.edges[edge].target)
                remove_edge(graph, edge)
                _remove_onwards(graph, target)
            edge = following


@njit
def _remove_onwards(graph: Graph, vertex: Integer) -> None:
    """Remove a vertex without an edge in, and those after it that then have none."""
    while graph.vertices[vertex].in_degree == 0 and graph.vertices[vertex].out_degree < 2:
        edge = np.int64(graph.vertices[vertex].first_out)
        following = np.int64(graph.edges[edge].target) if edge >= 0 else vertex
        remove_vertex(graph, vertex)
        if edge < 0:
            return
        vertex = following


@njit
def remove_edges_out(graph: Graph, vertex: Integer) -> None:
    """Remove the edges out of a vertex: of the last one of the reference, where paths end."""
    while graph.vertices[vertex].out_degree > 0:
        remove_edge(graph, graph.vertices[vertex].first_out)
