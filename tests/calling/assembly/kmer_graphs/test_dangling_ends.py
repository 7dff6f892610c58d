"""GATK's cases of dangling tails and heads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hapgpu.calling.assembly.dangling_heads import aligned_head, dangling_heads, recover_heads
from hapgpu.calling.assembly.dangling_tails import (
    aligned_tail,
    branch_cigar,
    count_tails,
    recover_tails,
)
from hapgpu.calling.assembly.graph import (
    Graph,
    add_vertex,
    append_edge,
    graph_with_room,
    keep_between,
)
from hapgpu.calling.assembly.kmer_graphs import (
    load_bases,
    number_read_kmers,
    thread_reads,
    thread_reference,
)
from hapgpu.calling.assembly.kmers import RegionRows, number_kmers
from hapgpu.realign.scoring import Overhang
from tests.calling.assembly.kmer_graphs.made_graphs import (
    built,
    cigar_text,
    compiled_rules,
    data_of,
    letters,
    paths_of,
    reads_of,
    room_for,
    sequence_of,
    shown,
)
from tests.calling.assembly.kmer_graphs.plain_branches import SCORING, recover_head, recover_tail
from tests.calling.assembly.kmer_graphs.plain_graph import PlainGraph, Rules
from tests.calling.assembly.kmer_graphs.plain_graph import threaded as plain_threaded
from tests.realign.align.reference import align_reference

PREFIX = "AAAAAAAAAACCCCCCCCCCGGGGGGGGGGTTTTTTTTTT"
TAILS = [
    ("AAAAAAAAAA", "CAAAAAAAAAA", "1M1I10M", 10, -1),
    ("CCAAAAAAAAAA", "AAAAAAAAAA", "1M2D10M", 10, -1),
    *[("AAAAAAAA", "CAAGATAA", "9M", 2, option) for option in (-1, 0, 1, 2)],
    *[("AAAAAAAA", "CAAGATAA", "9M", None, option) for option in (3, 4)],
    ("AAAAAAAAA", "CAAAAAAG", "9M", None, -1),
    ("AAAAAAAAA", "CAAAAAAG", "9M", 0, 0),  # no base need match, but the reference must go on
    ("AAAAAAAA", "CAAAAAAG", "9M", None, 0),
    ("AAAAA", "CA", "3M", None, -1),  # GATK's 1M3D2M is not compared there: the tail is too short
    ("AAAAAA", "CGAAAACGAA", "1M2I4M2I2M", None, -1),
]
HEADS = [
    *[
        ("XXXXXXXAACCGGTTACGT", "AAYCGGTTACGT", "8M", option, option < 3)
        for option in (-1, 0, 1, 2, 3)
    ],
    *[("XXXAACCGGTTACGT", "XAAACCGGTTACGT", "7M", option, False) for option in (-1, 0)],
    ("XXXXXXXAACCGGTTACGT", "XAACGGTTACGT", "4M1D4M", -1, False),
    *[("XXXXXXXAACCGGTTACGT", "XAACGGTTACGT", "4M1D4M", option, True) for option in (0, 1)],
    ("XXXXXXXAACCGGTTACGT", "YCCGGTTACGT", "6M", -1, True),
    ("XXXXXXXAACBBBBBBCGGTTACGT", "AACCGGTTACGT", "5M6D3M", 1, True),
    ("XXXXXXXAACCGGTTACGT", "XTACYYYYYYYCGGTTACGT", "5M7I4M", 1, True),
    ("XXXXACGATTGGCC", "ACGACGATTGGCC", "1M3I4M", 1, False),  # it matches up to the shared T
    ("ABCDEFGHIJKLM", "BCEXGHIJKLM", "7M1D2M", -1, False),  # extended, it would start before A
]


def threaded(reference: str, read: str, rules: Rules) -> tuple[Graph, int]:
    """Thread a read; return the graph and the end of the reference."""
    reads = reads_of(read)
    graph, space = room_for(reference, reads)
    graph = graph_with_room(graph, 100, 100, 1000)
    data, region = data_of(reference, reads), RegionRows(0, 1, 0, len(reference))
    load_bases(graph, data, region)
    number_kmers(space, graph.text, 0, len(reference), rules.k, 0)
    number_read_kmers(space, graph, data, region, compiled_rules(rules))
    sink = thread_reference(graph, space, len(reference), rules.k)
    thread_reads(graph, space, data, region, compiled_rules(rules))
    return graph, int(sink)


def plain(reference: str, read: str, rules: Rules) -> PlainGraph:
    return plain_threaded(reference, reads_of(read), rules)


@pytest.mark.parametrize(("reference", "read", "cigar", "distance", "option"), TAILS)
def test_tails_of_gatk(
    reference: str, read: str, cigar: str, distance: int | None, option: int
) -> None:
    rules = Rules(15, min_pruning=0, min_matching=option)
    graph, sink = threaded(PREFIX + reference, PREFIX + read, rules)
    (tail,) = (
        v for v in range(graph.counts[0]) if graph.vertices["out_degree"][v] == 0 and v != sink
    )
    assert count_tails(graph, sink) == 1
    any_length = compiled_rules(Rules(15, min_pruning=0, min_tail=1))
    assert cigar_text(aligned_tail(graph, tail, 0, any_length).cigar) == cigar
    edges = int(graph.counts[1])
    assert recover_tails(graph, 0, sink, compiled_rules(rules)) == int(distance is not None)
    assert graph.counts[1] == edges + int(distance is not None)
    if distance is not None:
        vertex = tail
        for _ in range(distance):
            vertex = int(graph.edges["source"][graph.vertices["first_in"][vertex]])
        assert graph.edges["source"][edges] == vertex
        assert graph.edges["multiplicity"][edges] == 1
    plain_graph = plain(PREFIX + reference, PREFIX + read, rules)
    joined = "" if distance is None else f"+{distance}"
    expected = "" if cigar == "3M" else cigar + joined  # that one is too short
    assert recover_tail(plain_graph, tail) == expected


def test_the_end_of_the_reference_is_no_tail() -> None:
    graph, sink = threaded("ACGTTGCA", "AC", Rules(3))
    assert count_tails(graph, sink) == 0


@pytest.mark.parametrize(("reference", "read", "cigar", "option", "is_merged"), HEADS)
def test_heads_of_gatk(reference: str, read: str, cigar: str, option: int, is_merged: bool) -> None:
    rules = Rules(5, min_pruning=0, min_matching=option, min_head=1)
    graph, sink = threaded(reference, read, rules)
    heads = dangling_heads(graph, 0)
    assert len(heads) == 1
    found = aligned_head(graph, int(heads[0]), sink, compiled_rules(rules)).cigar
    assert cigar_text(found) == cigar
    assert recover_heads(graph, heads, sink, compiled_rules(rules)) == int(is_merged)
    keep_between(graph, 0, sink)
    paths = paths_of(shown(graph))
    assert reference in paths
    assert len(paths) == 1 + is_merged
    assert any(read in path for path in paths - {reference}) == is_merged
    plain_graph = plain(reference, read, rules)
    assert recover_head(plain_graph, int(heads[0])) == cigar + "+" * is_merged


@pytest.mark.parametrize(("min_head", "is_merged"), [(3, True), (4, False)])
def test_the_vertex_of_the_reference_does_not_count_for_a_head(
    min_head: int, is_merged: bool
) -> None:
    """The head is AAYCG, AYCGG and YCGGT, before CGGTT of the reference."""
    rules = Rules(5, min_pruning=0, min_head=min_head)
    graph, sink = threaded("XXXXXXXAACCGGTTACGT", "AAYCGGTTACGT", rules)
    heads = dangling_heads(graph, 0)
    assert recover_heads(graph, heads, sink, compiled_rules(rules)) == int(is_merged)


def test_a_head_that_matches_up_to_the_reference_is_not_joined() -> None:
    """As in GATK, the offset of the mismatch must not be 0, the vertex of the reference itself."""
    rules = Rules(3, min_pruning=0, min_matching=0, min_head=1)
    graph, sink = threaded("CGAAATG", "CG", rules)
    assert [sequence_of(graph, v) for v in range(5)] == ["CGA", "GAA", "AAA", "AAT", "ATG"]
    # Vertices of their own, as for k-mers that a read has twice.
    head, below = add_vertex(graph, 0, 3), add_vertex(graph, 1, 4)
    append_edge(graph, head, below, 1)
    append_edge(graph, below, 3, 1)
    found = aligned_head(graph, head, sink, compiled_rules(rules))
    assert cigar_text(found.cigar) == "1M1D4M"
    heads = dangling_heads(graph, 0)
    assert heads.tolist() == [head]
    assert recover_heads(graph, heads, sink, compiled_rules(rules)) == 0


@pytest.mark.parametrize(
    ("reference", "read", "is_merged"),
    [
        ("AAAACGGTCA", "ACGGTCA", True),  # 3D7M from the branch: one vertex further down
        ("ACACACGGTCAG", "ACGGTCAG", True),
        ("AAAACGGTCA", "AACGGTCA", True),
        ("AAACGGTCA", "AAAAACGGTCA", False),  # 2I7M: back to the branch, which makes a cycle
    ],
)
def test_indels_beside_the_branch(reference: str, read: str, is_merged: bool) -> None:
    result = built(PREFIX + reference, reads_of(PREFIX + read), Rules(15, min_pruning=0))
    others = {PREFIX + read} if is_merged else set()
    assert paths_of(shown(result.graph)) == {PREFIX + reference} | others


@pytest.mark.parametrize(("at", "is_merged"), [(5, False), (7, False), (8, True), (11, True)])
@pytest.mark.parametrize("before", [3, 5])
def test_heads_are_extended_up_to_k_bases_from_the_start(
    at: int, before: int, is_merged: bool
) -> None:
    """The read starts within k bases of its variant: its first k-mer is not of the reference."""
    reference = "ACGTTGCATGCCGATATTGGCCATCAAGTC"
    other = reference[:at] + ("C" if reference[at] != "C" else "G") + reference[at + 1 :]
    result = built(reference, reads_of(other[at - before :]), Rules(8, min_pruning=0))
    others = {other} if is_merged else set()
    assert paths_of(shown(result.graph)) == {reference} | others


SHORT = st.text("AC", min_size=1, max_size=25) | st.text("ACGT", min_size=1, max_size=25)


@given(SHORT, SHORT)
@example("A", "A")
@example("A", "CAA")
@example("GGCAACACGGA", "GCAGGA")  # 1D3M4D3M or 2D3M3D3M: the longer of two equal deletions
@example("CA", "GCACAG")  # 1I2M3I or 3I2M1I: the longer of two equal insertions at the end
@example("CCCCCAA", "CAAA")  # 3D4M or 1M3I: the longer of two equal prefixes of the reference
def test_branches_are_aligned_as_the_reference_implementation_does(
    reference: str, branch: str
) -> None:
    expected = align_reference(
        reference.encode(), branch.encode(), SCORING, Overhang.LEADING_INDEL
    ).cigar
    while expected and expected[-1][1] == "D":
        expected = expected[:-1]
    found = branch_cigar(letters(reference), letters(branch))
    assert found.dtype == np.uint32
    assert cigar_text(found) == "".join(f"{length}{letter}" for length, letter in expected)
