"""GATK's cases of pruning, and cycles."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.calling.assembly.graph import (
    Graph,
    add_edge,
    add_vertex,
    append_edge,
    has_cycle,
    keep_between,
    new_graph,
    remove_vertex,
)
from hapgpu.calling.assembly.kmers import cleared_space, new_space
from hapgpu.calling.assembly.pruning import prune_chains, remove_lone_vertices, remove_rare_edges

Edges = list[tuple[str, str, int]]


def graph_of(edges: Edges, reference: Edges = []) -> tuple[Graph, list[str]]:  # noqa: B006  (read)
    """Make a graph with named vertices."""
    graph = new_graph(50, 50, 0)
    names: list[str] = []
    for number, (source, target, multiplicity) in enumerate(reference + edges):
        for name in (source, target):
            if name not in names:
                names.append(name)
                add_vertex(graph, 0, 0)
        edge = append_edge(graph, names.index(source), names.index(target), multiplicity)
        graph.edges["is_reference"][edge] = number < len(reference)
    return graph, names


def kept_by_pruning(graph: Graph, names: list[str]) -> tuple[int, set[str]]:
    """Return the number of chains and the vertices that stay."""
    space = cleared_space(new_space(), len(names))
    space.vertex_kmers[: len(names)] = range(len(names))
    space.entries["vertex"][: len(names)] = -1
    space.entries["vertex"][0] = 0
    space.counts[2] = 1
    count = prune_chains(graph, 2)
    remove_lone_vertices(graph, space)
    assert space.counts[2] == graph.vertices["is_vertex"][0]
    return count, {name for k, name in enumerate(names) if graph.vertices["is_vertex"][k]}


LOOP = [("v4", "v1"), ("v1", "v2"), ("v2", "v3"), ("v3", "v1")]


@pytest.mark.parametrize(
    ("edges", "reference", "chains", "kept"),
    [
        (
            [("A", "x", 1), ("x", "y", 1), ("y", "z", 1), ("z", "B", 1)],
            [("A", "B", 1)],
            2,
            {"A", "B"},
        ),
        ([("a", "b", 1), ("b", "c", 3), ("c", "d", 1), ("d", "e", 1)], [], 1, set("abcde")),
        ([(*edge, 1) for edge in LOOP], [], 2, set()),
        ([(*edge, 3) for edge in LOOP], [], 2, {"v1", "v2", "v3", "v4"}),
    ],
)
def test_pruning_of_gatk(edges: Edges, reference: Edges, chains: int, kept: set[str]) -> None:
    assert kept_by_pruning(*graph_of(edges, reference)) == (chains, kept)


def test_a_cycle_without_a_source_is_not_pruned() -> None:
    cycle = [("a", "b", 1), ("b", "a", 1), ("c", "c", 1)]
    assert kept_by_pruning(*graph_of(cycle)) == (0, {"a", "b", "c"})


def test_cycles() -> None:
    line = [("a", "b", 1), ("b", "c", 1), ("a", "c", 1)]
    assert not has_cycle(graph_of(line)[0])
    assert has_cycle(graph_of([*line, ("c", "a", 1)])[0])
    assert has_cycle(graph_of([*line, ("b", "b", 1)])[0])
    assert has_cycle(graph_of([*line, ("x", "y", 1), ("y", "x", 1)])[0])
    graph, names = graph_of([*line, ("c", "x", 1), ("x", "a", 1)])
    remove_vertex(graph, names.index("x"))
    assert not has_cycle(graph)


def test_what_lies_between() -> None:
    graph, names = graph_of(
        [("a", "b", 1), ("b", "c", 1), ("x", "b", 1), ("b", "y", 1), ("p", "q", 1), ("a", "c", 1)]
    )
    keep_between(graph, names.index("a"), names.index("c"))
    assert {name for k, name in enumerate(names) if graph.vertices["is_vertex"][k]} == {
        "a",
        "b",
        "c",
    }
    edges = np.flatnonzero(graph.edges["is_edge"][: graph.counts[1]])
    assert {(names[graph.edges["source"][e]], names[graph.edges["target"][e]]) for e in edges} == {
        ("a", "b"),
        ("b", "c"),
        ("a", "c"),
    }


def test_no_parallel_edges() -> None:
    graph, _ = graph_of([("a", "b", 5)])
    assert add_edge(graph, 0, 1, 3) == -1
    assert add_edge(graph, 1, 0, 3) == 1
    assert graph.edges["multiplicity"][0] == 5


def edges_left(graph: Graph, names: list[str]) -> set[str]:
    """Return source and target of each edge that stays, as text."""
    rows = np.flatnonzero(graph.edges["is_edge"][: graph.counts[1]])
    ends = zip(graph.edges["source"][rows], graph.edges["target"][rows], strict=True)
    return {names[source] + names[target] for source, target in ends}


@pytest.mark.parametrize(("reads", "is_kept"), [(1, False), (2, True)])
def test_rare_edges(reads: int, is_kept: bool) -> None:
    """Of 38 + 2 reads, 2 are 1 in 20; what only the edge led to goes with it, up to a branch."""
    branch = [("A", "x", reads), ("x", "y", reads), ("y", "B", reads)]
    graph, names = graph_of([*branch, ("y", "z", reads)], [("A", "B", 38)])
    remove_rare_edges(graph)
    assert edges_left(graph, names) == {"AB", "yB", "yz"} | ({"Ax", "xy"} if is_kept else set())
    assert graph.vertices["is_vertex"][names.index("x")] == is_kept


def test_rare_edges_end_where_others_lead() -> None:
    edges = [("A", "x", 1), ("x", "B", 1), ("w", "x", 9), ("A", "v", 1)]
    graph, names = graph_of(edges, [("A", "B", 40)])
    remove_rare_edges(graph)
    assert edges_left(graph, names) == {"AB", "wx", "xB"}
    assert not graph.vertices["is_vertex"][names.index("v")]


def test_an_edge_of_the_reference_is_never_rare() -> None:
    graph, names = graph_of([("A", "x", 99), ("x", "B", 99)], [("A", "B", 1)])
    remove_rare_edges(graph)
    assert edges_left(graph, names) == {"AB", "Ax", "xB"}
