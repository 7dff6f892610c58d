"""Sequence graphs made of strings, compiled and plain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from hapgpu.calling.assembly.graph import (
    TEXT,
    Graph,
    add_edge,
    add_vertex,
    append_text,
    graph_with_room,
    new_graph,
)
from hapgpu.calling.assembly.haplotypes import Paths
from tests.calling.assembly.kmer_graphs.made_graphs import letters, shown
from tests.calling.assembly.sequence_graph.plain_sequences import Edge, PlainSequences

Shown = tuple[list[str], list[list[tuple[int, int, bool]]], list[list[int]]]


def graph_of(sequences: Sequence[str], edges: Sequence[Edge]) -> Graph:
    """Make a compiled graph without room to spare."""
    graph = new_graph(len(sequences), len(edges), sum(map(len, sequences)))
    for sequence in sequences:
        start = append_text(graph, letters(sequence), 0, len(sequence))
        add_vertex(graph, start, graph.counts[TEXT])
    for edge in edges:
        number = add_edge(graph, edge.source, edge.target, edge.multiplicity)
        graph.edges["is_reference"][number] = edge.is_reference
    return graph


def roomy_graph_of(sequences: Sequence[str], edges: Sequence[Edge]) -> Graph:
    """Make a compiled graph with room for simplification."""
    return graph_with_room(graph_of(sequences, edges), 500, 1000, 5000)


def shown_sequences(graph: Graph) -> Shown:
    """Show vertices and the lists of their edges, without pruning multiplicities."""
    vertices, out_edges, in_sources = shown(graph)
    kept = [[(target, count, flag) for target, count, _, flag in out] for out in out_edges]
    return vertices, kept, in_sources


def shown_plain_sequences(graph: PlainSequences) -> Shown:
    number = {vertex: k for k, vertex in enumerate(graph.vertices)}
    return (
        list(graph.vertices.values()),
        [
            [(number[e.target], e.multiplicity, e.is_reference) for e in graph.out_of(vertex)]
            for vertex in graph.vertices
        ],
        [[number[source] for source in graph.sources(vertex)] for vertex in graph.vertices],
    )


def shown_paths(paths: Paths) -> list[tuple[str, float]]:
    """Return the bases and scores of the best paths."""
    return [
        (
            paths.text[paths.offsets[path] : paths.offsets[path + 1]].tobytes().decode(),
            float(paths.scores[path]),
        )
        for path in paths.best
    ]


@st.composite
def drawn_graphs(draw: st.DrawFn, *, with_cycles: bool = False) -> tuple[list[str], list[Edge]]:
    """Draw a graph of which all is between its first vertex and its last one.

    The reference is one path from the first vertex to the last one.
    """
    count = draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alphabet = list(draw(st.sampled_from(["A", "AC", "ACG"])))
    sequences = ["".join(rng.choice(alphabet, rng.integers(1, 4))) for _ in range(count)]
    inner = [v for v in range(1, count - 1) if rng.random() < 0.4]
    reference = list(zip([0, *inner], [*inner, count - 1], strict=True))
    pairs = dict.fromkeys(reference, True)
    for vertex in range(1, count - 1):
        pairs.setdefault((int(rng.integers(0, vertex)), vertex), False)
        pairs.setdefault((vertex, int(rng.integers(vertex + 1, count))), False)
    for _ in range(rng.integers(0, 4)):
        source, target = sorted(rng.choice(count, 2, replace=False).tolist())
        pairs.setdefault((source, target), False)
    if with_cycles:
        for _ in range(rng.integers(1, 3)):
            target, source = sorted(rng.choice(np.arange(1, count), 2).tolist())
            if source < count - 1:
                pairs.setdefault((source, target), False)
    order = rng.permutation(len(pairs))
    listed = list(pairs.items())
    return sequences, [Edge(*listed[at][0], int(rng.integers(1, 5)), listed[at][1]) for at in order]
