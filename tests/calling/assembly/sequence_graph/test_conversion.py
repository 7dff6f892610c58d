"""Sequence graphs of k-mer graphs: equal to GATK's conversion and zipping, one after the other."""

from __future__ import annotations

from hypothesis import example, given, settings

from hapgpu.calling.assembly.graph import new_graph
from hapgpu.calling.assembly.simplification import sequence_graph_of
from tests.calling.assembly.sequence_graph import plain_sequences as plain
from tests.calling.assembly.sequence_graph.made_sequences import (
    drawn_graphs,
    graph_of,
    shown_plain_sequences,
    shown_sequences,
)
from tests.calling.assembly.sequence_graph.plain_sequences import Edge, plain_of
from tests.example_counts import many

# Vertices 1 and 2 are a chain, 3 and 4 another one. The first edge joins them.
FROM_LATER_CHAIN = [(4, 1), (0, 1), (0, 3), (1, 2), (3, 4), (2, 5), (0, 5)]
FROM_EARLIER_CHAIN = [(2, 3), (0, 1), (0, 3), (1, 2), (3, 4), (2, 5), (4, 5)]
# Vertices 1 to 4 are a chain; its edge from 2 to 3 joins vertices that are not at its ends.
LONG_CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]
CHAIN_TO_ITSELF = [(0, 1), (1, 2), (2, 1), (2, 3)]


def letters_with(pairs: list[tuple[int, int]]) -> tuple[list[str], list[Edge]]:
    return list("ACGTAC"[: max(map(max, pairs)) + 1]), [Edge(*pair) for pair in pairs]


def converted(kmers: plain.PlainSequences) -> plain.PlainSequences:
    """Take the last bases of vertices that have edges into them; zip chains."""
    texts = [text[-1] if kmers.into(v) else text for v, text in kmers.vertices.items()]
    graph = plain_of(texts, kmers.edges)
    plain.zip_chains(graph)
    return graph


@given(drawn_graphs())
@example(letters_with(FROM_LATER_CHAIN))
@example(letters_with(FROM_EARLIER_CHAIN))
@example(letters_with(LONG_CHAIN))
@settings(max_examples=many(300))
def test_as_plain(drawn: tuple[list[str], list[Edge]]) -> None:
    graph = sequence_graph_of(graph_of(*drawn), new_graph(0, 0, 0), 0)
    assert shown_sequences(graph) == shown_plain_sequences(converted(plain_of(*drawn)))


@given(drawn_graphs(with_cycles=True))
@example(letters_with(CHAIN_TO_ITSELF))
@settings(max_examples=many(300))
def test_cyclic_graphs_as_plain(drawn: tuple[list[str], list[Edge]]) -> None:
    graph = sequence_graph_of(graph_of(*drawn), new_graph(0, 0, 0), 0)
    assert shown_sequences(graph) == shown_plain_sequences(converted(plain_of(*drawn)))
