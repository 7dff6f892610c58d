"""Removal of cycles: against plain Python, which is recursive as GATK's is."""

from __future__ import annotations

from hypothesis import given, settings

from hapgpu.calling.assembly.graph import has_cycle
from hapgpu.calling.assembly.haplotypes import best_paths, remove_cycles
from tests.calling.assembly.sequence_graph import plain_sequences as plain
from tests.calling.assembly.sequence_graph.made_sequences import (
    drawn_graphs,
    graph_of,
    shown_paths,
    shown_plain_sequences,
    shown_sequences,
)
from tests.calling.assembly.sequence_graph.plain_sequences import Edge, plain_of
from tests.example_counts import many


@given(drawn_graphs(with_cycles=True))
@settings(max_examples=many(400))
def test_as_plain(drawn: tuple[list[str], list[Edge]]) -> None:
    graph, expected, sink = graph_of(*drawn), plain_of(*drawn), len(drawn[0]) - 1
    assert has_cycle(graph) == plain.has_cycle(expected)
    assert remove_cycles(graph, 0, sink) == plain.tree_of(expected, 0, sink)
    assert not has_cycle(graph)
    assert shown_sequences(graph) == shown_plain_sequences(expected)


def test_an_edge_back_is_lost_and_with_it_what_led_there() -> None:
    edges = [Edge(0, 1), Edge(1, 2), Edge(2, 1), Edge(1, 3), Edge(3, 4)]
    graph = graph_of(["A", "C", "G", "T", "A"], edges)
    assert remove_cycles(graph, 0, 4)
    assert shown_sequences(graph)[0] == ["A", "C", "T", "A"]
    assert [bases for bases, _ in shown_paths(best_paths(graph, 0, 4, 128))] == ["ACTA"]


def test_an_edge_back_to_the_source_is_lost() -> None:
    graph = graph_of(["A", "C", "G"], [Edge(0, 1), Edge(1, 0), Edge(1, 2)])
    assert remove_cycles(graph, 0, 2)
    assert [bases for bases, _ in shown_paths(best_paths(graph, 0, 2, 128))] == ["ACG"]


def test_an_edge_to_a_visited_vertex_is_lost_without_a_cycle_too() -> None:
    edges = [Edge(0, 1), Edge(0, 2), Edge(1, 3), Edge(2, 3), Edge(3, 4)]
    graph = graph_of(["A", "C", "G", "T", "A"], edges)
    assert remove_cycles(graph, 0, 4)
    assert [bases for bases, _ in shown_paths(best_paths(graph, 0, 4, 128))] == ["ACTA"]
