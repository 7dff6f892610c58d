"""Cycles of a sequence graph, removed as in GATK's GraphBasedKBestHaplotypeFinder."""

from __future__ import annotations

import numpy as np

from hapgpu.calling.assembly.graph import (
    VERTICES,
    Graph,
    remove_edge,
    remove_vertex,
)
from hapgpu.runtime.jit import njit


@njit
def remove_cycles(graph: Graph, source: int, sink: int) -> bool:
    """Remove edges to vertices visited before, depth first, and vertices that reach no sink.

    What remains is a tree but for its sink: alleles are lost, as in GATK. Return whether the sink
    is reached from the source.
    """
    count = graph.counts[VERTICES]
    is_visited = np.zeros(count, dtype=np.bool_)
    reaches = np.zeros(count, dtype=np.bool_)
    reaches[sink] = True
    path = np.empty(count, dtype=np.int64)
    edges = np.empty(count, dtype=np.int64)  # the next edge of each vertex of the path
    path[0], edges[0] = source, graph.vertices[source].first_out
    depth = 0 if source != sink else -1
    is_visited[source] = source != sink
    while depth >= 0:
        vertex, edge = path[depth], edges[depth]
        if edge < 0:
            depth -= 1
            if not reaches[vertex]:
                remove_vertex(graph, vertex)
            elif depth >= 0:
                reaches[path[depth]] = True
            continue
        edges[depth] = graph.edges[edge].next_out
        target = graph.edges[edge].target
        if not graph.edges[edge].is_edge:  # its target reached no sink
            continue
        if target == sink:
            reaches[vertex] = True
        elif is_visited[target]:
            remove_edge(graph, edge)
        else:
            depth += 1
            path[depth], edges[depth] = target, graph.vertices[target].first_out
            is_visited[target] = True
    return bool(reaches[source])
