"""Simplification of sequence graphs: against plain Python, and GATK's cases."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from hapgpu.calling.assembly.graph import VERTICES, Graph, new_graph
from hapgpu.calling.assembly.graph_edits import CHANGED, reference_ends, zip_chains
from hapgpu.calling.assembly.simplification import simplified, simplify
from tests.calling.assembly.sequence_graph import plain_sequences as plain
from tests.calling.assembly.sequence_graph.made_sequences import (
    drawn_graphs,
    graph_of,
    roomy_graph_of,
    shown_plain_sequences,
    shown_sequences,
)
from tests.calling.assembly.sequence_graph.plain_sequences import Edge, plain_of
from tests.example_counts import many


def strings_of(sequences: list[str], edges: list[Edge]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the vertices and edges of the simplified graph, as strings."""
    graph = roomy_graph_of(sequences, edges)
    assert simplify(graph)
    vertices, out_edges, _ = shown_sequences(graph)
    return vertices, [
        (vertices[source], vertices[target])
        for source, out in enumerate(out_edges)
        for target, *_ in out
    ]


@given(drawn_graphs())
@settings(max_examples=many(400))
def test_as_plain(drawn: tuple[list[str], list[Edge]]) -> None:
    graph, expected = roomy_graph_of(*drawn), plain_of(*drawn)
    plain.simplify(expected)
    assert simplify(graph)
    assert shown_sequences(graph) == shown_plain_sequences(expected)


@given(drawn_graphs())
@settings(max_examples=many(400))
def test_paths_keep_their_strings(drawn: tuple[list[str], list[Edge]]) -> None:
    before = {path.bases for path in plain.all_paths(plain_of(*drawn), 0, len(drawn[0]) - 1)}
    graph = roomy_graph_of(*drawn)
    assert simplify(graph)
    vertices, out_edges, _ = shown_sequences(graph)
    edges = [
        Edge(source, target, count, flag)
        for source, out in enumerate(out_edges)
        for target, count, flag in out
    ]
    after = plain_of(vertices, edges)
    (source,) = [vertex for vertex in after.vertices if not after.into(vertex)]
    (sink,) = [vertex for vertex in after.vertices if not after.out_of(vertex)]
    assert {path.bases for path in plain.all_paths(after, source, sink)} == before
    ends = [vertices[source], vertices[sink]]
    assert [_bases_of(graph, vertex) for vertex in reference_ends(graph)] == ends


def _bases_of(graph: Graph, vertex: int) -> str:
    return (
        graph.text[graph.vertices["text_start"][vertex] : graph.vertices["text_end"][vertex]]
        .tobytes()
        .decode()
    )


@given(drawn_graphs(with_cycles=True))
@settings(max_examples=many(200))
def test_cyclic_graphs_as_plain(drawn: tuple[list[str], list[Edge]]) -> None:
    graph, expected = roomy_graph_of(*drawn), plain_of(*drawn)
    plain.simplify(expected)
    assert simplify(graph)
    assert shown_sequences(graph) == shown_plain_sequences(expected)


def test_a_middle_that_is_all_suffix_becomes_an_edge() -> None:
    edges = [Edge(0, 1, 2), Edge(0, 2, 3), Edge(1, 3, 2), Edge(2, 3, 3)]
    graph = roomy_graph_of(["A", "AC", "C", "G"], edges)
    assert simplify(graph)
    vertices, out_edges, _ = shown_sequences(graph)
    assert vertices == ["A", "A", "CG"]
    assert out_edges[0] == [(1, 2, False), (2, 6, False)]  # twice its weight


def test_equal_middles_become_one() -> None:
    edges = [Edge(0, 1), Edge(0, 2, 1, is_reference=True), Edge(1, 3)]
    edges.append(Edge(2, 3, 1, is_reference=True))
    assert strings_of(["A", "ACT", "ACT", "C"], edges) == (["AACTC"], [])


def test_a_diamond_with_another_edge_into_its_bottom_stays() -> None:
    sequences = ["A", "GT", "GC", "T", "C"]
    edges = [Edge(0, 1), Edge(0, 2), Edge(1, 3), Edge(2, 3), Edge(4, 3), Edge(0, 4)]
    assert strings_of(sequences, edges)[0] == [*sequences[:4], "C"]


def test_three_branches_share_what_all_of_them_start_and_end_with() -> None:
    """The first and the last share one more base at both ends."""
    sequences = ["A", "GCTAC", "GTAGC", "GCGAC", "A"]
    edges = [Edge(0, k) for k in (1, 2, 3)] + [Edge(k, 4) for k in (1, 2, 3)]
    vertices, joined = strings_of(sequences, edges)
    middles = ["CTA", "TAG", "CGA"]
    assert vertices == [*middles, "CA", "AG"]
    assert sorted(joined) == sorted([("AG", m) for m in middles] + [(m, "CA") for m in middles])


def test_branches_without_a_common_suffix_leave_their_bottom_as_it_is() -> None:
    edges = [Edge(0, 1), Edge(0, 2), Edge(1, 3), Edge(2, 3)]
    assert strings_of(["A", "GC", "GT", "A"], edges)[0] == ["A", "C", "T", "AG"]


def test_the_first_vertex_may_be_the_bottom_of_a_diamond() -> None:
    """Without a common suffix, the common prefix is found by the search for diamonds only."""
    edges = [Edge(1, 2), Edge(1, 3), Edge(2, 0), Edge(3, 0)]
    vertices, joined = strings_of(["A", "T", "GC", "GT"], edges)
    assert vertices == ["A", "C", "T", "TG"]
    assert joined == [("C", "A"), ("T", "A"), ("TG", "C"), ("TG", "T")]


def test_a_diamond_that_appears_in_the_first_round_is_merged_in_the_second() -> None:
    """One of its branches is a diamond of equal bases."""
    edges = [Edge(0, 1), Edge(0, 5), Edge(1, 2), Edge(1, 3), Edge(2, 4), Edge(3, 4)]
    edges += [Edge(4, 6), Edge(5, 6)]
    vertices, _ = strings_of(["A", "G", "C", "C", "A", "GT", "C"], edges)
    assert sorted(vertices) == ["AG", "C", "CA", "T"]


def test_a_common_suffix_goes_to_the_vertex_after_it() -> None:
    edges = [Edge(0, 1), Edge(0, 2), Edge(0, 4), Edge(1, 3), Edge(2, 3), Edge(3, 5), Edge(4, 5)]
    vertices, joined = strings_of(["A", "GC", "TC", "G", "GT", "C"], edges)
    assert sorted(vertices) == ["A", "C", "CG", "G", "GT", "T"]
    assert sorted(joined) == [
        ("A", "G"),
        ("A", "GT"),
        ("A", "T"),
        ("CG", "C"),
        ("G", "CG"),
        ("GT", "C"),
        ("T", "CG"),
    ]


def test_a_graph_that_comes_back_to_itself_is_left_after_eight_rounds() -> None:
    """GATK compares graphs from the eighth round on, each with the one of the round before.

    The C of AC is split off, and zipped to it again. A round makes C, C, A, and AC.
    """
    graph = roomy_graph_of(["C", "AC", "G"], [Edge(0, 2), Edge(1, 2)])
    assert simplify(graph)
    assert shown_sequences(graph)[0] == ["G", "C", "AC"]
    assert graph.counts[VERTICES] == 3 + 8 * 4


@pytest.mark.parametrize(
    ("reference", "other", "expected"),
    [((0, 1), (0, 2), "AC"), ((1, 0), (2, 0), "CA")],
    ids=["source", "sink"],
)
def test_what_is_not_between_the_ends_of_the_reference_is_cut(
    reference: tuple[int, int], other: tuple[int, int], expected: str
) -> None:
    """Also where one of them is the first vertex; what remains is zipped."""
    edges = [Edge(*reference, is_reference=True), Edge(*other)]
    graph = simplified(graph_of(["A", "C", "G"], edges), new_graph(0, 0, 0))
    assert shown_sequences(graph)[0] == [expected]


@pytest.mark.parametrize(
    ("pairs", "ends"), [([(0, 1), (2, 3)], (0, 1)), ([(1, 0), (3, 2)], (1, 0))]
)
def test_of_two_reference_paths_the_first_ends_are_taken(
    pairs: list[tuple[int, int]], ends: tuple[int, int]
) -> None:
    graph = graph_of(list("ACGT"), [Edge(*pair, is_reference=True) for pair in pairs])
    assert reference_ends(graph) == ends


def test_a_chain_ends_where_the_reference_begins() -> None:
    edges = [Edge(0, 1), Edge(1, 2), Edge(2, 3, 1, is_reference=True)]
    edges.append(Edge(3, 4, 1, is_reference=True))
    graph = roomy_graph_of(["A", "C", "G", "T", "A"], edges)
    assert zip_chains(graph) == CHANGED
    assert shown_sequences(graph)[0] == ["G", "T", "A", "AC"]


@given(drawn_graphs())
@settings(max_examples=many(200))
def test_graphs_without_room(drawn: tuple[list[str], list[Edge]]) -> None:
    """Simplification gives up; with more room, it does the same as ever."""
    graph, expected = graph_of(*drawn), roomy_graph_of(*drawn)
    assert simplify(expected)
    if simplify(graph):
        assert shown_sequences(graph) == shown_sequences(expected)


def test_a_graph_gets_the_room_that_it_needs() -> None:
    """Many branches that share no more than a base at both ends."""
    middles = [f"G{'ACGT'[k % 4] * (k + 1)}T" for k in range(400)]
    last = len(middles) + 1
    edges = [Edge(0, k + 1, 1, k == 0) for k in range(len(middles))]
    edges += [Edge(k + 1, last, 1, k == 0) for k in range(len(middles))]
    drawn = ["A", *middles, "A"], edges
    graph = simplified(graph_of(*drawn), new_graph(0, 0, 0))
    # The graph of 402 k-mers takes the last base of each but the first.
    assert set(shown_sequences(graph)[0]) == {"ATA"}
