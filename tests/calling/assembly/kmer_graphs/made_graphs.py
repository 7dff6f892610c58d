"""Compiled k-mer graphs, made of strings and shown as strings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only, view_of
from hapgpu.calling.assembly.graph import Graph, new_graph
from hapgpu.calling.assembly.kmer_graphs import KmerGraph, build_kmer_graph
from hapgpu.calling.assembly.kmers import (
    AssemblyData,
    GraphRules,
    KmerSpace,
    RegionRows,
    cleared_space,
    new_space,
)
from hapgpu.cigar.encoding import OPERATIONS
from tests.calling.assembly.kmer_graphs.plain_graph import PlainGraph, PlainRead, Rules


class ShownGraph(NamedTuple):
    """Vertices in order; edges of each, in the order of both lists."""

    vertices: list[str]
    out_edges: list[list[tuple[int, int, int, bool]]]
    in_sources: list[list[int]]


def letters(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def reads_of(*bases: str, quality: int = 30) -> list[PlainRead]:
    return [PlainRead(text, [quality] * len(text)) for text in bases]


def compiled_rules(rules: Rules) -> GraphRules:
    return GraphRules(
        rules.k,
        int(rules.is_last_try),
        rules.min_pruning,
        rules.min_base_quality,
        rules.min_matching,
        rules.min_tail,
        rules.min_head,
        int(rules.is_unrolled),
        int(rules.recovers_all),
    )


def data_of(reference: str, reads: list[PlainRead]) -> AssemblyData:
    offsets = np.cumsum([0, *(len(read.bases) for read in reads)]).astype(np.int64)
    bases = Ragged(letters("".join(read.bases for read in reads)), offsets)
    qualities = [quality for read in reads for quality in read.qualities]
    return AssemblyData(
        view_of(bases),
        view_of(Ragged(np.array(qualities, np.uint8), offsets)),
        read_only(np.array([read.sample for read in reads], np.int32)),
        read_only(letters(reference)),
    )


def built(
    reference: str, reads: list[PlainRead], rules: Rules, earlier: KmerGraph | None = None
) -> KmerGraph:
    graph = earlier.graph if earlier else new_graph(0, 0, 0)
    space = earlier.space if earlier else new_space()
    region = RegionRows(0, len(reads), 0, len(reference))
    return build_kmer_graph(graph, space, data_of(reference, reads), region, compiled_rules(rules))


def cigar_text(cigar: NDArray[np.uint32]) -> str:
    return "".join(f"{element >> 4}{OPERATIONS[element & 15]}" for element in cigar.tolist())


def room_for(reference: str, reads: list[PlainRead]) -> tuple[Graph, KmerSpace]:
    text = len(reference) + sum(len(read.bases) for read in reads)
    return new_graph(text, text, text), cleared_space(new_space(), text)


def _list_of(first: int, following: NDArray[np.int32]) -> list[int]:
    edges = []
    while first >= 0:
        edges.append(int(first))
        first = following[first]
    return edges


def sequence_of(graph: Graph, vertex: int) -> str:
    return (
        graph.text[graph.vertices["text_start"][vertex] : graph.vertices["text_end"][vertex]]
        .tobytes()
        .decode()
    )


def shown(graph: Graph) -> ShownGraph:
    """Show a compiled graph; vertices are renumbered."""
    vertices = np.flatnonzero(graph.vertices["is_vertex"][: graph.counts[0]]).tolist()
    number = {vertex: k for k, vertex in enumerate(vertices)}
    out_edges, in_sources = [], []
    for vertex in vertices:
        out = _list_of(graph.vertices["first_out"][vertex], graph.edges["next_out"])
        into = _list_of(graph.vertices["first_in"][vertex], graph.edges["next_in"])
        assert (
            out == _list_of(graph.vertices["last_out"][vertex], graph.edges["previous_out"])[::-1]
        )
        assert into == _list_of(graph.vertices["last_in"][vertex], graph.edges["previous_in"])[::-1]
        assert (len(out), len(into)) == (
            graph.vertices["out_degree"][vertex],
            graph.vertices["in_degree"][vertex],
        )
        assert all(graph.edges["is_edge"][edge] for edge in out + into)
        out_edges.append(
            [
                (
                    number[int(graph.edges["target"][edge])],
                    int(graph.edges["multiplicity"][edge]),
                    int(graph.edges["pruning_multiplicity"][edge]),
                    bool(graph.edges["is_reference"][edge]),
                )
                for edge in out
            ]
        )
        in_sources.append([number[int(graph.edges["source"][edge])] for edge in into])
    assert sum(graph.edges["is_edge"][: graph.counts[1]]) == sum(map(len, out_edges))
    return ShownGraph([sequence_of(graph, v) for v in vertices], out_edges, in_sources)


def shown_plain(graph: PlainGraph) -> ShownGraph:
    """Show a plain graph."""
    number = {vertex: k for k, vertex in enumerate(graph.vertices)}
    return ShownGraph(
        list(graph.vertices.values()),
        [
            [
                (number[e.target], e.multiplicity, e.pruning_multiplicity, e.is_reference)
                for e in graph.out_edges(vertex)
            ]
            for vertex in graph.vertices
        ],
        [[number[e.source] for e in graph.in_edges(vertex)] for vertex in graph.vertices],
    )


def paths_of(graph: ShownGraph, source: int = 0) -> set[str]:
    """Return the strings of all paths from a vertex to the ends of the graph."""

    def below(vertex: int) -> list[str]:
        if not graph.out_edges[vertex]:
            return [""]
        return [
            graph.vertices[target][-1] + rest
            for target, *_ in graph.out_edges[vertex]
            for rest in below(target)
        ]

    return {graph.vertices[source] + rest for rest in below(source)}
