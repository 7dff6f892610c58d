"""GATK's cases of threading, before pruning."""

from __future__ import annotations

from hapgpu.calling.assembly.graph import Graph
from hapgpu.calling.assembly.kmer_graphs import (
    load_bases,
    number_read_kmers,
    thread_reads,
    thread_reference,
)
from hapgpu.calling.assembly.kmers import KmerSpace, RegionRows, number_kmers
from tests.calling.assembly.kmer_graphs.made_graphs import (
    compiled_rules,
    data_of,
    reads_of,
    room_for,
    sequence_of,
    shown,
)
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules


def threaded(reference: str, reads: list[PlainRead], k: int) -> tuple[Graph, KmerSpace]:
    graph, space = room_for(reference, reads)
    data, region = data_of(reference, reads), RegionRows(0, len(reads), 0, len(reference))
    rules = compiled_rules(Rules(k))
    load_bases(graph, data, region)
    number_kmers(space, graph.text, 0, len(reference), k, 0)
    number_read_kmers(space, graph, data, region, rules)
    thread_reference(graph, space, len(reference), k)
    thread_reads(graph, space, data, region, rules)
    return graph, space


def non_unique(graph: Graph, space: KmerSpace, k: int) -> set[str]:
    kmers = space.entries[: space.counts[0]]
    starts = kmers["text_start"][kmers["is_non_unique"]]
    assert space.counts[1] == len(starts)
    return {graph.text[start : start + k].tobytes().decode() for start in starts}


def test_non_unique_kmers() -> None:
    graph, space = threaded("GACACACAGTCA", reads_of("GACACGTCA", "CACGTCA"), 3)
    assert non_unique(graph, space, 3) == {"ACA", "CAC"}


def test_repeats_are_looked_for_from_the_start_of_a_read() -> None:
    reads = reads_of("ACGTNACGAA", "ACGNTTTGG", "GCANGCA")
    graph, space = threaded("CCTAGG", reads, 3)
    assert non_unique(graph, space, 3) == {"ACG", "GCA"}


def test_reference_with_n_before_a_read() -> None:
    graph, _ = threaded("NNNGTCAAA", reads_of("GTCAAA"), 3)
    edges = {
        (
            sequence_of(graph, int(graph.edges["source"][e])),
            sequence_of(graph, int(graph.edges["target"][e])),
        ): int(graph.edges["multiplicity"][e])
        for e in range(graph.counts[1])
    }
    assert edges.pop(("NNN", "NNG")) == 1
    assert set(edges.values()) == {2}
    assert len(edges) == 5


def test_a_snp_makes_as_many_vertices_as_k() -> None:
    reference = "CATGCACTTTAAAACTTGCCTTTTTAACAAGACTTCCAGATG"
    other = reference[:20] + "G" + reference[21:]
    assert reference[20] == "T"
    graph, _ = threaded(reference, reads_of(other), 11)
    assert graph.counts[0] == 32 + 11


def test_edges_before_the_start_of_a_read_are_counted() -> None:
    graph, _ = threaded("ACGTTGCA", reads_of("GTTGC"), 3)
    counts = {sequence_of(graph, v): edges for v, edges in enumerate(shown(graph).out_edges)}
    assert [counts[kmer][0][1] for kmer in ("ACG", "CGT", "GTT", "TTG", "TGC")] == [2, 2, 2, 2, 1]
    graph, _ = threaded("ACGTTGCA", reads_of("TGTTGC"), 3)
    counts = {sequence_of(graph, v): edges for v, edges in enumerate(shown(graph).out_edges)}
    assert [counts[kmer][0][1] for kmer in ("ACG", "CGT", "GTT", "TTG", "TGC")] == [1, 1, 2, 2, 1]


def test_a_run_of_k_bases_is_not_threaded() -> None:
    graph, _ = threaded("ACGTTGCA", reads_of("CCC", "GTTG"), 3)
    assert [sequence_of(graph, v) for v in range(graph.counts[0])] == [
        "ACG", "CGT", "GTT", "TTG", "TGC", "GCA",
    ]  # fmt: skip


def test_samples_are_threaded_in_the_order_of_their_first_run_of_k_bases() -> None:
    reads = [
        PlainRead(bases, [30] * len(bases), sample)
        for bases, sample in [("CC", 2), ("CCC", 1), ("GTTA", 0), ("GTTC", 1), ("GTTT", 2)]
    ]
    graph, _ = threaded("ACGTTGCA", reads, 3)
    added = [sequence_of(graph, v) for v in range(6, graph.counts[0])]
    assert added == ["TTC", "TTA", "TTT"]
