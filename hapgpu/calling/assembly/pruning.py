"""Pruning of rare chains, and unrolling of cycles."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import (
    Graph,
    add_vertex,
    append_edge,
    graph_with_room,
    remove_edge,
    remove_vertex,
)
from hapgpu.calling.assembly.kmers import KmerSpace
from hapgpu.runtime.jit import njit, njit_inlined

_UNSEEN: Final = 0
_OPEN: Final = 1
_DONE: Final = 2

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


@njit
def unrolled(graph: Graph, source: Integer) -> Graph:
    """Return an acyclic graph, or a larger copy, whose paths use at most one edge that led back.

    The vertices between an edge that leads back and any such edge get a copy; the edges lead to
    the copies instead. Which edges lead back is found depth first, along the reference first: so
    the reference stays as it is.

    Parameters
    ----------
    graph
        A graph; all its vertices can be reached from `source`.
    source
        Vertex of the first k-mer of the reference.
    """
    back = back_edges(graph, source)
    if back.size == 0:
        return graph
    sources, targets = np.empty(back.size, np.int32), np.empty(back.size, np.int32)
    multiplicities = np.empty(back.size, np.int32)
    for k in range(back.size):
        edge = graph.edges[back[k]]
        sources[k], targets[k] = edge.source, edge.target
        multiplicities[k] = edge.multiplicity
        remove_edge(graph, back[k])
    is_copied = _marked(graph, targets, 1)
    leads_back = _marked(graph, sources, 0)
    count, edges = graph.counts[0], graph.counts[1]
    graph = graph_with_room(graph, count, edges + back.size, 0)
    copies = np.full(count, -1, np.int32)
    for vertex in range(count):
        if is_copied[vertex] and leads_back[vertex]:
            start, end = graph.vertices[vertex].text_start, graph.vertices[vertex].text_end
            copies[vertex] = add_vertex(graph, start, end)
    for edge in range(edges):
        origin, target = graph.edges[edge].source, graph.edges[edge].target
        if graph.edges[edge].is_edge and copies[origin] >= 0:
            to = copies[target] if copies[target] >= 0 else target
            append_edge(graph, copies[origin], to, graph.edges[edge].multiplicity)
    for k in range(back.size):
        append_edge(graph, sources[k], copies[targets[k]], multiplicities[k])
    return graph


@njit
def back_edges(graph: Graph, source: Integer) -> NDArray[np.int32]:
    """Return the edges to a vertex that is on the path to their source, int32.

    The path is that of a search depth first, which follows an edge of the reference before others.
    """
    count = graph.counts[0]
    states = np.zeros(count, np.uint8)
    path = np.empty(count, np.int32)
    following = np.empty(count, np.int32)
    on_reference = np.zeros(count, np.bool_)
    found = np.empty(graph.counts[1], np.int32)
    backs, depth = 0, 0
    path[0] = source
    states[source] = _OPEN
    following[0] = _reference_edge(graph, source)
    on_reference[0] = following[0] >= 0
    if following[0] < 0:
        following[0] = graph.vertices[source].first_out
    while depth >= 0:
        vertex, edge = path[depth], following[depth]
        if edge < 0:
            states[vertex] = _DONE
            depth -= 1
            continue
        if on_reference[depth]:
            on_reference[depth] = False
            following[depth] = graph.vertices[vertex].first_out
        else:
            following[depth] = graph.edges[edge].next_out
        target = graph.edges[edge].target
        if states[target] == _OPEN:
            found[backs] = edge
            backs += 1
        elif states[target] == _UNSEEN:
            depth += 1
            path[depth] = target
            states[target] = _OPEN
            following[depth] = _reference_edge(graph, target)
            on_reference[depth] = following[depth] >= 0
            if following[depth] < 0:
                following[depth] = graph.vertices[target].first_out
    return found[:backs]


@njit_inlined
def _reference_edge(graph: Graph, vertex: Integer) -> Integer:
    """Return the edge of the reference out of a vertex; -1 if there is none."""
    edge = np.int64(graph.vertices[vertex].first_out)
    while edge >= 0 and not graph.edges[edge].is_reference:
        edge = np.int64(graph.edges[edge].next_out)
    return edge


@njit
def _marked(graph: Graph, starts: NDArray[np.int32], is_forward: int) -> NDArray[np.bool_]:
    """Return bool per vertex: some vertices, and with `is_forward` 1 those after, else before."""
    is_marked = np.zeros(graph.counts[0], np.bool_)
    stack = np.empty(graph.counts[0], np.int32)
    count = 0
    for start in starts:
        if not is_marked[start]:
            is_marked[start] = True
            stack[count] = start
            count += 1
    while count:
        count -= 1
        vertex = stack[count]
        edge = graph.vertices[vertex].first_out if is_forward else graph.vertices[vertex].first_in
        while edge >= 0:
            end = graph.edges[edge].target if is_forward else graph.edges[edge].source
            if not is_marked[end]:
                is_marked[end] = True
                stack[count] = end
                count += 1
            edge = graph.edges[edge].next_out if is_forward else graph.edges[edge].next_in
    return is_marked
