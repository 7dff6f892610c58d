"""Common suffixes: which are split off, what merges, and the room for both."""

from __future__ import annotations

import pytest

from hapgpu.calling.assembly.graph import graph_with_room
from hapgpu.calling.assembly.graph_edits import CHANGED, NO_ROOM, UNCHANGED
from hapgpu.calling.assembly.suffixes import merge_common_suffixes, split_common_suffixes
from tests.calling.assembly.sequence_graph.made_sequences import (
    graph_of,
    roomy_graph_of,
    shown_sequences,
)
from tests.calling.assembly.sequence_graph.plain_sequences import Edge

# The first edge is the first one into the vertex after the suffix.
BRANCHES = [Edge(1, 3), Edge(2, 3), Edge(0, 1), Edge(0, 2)]


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        (["T", "AC", "GC", "G"], ["T", "G", "C", "A", "C", "G"]),
        (["T", "C", "AC", "G"], ["T", "G", "C", "C", "A"]),  # nothing remains of C
        (["T", "C", "C", "G"], None),
        (["T", "AC", "AG", "G"], None),
    ],
)
def test_suffixes_are_split_off(sequences: list[str], expected: list[str] | None) -> None:
    graph = roomy_graph_of(sequences, BRANCHES)
    assert split_common_suffixes(graph) == (CHANGED if expected else UNCHANGED)
    assert shown_sequences(graph)[0] == (expected or sequences)


def test_branches_of_a_cycle_are_not_split() -> None:
    """The first edge goes back from the vertex after them."""
    graph = roomy_graph_of(["T", "AC", "GC", "G"], [Edge(3, 1), *BRANCHES])
    assert split_common_suffixes(graph) == UNCHANGED


@pytest.mark.parametrize(("first", "result"), [("C", UNCHANGED), ("TC", CHANGED)])
def test_the_start_of_the_reference_is_more_than_the_suffix(first: str, result: int) -> None:
    edges = [Edge(0, 2, is_reference=True), Edge(1, 2)]
    assert split_common_suffixes(roomy_graph_of([first, "AC", "G"], edges)) == result


@pytest.mark.parametrize(
    ("vertices", "edges", "result"),
    [(4, 6, CHANGED), (4, 5, NO_ROOM), (0, 6, NO_ROOM)],
)
def test_a_split_that_just_fits(vertices: int, edges: int, result: int) -> None:
    """Each of the two vertices becomes two, with an edge in, one between, and one out."""
    graph = graph_of(["T", "AC", "GC", "G"], BRANCHES)
    assert split_common_suffixes(graph_with_room(graph, vertices, edges, 0)) == result


def test_equal_vertices_merge_with_the_edges_into_each() -> None:
    edges = [Edge(1, 3), Edge(2, 3), Edge(0, 1), Edge(4, 2)]
    graph = roomy_graph_of(["A", "C", "C", "G", "T"], edges)
    assert merge_common_suffixes(graph) == CHANGED
    to_merged = [(2, 1, False)]
    assert shown_sequences(graph) == (
        ["A", "T", "CG"],
        [to_merged, to_merged, []],
        [[], [], [0, 1]],
    )
