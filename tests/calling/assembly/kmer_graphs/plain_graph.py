"""K-mer graphs in plain Python, by the rules of GATK: dicts and lists, and no speed.

After ReadThreadingGraph and LowWeightChainPruner of broadinstitute/gatk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter


@dataclass(frozen=True)
class Rules:
    """Rules of a graph, as `GraphRules`."""

    k: int
    is_last_try: bool = False
    min_pruning: int = 2
    min_base_quality: int = 10
    min_matching: int = -1
    min_tail: int = 4
    min_head: int = 4
    is_unrolled: bool = False
    recovers_all: bool = False


@dataclass(frozen=True)
class PlainRead:
    """A read of a sample."""

    bases: str
    qualities: list[int]
    sample: int = 0

    def runs(self, rules: Rules) -> list[tuple[int, int]]:
        """Return the ranges of good bases that hold a k-mer."""
        good = [
            base != "N" and quality >= rules.min_base_quality
            for base, quality in zip(self.bases, self.qualities, strict=True)
        ]
        found, start = [], 0
        for at, is_good in enumerate([*good, False]):
            if not is_good:
                if at - start >= rules.k:
                    found.append((start, at))
                start = at + 1
        return found


@dataclass
class Edge:
    """An edge."""

    source: int
    target: int
    multiplicity: int
    is_reference: bool
    per_sample: list[int]
    current: int

    @property
    def pruning_multiplicity(self) -> int:
        return max(self.per_sample)


@dataclass
class PlainGraph:
    """A k-mer graph: vertices and edges in the order in which they were added."""

    rules: Rules
    vertices: dict[int, str] = field(default_factory=dict)
    outgoing: dict[int, list[Edge]] = field(default_factory=dict)
    incoming: dict[int, list[Edge]] = field(default_factory=dict)
    unique: dict[str, int] = field(default_factory=dict)
    non_unique: set[str] = field(default_factory=set)
    sink: int = -1
    added: int = 0

    @property
    def edges(self) -> list[Edge]:
        return [edge for edges in self.outgoing.values() for edge in edges]

    def out_edges(self, vertex: int) -> list[Edge]:
        return list(self.outgoing[vertex])

    def in_edges(self, vertex: int) -> list[Edge]:
        return list(self.incoming[vertex])

    def new_vertex(self, kmer: str) -> int:
        vertex = self.added
        self.added += 1
        self.vertices[vertex] = kmer
        self.outgoing[vertex] = []
        self.incoming[vertex] = []
        return vertex

    def new_edge(self, source: int, target: int, is_reference: bool, multiplicity: int = 1) -> None:
        if all(edge.target != target for edge in self.out_edges(source)):
            edge = Edge(source, target, multiplicity, is_reference, [1], 1)
            self.outgoing[source].append(edge)
            self.incoming[target].append(edge)

    def remove_edge(self, removed: Edge) -> None:
        for edges in (self.outgoing[removed.source], self.incoming[removed.target]):
            edges[:] = [edge for edge in edges if edge is not removed]

    def remove_vertex(self, vertex: int) -> None:
        self.unique.pop(self.vertices.pop(vertex), None)
        for edge in self.in_edges(vertex) + self.out_edges(vertex):
            self.remove_edge(edge)
        del self.outgoing[vertex], self.incoming[vertex]

    def touches_reference(self, vertex: int) -> bool:
        return any(edge.is_reference for edge in self.in_edges(vertex) + self.out_edges(vertex))


def repeated(text: str, k: int) -> set[str]:
    """Return the k-mers that a text has twice."""
    counts = Counter(text[at : at + k] for at in range(len(text) - k + 1))
    return {kmer for kmer, count in counts.items() if count > 1}


def thread(graph: PlainGraph, text: str, start: int, end: int, is_reference: bool) -> None:
    k = graph.rules.k
    starts = range(start, end - k)
    first = next((at for at in starts if text[at : at + k] not in graph.non_unique), None)
    if is_reference:
        first = start
    if first is None:
        return
    vertex = _vertex_of(graph, text[first : first + k], allow_source=True)
    count_backwards(graph, vertex, text[first : first + k], k - 2)
    for at in range(first + 1, end - k + 1):
        kmer = text[at : at + k]
        edges = [e for e in graph.out_edges(vertex) if graph.vertices[e.target][-1] == kmer[-1]]
        if edges:
            edges[0].multiplicity += 1
            edges[0].current += 1
            vertex = edges[0].target
            continue
        target = _vertex_of(graph, kmer, allow_source=False)
        graph.new_edge(vertex, target, is_reference)
        vertex = target
    if is_reference:
        graph.sink = vertex


def _vertex_of(graph: PlainGraph, kmer: str, allow_source: bool) -> int:
    is_source = 0 in graph.vertices and graph.vertices[0] == kmer
    if kmer in graph.unique and (allow_source or not is_source):
        return graph.unique[kmer]
    vertex = graph.new_vertex(kmer)
    if kmer not in graph.non_unique:
        graph.unique.setdefault(kmer, vertex)
    return vertex


def count_backwards(graph: PlainGraph, vertex: int, kmer: str, offset: int) -> None:
    if offset < 0:
        return
    incoming = graph.in_edges(vertex)
    for edge in incoming:
        if graph.vertices[edge.source][-1] == kmer[offset] and len(incoming) == 1:
            edge.multiplicity += 1
            edge.current += 1
            count_backwards(graph, edge.source, kmer, offset - 1)


def flush(graph: PlainGraph) -> None:
    for edge in graph.edges:
        edge.per_sample.append(edge.current)
        edge.current = 0


def threaded(reference: str, reads: list[PlainRead], rules: Rules) -> PlainGraph:
    graph = PlainGraph(rules)
    samples: dict[int, list[tuple[str, int, int]]] = {}
    graph.non_unique |= repeated(reference, rules.k)
    for read in reads:
        for start, end in read.runs(rules):
            samples.setdefault(read.sample, []).append((read.bases, start, end))
            graph.non_unique |= repeated(read.bases[:end], rules.k)
    if rules.is_unrolled and not rules.is_last_try:
        graph.non_unique.clear()
    thread(graph, reference, 0, len(reference), is_reference=True)
    flush(graph)
    for sequences in samples.values():
        for text, start, end in sequences:
            thread(graph, text, start, end, is_reference=False)
        flush(graph)
    return graph


def chains(graph: PlainGraph) -> Iterator[list[Edge]]:
    starts = [vertex for vertex in graph.vertices if not graph.in_edges(vertex)]
    for start in starts:  # it grows
        for first in graph.out_edges(start):
            chain = [first]
            end = first.target
            while len(graph.out_edges(end)) == 1 and len(graph.in_edges(end)) <= 1 and end != start:
                chain.append(graph.out_edges(end)[0])
                end = chain[-1].target
            if end not in starts:
                starts.append(end)
            yield chain


def prune(graph: PlainGraph) -> int:
    """Prune; return the number of chains."""
    found = list(chains(graph))
    for chain in found:
        if all(
            e.pruning_multiplicity < graph.rules.min_pruning and not e.is_reference for e in chain
        ):
            for edge in chain:
                graph.remove_edge(edge)
    for vertex in list(graph.vertices):
        if not graph.in_edges(vertex) and not graph.out_edges(vertex):
            graph.remove_vertex(vertex)
    return len(found)


def has_cycle(graph: PlainGraph) -> bool:
    sorter = TopologicalSorter(
        {vertex: {edge.source for edge in graph.in_edges(vertex)} for vertex in graph.vertices}
    )
    try:
        sorter.prepare()
    except CycleError:
        return True
    return False


def keep_between(graph: PlainGraph) -> None:
    after, before = {0}, {graph.sink}
    for reached, ends in ((after, graph.outgoing), (before, graph.incoming)):
        waiting = list(reached)
        for vertex in waiting:  # it grows
            found = {v for edge in ends[vertex] for v in (edge.source, edge.target)} - reached
            reached.update(found)
            waiting += found
    for vertex in list(graph.vertices):
        if vertex not in after & before:
            graph.remove_vertex(vertex)
