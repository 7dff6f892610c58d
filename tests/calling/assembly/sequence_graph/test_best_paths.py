"""Best paths of sequence graphs: against plain Python, and GATK's cases."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hapgpu.calling.assembly.haplotypes import best_paths
from tests.calling.assembly.sequence_graph import plain_sequences as plain
from tests.calling.assembly.sequence_graph.made_sequences import (
    drawn_graphs,
    graph_of,
    shown_paths,
)
from tests.calling.assembly.sequence_graph.plain_sequences import Edge, plain_of
from tests.example_counts import many


@given(drawn_graphs(), st.sampled_from([1, 2, 3, 5, 128]))
@settings(max_examples=many(400))
def test_as_plain(drawn: tuple[list[str], list[Edge]], at_most: int) -> None:
    sink = len(drawn[0]) - 1
    found = shown_paths(best_paths(graph_of(*drawn), 0, sink, at_most))
    expected, is_defined = plain.best_paths(plain_of(*drawn), 0, sink, at_most)
    assume(is_defined)
    assert found == [(path.bases, path.score) for path in expected]


@given(drawn_graphs())
@settings(max_examples=many(200))
def test_all_paths_are_found(drawn: tuple[list[str], list[Edge]]) -> None:
    sink = len(drawn[0]) - 1
    found = shown_paths(best_paths(graph_of(*drawn), 0, sink, 1000))
    expected = [(path.bases, path.score) for path in plain.all_paths(plain_of(*drawn), 0, sink)]
    assert sorted(found) == sorted(expected)


def test_score_of_one_of_three() -> None:
    edges = [Edge(0, 1), Edge(1, 2), Edge(1, 3), Edge(1, 4)]
    paths = best_paths(graph_of(list("ACGTA"), edges), 0, 2, 128)
    assert shown_paths(paths) == [("ACG", -0.47712125471966244)]


@pytest.mark.parametrize("middles", [1, 3, 12])
@pytest.mark.parametrize("ends", [1, 4])
def test_paths_through_two_waists(middles: int, ends: int) -> None:
    """Starts lead to middles, and these to ends; scores never rise."""
    starts = 3
    sequences = ["A"] * (1 + starts) + ["C"] + ["G"] * middles + ["T"] + ["A"] * ends
    waist, second = 1 + starts, 2 + starts + middles
    edges = [Edge(0, 1 + k, 1 + k) for k in range(starts)]
    edges += [Edge(1 + k, waist) for k in range(starts)]
    edges += [Edge(waist, waist + 1 + k, 1 + k % 4) for k in range(middles)]
    edges += [Edge(waist + 1 + k, second) for k in range(middles)]
    edges += [Edge(second, second + 1 + k, 2 + k) for k in range(ends)]
    sequences.append("C")
    edges += [Edge(second + 1 + k, len(sequences) - 1) for k in range(ends)]
    graph = graph_of(sequences, edges)
    scores = [score for _, score in shown_paths(best_paths(graph, 0, len(sequences) - 1, 1000))]
    assert len(scores) == starts * middles * ends
    assert scores == sorted(scores, reverse=True)
    assert math.isclose(sum(10**score for score in scores), 1)
    assert len(best_paths(graph, 0, len(sequences) - 1, 128).best) == min(len(scores), 128)


def test_of_equal_scores_the_larger_string_is_first() -> None:
    edges = [Edge(0, 1), Edge(0, 2), Edge(1, 3), Edge(2, 3)]
    graph = graph_of(["T", "AAACCCCC", "CCCCCGGG", "T"], edges)
    assert [bases for bases, _ in shown_paths(best_paths(graph, 0, 3, 128))] == [
        "TCCCCCGGGT",
        "TAAACCCCCT",
    ]


def test_of_equal_strings_the_first_made_is_first() -> None:
    """As in Java's heap. It is extended first, too: a path is better than its start."""
    edges = [Edge(0, 1), Edge(0, 2), Edge(1, 3), Edge(2, 4), Edge(3, 5), Edge(4, 5)]
    graph = graph_of(["T", "A", "A", "C", "G", "T"], edges)
    found = [bases for bases, _ in shown_paths(best_paths(graph, 0, 5, 128))]
    assert found == ["TACT", "TAGT"]


def test_nothing_is_extended_after_the_last_path_wanted() -> None:
    others = 200
    edges = [Edge(0, 1, 2), Edge(0, 2, 1), *(Edge(2, 3 + k) for k in range(others))]
    paths = best_paths(graph_of(["A"] * (3 + others), edges), 0, 1, 1)
    assert [bases for bases, _ in shown_paths(paths)] == ["AA"]
    assert paths.scores.size < others


def test_a_vertex_is_extended_as_often_as_paths_are_wanted() -> None:
    """The first path to the last vertices takes the only turn of both."""
    edges = [Edge(0, 1, 2), Edge(0, 2, 1), Edge(1, 3), Edge(2, 3), Edge(3, 4), Edge(3, 5)]
    graph = graph_of(["A", "C", "G", "T", "A", "C"], edges)
    assert [bases for bases, _ in shown_paths(best_paths(graph, 0, 5, 1))] == ["ACTC"]
    found = [bases for bases, _ in shown_paths(best_paths(graph, 0, 5, 2))]
    assert found == ["ACTC", "AGTC"]


def test_one_vertex() -> None:
    assert shown_paths(best_paths(graph_of(["ACGT"], []), 0, 0, 128)) == [("ACGT", 0.0)]


def test_no_paths_are_no_limit() -> None:
    graph = graph_of(list("AC"), [Edge(0, 1)])
    assert not best_paths(graph, 0, 1, 0).has_more
    assert not best_paths(graph, 0, 1, 1).has_more
