"""Graphs against lists of edges, under random changes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hapgpu.calling.assembly.graph import (
    add_edge,
    add_vertex,
    append_text,
    clear,
    find_edge,
    graph_with_room,
    new_graph,
    remove_edge,
    remove_vertex,
)
from tests.calling.assembly.kmer_graphs.made_graphs import shown


@pytest.mark.parametrize("seed", range(5))
def test_random_changes(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  (data for a test)
    graph = new_graph(2, 2, 2)
    vertices: list[int] = []
    edges: dict[tuple[int, int], int] = {}
    for step in range(400):
        change = rng.choice(["vertex", "edge", "edge", "edge", "edge", "remove", "remove vertex"])
        graph = graph_with_room(graph, 1, 1, 1)
        if change == "vertex" or not vertices:
            text = np.frombuffer(rng.choice([b"A", b"C"]), np.uint8)
            start = append_text(graph, text, 0, 1)
            vertices.append(add_vertex(graph, start, start + 1))
        elif change == "edge":
            source, target = rng.choice(vertices), rng.choice(vertices)
            edge = add_edge(graph, source, target, step)
            assert (edge == -1) == ((source, target) in edges)
            edges.setdefault((source, target), edge)
        elif change == "remove" and edges:
            pair = rng.choice(list(edges))
            remove_edge(graph, edges.pop(pair))
        elif change == "remove vertex" and rng.random() < 0.3:
            gone = vertices.pop(rng.randrange(len(vertices)))
            remove_vertex(graph, gone)
            edges = {pair: edge for pair, edge in edges.items() if gone not in pair}
        found = shown(graph)
        number = {vertex: k for k, vertex in enumerate(vertices)}
        pairs = [(number[source], number[target]) for source, target in edges]
        assert len(found.vertices) == len(vertices)
        assert [
            (v, out[0]) for v, edges_out in enumerate(found.out_edges) for out in edges_out
        ] == (sorted(pairs, key=lambda pair: pair[0]))
        assert [(source, v) for v, into in enumerate(found.in_sources) for source in into] == (
            sorted(pairs, key=lambda pair: pair[1])
        )
    for (source, target), edge in edges.items():
        assert find_edge(graph, source, target) == edge
    clear(graph)
    assert shown(graph) == ([], [], [])
