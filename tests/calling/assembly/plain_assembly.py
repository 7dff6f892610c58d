"""Which k are tried for an active region, and what each adds, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hapgpu.calling.options import AssemblyOptions
from tests.calling.assembly.kmer_graphs.plain_branches import assembled
from tests.calling.assembly.kmer_graphs.plain_graph import PlainRead, Rules
from tests.calling.assembly.kmer_graphs.plain_unrolling import Step, walks
from tests.calling.assembly.sequence_graph.plain_sequences import (
    Edge,
    all_paths,
    best_paths,
    has_cycle,
    plain_of,
    simplify,
)

UNROLLED, NOT_ASSEMBLED, AT_LIMIT = 1, 2, 4
RESULTS = {"short", "ready", "limited"}
UNKNOWN = "unknown"
"""Status of a graph whose kept paths these rules do not tell."""


class Region(NamedTuple):
    """The reference of a padded span, and reads."""

    reference: str
    reads: list[PlainRead]


class PlainAssembly(NamedTuple):
    """The strings of an active region other than the reference, and its flags."""

    strings: set[str]
    flags: int


def result_of(region: Region, rules: Rules, max_haplotypes: int) -> tuple[str, list[str]]:
    """Return the status of a k, "limited" if its graph has more paths than are kept; strings."""
    status, graph = assembled(region.reference, region.reads, rules)
    if graph is None:
        return status, []
    number = {vertex: k for k, vertex in enumerate(graph.vertices)}
    edges = [
        Edge(number[e.source], number[e.target], e.multiplicity, e.is_reference)
        for e in graph.edges
    ]
    kmers = list(graph.vertices.values())
    texts = kmers[:1] + [kmer[-1] for kmer in kmers[1:]]
    if rules.is_unrolled:
        return _all_walks(texts, edges, number[graph.sink], max_haplotypes)
    return _kept_paths(texts, edges, number[graph.sink], max_haplotypes)


def _all_walks(
    texts: list[str], edges: list[Edge], sink: int, max_haplotypes: int
) -> tuple[str, list[str]]:
    steps: dict[int, list[Step]] = {vertex: [] for vertex in range(len(texts))}
    for edge in edges:
        if edge.source != sink:  # paths end there
            steps[edge.source].append(Step(edge.target, edge.is_reference))
    found = walks(steps, 0, sink, max_haplotypes)
    if found is None:
        return UNKNOWN, []
    return "ready", ["".join(texts[vertex] for vertex in walk) for walk in found]


def _kept_paths(
    texts: list[str], edges: list[Edge], sink: int, max_haplotypes: int
) -> tuple[str, list[str]]:
    graph = plain_of(texts, edges)
    if has_cycle(graph):
        return UNKNOWN, []
    before = {path.bases for path in all_paths(graph, 0, sink)}
    simplify(graph)
    sources = [v for v in graph.vertices if graph.starts_reference(v)]
    sinks = [v for v in graph.vertices if graph.ends_reference(v)]
    if len(graph.vertices) == 1:
        sources = sinks = list(graph.vertices)
    if len(sources) != 1 or len(sinks) != 1:
        return UNKNOWN, []
    ends = sources[0], sinks[0]
    count = len(all_paths(graph, *ends))
    if count <= max_haplotypes:
        return "ready", list(before)
    paths, is_defined = best_paths(graph, *ends, max_haplotypes)
    return "limited" if is_defined else UNKNOWN, [path.bases for path in paths]


@dataclass
class _Tries:
    """The results of the k that were tried."""

    region: Region
    options: AssemblyOptions
    strings: set[str] = field(default_factory=set)
    statuses: list[str] = field(default_factory=list)

    @property
    def has_result(self) -> bool:
        return bool(RESULTS & set(self.statuses))

    def add(self, k: int, *, is_last: bool, is_unrolled: bool = False) -> str:
        """Try a k; a limited graph adds its strings only if no k has a result."""
        rules = Rules(
            k,
            is_last,
            self.options.min_pruning,
            is_unrolled=is_unrolled,
            recovers_all=self.options.recovers_all_branches,
        )
        status, strings = result_of(self.region, rules, self.options.max_haplotypes)
        is_larger = k > max(self.options.kmer_sizes) and not is_unrolled
        if not (status == "limited" and is_larger and self.has_result):
            self.strings.update(strings)
        self.statuses.append(status)
        return status


def plain_assembly(region: Region, options: AssemblyOptions) -> PlainAssembly | None:
    """Assemble an active region; None if these rules do not tell the result."""
    tries = _Tries(region, options)
    for k in options.kmer_sizes:
        tries.add(k, is_last=False)
    is_cyclic = tries.statuses[-1] == "cyclic" and not options.is_strict
    larger = [max(options.kmer_sizes) + 10 * step for step in range(1, 7)]
    if not is_cyclic:
        _try_larger(tries, larger)
    flags = 0
    if not options.is_strict and (is_cyclic or not tries.has_result):
        flags |= UNROLLED
        for k in [max(options.kmer_sizes), *larger]:
            if tries.add(k, is_last=k == larger[-1], is_unrolled=True) != "failed":
                break
    if UNKNOWN in tries.statuses:
        return None
    flags |= 0 if tries.has_result else NOT_ASSEMBLED
    flags |= AT_LIMIT if "limited" in tries.statuses else 0
    return PlainAssembly(tries.strings - {region.reference}, flags)


def _try_larger(tries: _Tries, larger: list[int]) -> None:
    """Without a result, try larger k until there is one; at a limit, until a graph has none."""
    for k in larger:
        is_at_limit = "limited" in tries.statuses and not tries.options.is_strict
        if tries.has_result and not is_at_limit:
            return
        if tries.add(k, is_last=k == larger[-1]) == "ready":
            return
