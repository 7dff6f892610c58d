"""Unrolled cycles: against all walks in plain Python, and tandem duplications."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hapgpu.calling.assembly.graph import Graph, has_cycle
from hapgpu.calling.assembly.haplotypes import NOT_ASSEMBLED, UNROLLED, best_paths
from hapgpu.calling.assembly.pruning import back_edges, unrolled
from hapgpu.calling.options import AssemblyOptions
from tests.calling.assembly.kmer_graphs.made_graphs import reads_of
from tests.calling.assembly.kmer_graphs.plain_unrolling import Step, Steps, walks
from tests.calling.assembly.kmer_graphs.plain_unrolling import back_edges as plain_back_edges
from tests.calling.assembly.plain_assembly import Region
from tests.calling.assembly.sequence_graph.made_sequences import (
    drawn_graphs,
    graph_of,
    shown_sequences,
)
from tests.calling.assembly.sequence_graph.plain_sequences import Edge
from tests.calling.assembly.test_assembler import outcomes_of, random_bases, strings_of
from tests.example_counts import many

MOST_WALKS = 3000
Drawn = tuple[list[str], list[Edge]]


def steps_of(drawn: Drawn) -> Steps:
    sequences, edges = drawn
    return {
        vertex: [Step(e.target, e.is_reference) for e in edges if e.source == vertex]
        for vertex in range(len(sequences))
    }


def path_strings(graph: Graph, sink: int) -> list[str]:
    paths = best_paths(graph, 0, sink, 2 * MOST_WALKS)
    return sorted(
        paths.text[paths.offsets[path] : paths.offsets[path + 1]].tobytes().decode()
        for path in paths.best
    )


def with_pairs(pairs: list[tuple[int, int]], reference: int) -> Drawn:
    """Return a graph of one letter per vertex; its first edges are the reference."""
    count = max(map(max, pairs)) + 1
    edges = [Edge(*pair, 2, at < reference) for at, pair in enumerate(pairs)]
    return list("ACGTNBDH"[:count]), edges


LOOP = with_pairs([(0, 1), (1, 2), (1, 1)], 2)
TWO_LOOPS = with_pairs([(0, 1), (1, 2), (2, 3), (3, 4), (2, 1), (3, 2)], 4)
LOOP_BESIDE_THE_REFERENCE = with_pairs([(0, 1), (1, 4), (1, 2), (2, 3), (3, 2), (3, 4)], 2)


@given(drawn_graphs(with_cycles=True))
@example(LOOP)
@example(TWO_LOOPS)
@example(LOOP_BESIDE_THE_REFERENCE)
@settings(max_examples=many(600))
def test_paths_are_the_walks_with_at_most_one_edge_back(drawn: Drawn) -> None:
    sequences, _ = drawn
    sink = len(sequences) - 1
    expected = walks(steps_of(drawn), 0, sink, MOST_WALKS)
    graph = unrolled(graph_of(*drawn), 0)
    assert not has_cycle(graph)
    if expected is not None:
        assert path_strings(graph, sink) == sorted(
            "".join(sequences[vertex] for vertex in walk) for walk in expected
        )
    shown_sequences(graph)  # checks its lists


@given(drawn_graphs(with_cycles=True))
@settings(max_examples=many(300))
def test_edges_back_as_plain(drawn: Drawn) -> None:
    graph = graph_of(*drawn)
    found = [
        (int(graph.edges["source"][e]), int(graph.edges["target"][e])) for e in back_edges(graph, 0)
    ]
    assert len(found) == len(set(found))
    assert set(found) == plain_back_edges(steps_of(drawn), 0)


@given(drawn_graphs())
@settings(max_examples=many(300))
def test_graphs_without_cycles_stay(drawn: Drawn) -> None:
    graph = graph_of(*drawn)
    before = shown_sequences(graph)
    assert back_edges(graph, 0).size == 0
    assert shown_sequences(unrolled(graph, 0)) == before


@given(drawn_graphs(with_cycles=True))
@settings(max_examples=many(300))
def test_the_reference_and_multiplicities_stay(drawn: Drawn) -> None:
    """Edges of the reference stay; a copy of an edge has its multiplicity, and is not on it."""
    sequences, edges = drawn
    graph = unrolled(graph_of(*drawn), 0)
    vertices, out_edges, _ = shown_sequences(graph)
    assert vertices[: len(sequences)] == sequences
    on_reference = {
        (source, target)
        for source, out in enumerate(out_edges)
        for target, _, is_reference in out
        if is_reference
    }
    assert on_reference == {(e.source, e.target) for e in edges if e.is_reference}
    given_counts: dict[tuple[str, str], set[int]] = {}
    for edge in edges:
        pair = sequences[edge.source], sequences[edge.target]
        given_counts.setdefault(pair, set()).add(edge.multiplicity)
    for source, out in enumerate(out_edges):
        for target, multiplicity, _ in out:
            assert multiplicity in given_counts[vertices[source], vertices[target]]


def duplicated(seed: int, size: int) -> tuple[str, str]:
    """Return a reference, and it with a tandem duplication of so many bases."""
    reference = random_bases(400, np.random.default_rng(seed))
    return reference, reference[: 150 + size] + reference[150:]


def reads_across(text: str, length: int = 100) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text) - length + 1, 5)]


@pytest.mark.parametrize("size", [100, 120, 150])
def test_a_tandem_duplication(size: int) -> None:
    """Reads of 100 bases do not span both copies: GATK's graphs of all k have a cycle."""
    reference, other = duplicated(size, size)
    region = Region(reference, reads_of(*reads_across(other), *reads_across(reference)))
    options = AssemblyOptions(kmer_sizes=(25,))
    assert strings_of([region], options) == [[other]]
    assert outcomes_of([region], options).tolist() == [UNROLLED]
    strict = AssemblyOptions(kmer_sizes=(25,), is_strict=True)
    assert strings_of([region], strict) == [[]]
    assert outcomes_of([region], strict).tolist() == [NOT_ASSEMBLED]


@given(st.integers(30, 120), st.integers(0, 2**32))
@settings(max_examples=20)
def test_a_duplication_with_a_change_in_its_second_copy(size: int, seed: int) -> None:
    reference, other = duplicated(seed, size)
    at = 150 + size + size // 2
    other = other[:at] + ("C" if other[at] != "C" else "G") + other[at + 1 :]
    region = Region(reference, reads_of(*reads_across(other), *reads_across(reference)))
    (found,) = strings_of([region], AssemblyOptions(kmer_sizes=(25,)))
    assert other in found


def test_a_duplication_at_the_end_of_the_reference_is_lost() -> None:
    """Its cycle leads through the last k-mer, where all paths end; none goes on from there."""
    reference = random_bases(160, np.random.default_rng(1))
    other = reference + reference[100:]
    region = Region(reference, reads_of(*reads_across(other, 50) * 2))
    assert strings_of([region], AssemblyOptions(kmer_sizes=(25,))) == [[]]
