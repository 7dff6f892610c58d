"""Graphs made of strings, and their paths by plain enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hapgpu.calling.assembly.graph import (
    EDGES,
    TEXT,
    VERTICES,
    Graph,
    add_edge,
    add_vertex,
    append_text,
    new_graph,
)


class Edge(NamedTuple):
    """An edge between two vertices by number."""

    source: int
    target: int
    multiplicity: int = 1
    is_reference: bool = False


def graph_of(sequences: Sequence[str], edges: Sequence[Edge]) -> Graph:
    """Make a graph that has no room to spare."""
    graph = new_graph(len(sequences), len(edges), sum(map(len, sequences)))
    for sequence in sequences:
        bases = np.frombuffer(sequence.encode(), dtype=np.uint8)
        start = append_text(graph, bases, 0, bases.size)
        add_vertex(graph, start, graph.counts[TEXT])
    for edge in edges:
        number = add_edge(graph, edge.source, edge.target, edge.multiplicity)
        graph.is_reference[number] = edge.is_reference
    return graph


def sequences_of(graph: Graph) -> dict[int, str]:
    """Return the sequences of the vertices by number, in order."""
    return {
        vertex: graph.text[graph.text_starts[vertex] : graph.text_ends[vertex]].tobytes().decode()
        for vertex in range(graph.counts[VERTICES])
        if graph.is_vertex[vertex]
    }


def edges_of(graph: Graph) -> list[tuple[str, str, int, bool]]:
    """Return the edges by the sequences of their ends, in order."""
    sequences = sequences_of(graph)
    return [
        (
            sequences[int(graph.sources[edge])],
            sequences[int(graph.targets[edge])],
            int(graph.multiplicities[edge]),
            bool(graph.is_reference[edge]),
        )
        for edge in range(graph.counts[EDGES])
        if graph.is_edge[edge]
    ]


def check_lists(graph: Graph) -> None:
    """Compare the lists of edges of each vertex with the edges."""
    edges = [edge for edge in range(graph.counts[EDGES]) if graph.is_edge[edge]]
    for vertex in sequences_of(graph):
        outs = [edge for edge in edges if graph.sources[edge] == vertex]
        ins = [edge for edge in edges if graph.targets[edge] == vertex]
        assert _list_of(graph.first_out[vertex], graph.next_out) == outs
        assert _list_of(graph.first_in[vertex], graph.next_in) == ins
        assert (graph.out_degrees[vertex], graph.in_degrees[vertex]) == (len(outs), len(ins))


def _list_of(edge: int, after: np.ndarray) -> list[int]:
    found = []
    while edge >= 0:
        found.append(int(edge))
        edge = after[edge]
    return found
