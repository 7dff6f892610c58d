"""Sequence graphs in plain Python: lists, copies, and no speed.

After SeqGraph, SharedVertexSequenceSplitter, CommonSuffixSplitter, SharedSequenceMerger and
GraphBasedKBestHaplotypeFinder of broadinstitute/gatk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key


@dataclass(frozen=True)
class Edge:
    """An edge between two vertices by number."""

    source: int
    target: int
    multiplicity: int = 1
    is_reference: bool = False


@dataclass
class PlainSequences:
    """A graph: vertices and edges in the order in which they were added."""

    vertices: dict[int, str] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    added: int = 0

    def new_vertex(self, sequence: str) -> int:
        self.vertices[self.added] = sequence
        self.added += 1
        return self.added - 1

    def link(self, edge: Edge, **changes: int) -> None:
        """Add a copy of an edge; a second edge leaves the first no more than its flag."""
        edge = replace(edge, **changes)
        for at, other in enumerate(self.edges):
            if (other.source, other.target) == (edge.source, edge.target):
                is_reference = other.is_reference or edge.is_reference
                self.edges[at] = replace(other, is_reference=is_reference)
                return
        self.edges.append(edge)

    def remove(self, vertex: int) -> None:
        del self.vertices[vertex]
        self.edges = [edge for edge in self.edges if vertex not in {edge.source, edge.target}]

    def into(self, vertex: int) -> list[Edge]:
        return [edge for edge in self.edges if edge.target == vertex]

    def out_of(self, vertex: int) -> list[Edge]:
        return [edge for edge in self.edges if edge.source == vertex]

    def sources(self, vertex: int) -> list[int]:
        return [edge.source for edge in self.into(vertex)]

    def targets(self, vertex: int) -> list[int]:
        return [edge.target for edge in self.out_of(vertex)]

    def is_on_reference(self, vertex: int) -> bool:
        return any(edge.is_reference for edge in self.into(vertex) + self.out_of(vertex))

    def starts_reference(self, vertex: int) -> bool:
        is_in = any(edge.is_reference for edge in self.into(vertex))
        return not is_in and any(edge.is_reference for edge in self.out_of(vertex))

    def ends_reference(self, vertex: int) -> bool:
        is_out = any(edge.is_reference for edge in self.out_of(vertex))
        return not is_out and any(edge.is_reference for edge in self.into(vertex))


def plain_of(sequences: Sequence[str], edges: Sequence[Edge]) -> PlainSequences:
    return PlainSequences(dict(enumerate(sequences)), list(edges), len(sequences))


def zip_chains(graph: PlainSequences) -> bool:
    starts = [
        vertex
        for vertex in graph.vertices
        if len(graph.targets(vertex)) == 1
        and (len(before := graph.sources(vertex)) != 1 or len(graph.targets(before[0])) > 1)
    ]
    is_changed = False
    for start in starts:
        chain = [start]
        while len(targets := graph.targets(chain[-1])) == 1:
            (target,) = targets
            if len(graph.sources(target)) != 1 or target == chain[-1]:
                break
            if graph.is_on_reference(target) != graph.is_on_reference(start):
                break
            chain.append(target)
        if len(chain) == 1:
            continue
        is_changed = True
        new = graph.new_vertex("".join(graph.vertices[vertex] for vertex in chain))
        for edge in graph.out_of(chain[-1]):
            graph.link(edge, source=new)
        for edge in graph.into(start):
            graph.link(edge, target=new)
        for vertex in chain:
            graph.remove(vertex)
    return is_changed


def _until_done(graph: PlainSequences, step: Callable[[PlainSequences, int], bool]) -> bool:
    """Try a step on the vertices in order, from the first again after each success."""
    is_changed = False
    while any(step(graph, vertex) for vertex in list(graph.vertices)):
        is_changed = True
    return is_changed


def common_prefix(sequences: Sequence[str]) -> str:
    length = 0
    for bases in zip(*sequences, strict=False):
        if len(set(bases)) > 1:
            break
        length += 1
    return sequences[0][:length]


def common_suffix(sequences: Sequence[str]) -> str:
    return common_prefix([sequence[::-1] for sequence in sequences])[::-1]


def bottom_of(graph: PlainSequences, top: int) -> int:
    """Return the vertex in which all edges out of one end after one vertex, or -1."""
    middles = graph.targets(top)
    bottoms = {target for middle in middles for target in graph.targets(middle)}
    if len(middles) < 2 or len(bottoms) != 1:
        return -1
    (bottom,) = bottoms
    if any(len(graph.targets(m)) != 1 or len(graph.sources(m)) != 1 for m in middles):
        return -1
    return bottom if len(graph.sources(bottom)) == len(middles) else -1


def merge_diamond(graph: PlainSequences, top: int) -> bool:
    middles, bottom = graph.targets(top), bottom_of(graph, top)
    if bottom < 0:
        return False
    texts = [graph.vertices[middle] for middle in middles]
    prefix = common_prefix(texts)
    suffix = common_suffix([text[len(prefix) :] for text in texts])
    if not prefix + suffix:
        return False
    branches = [(graph.into(m)[0], graph.out_of(m)[0]) for m in middles]
    rests = [text[len(prefix) : len(text) - len(suffix)] for text in texts]
    for middle in middles:
        graph.remove(middle)
    new = [graph.new_vertex(rest) if rest else -1 for rest in rests]
    direct = [e for pair, v in zip(branches, new, strict=True) if v < 0 for e in pair]
    is_direct = any(edge.is_reference for edge in direct)
    above, below = top, bottom
    if prefix:
        above = graph.new_vertex(prefix)
        graph.link(Edge(top, above, 1, is_direct or any(e.is_reference for e, _ in branches)))
    if suffix:
        below = graph.new_vertex(suffix)
        graph.link(Edge(below, bottom, 1, is_direct or any(e.is_reference for _, e in branches)))
    for (edge, _), vertex in zip(branches, new, strict=True):
        if vertex >= 0:
            graph.link(edge, source=above, target=vertex)
        else:
            total = sum(edge.multiplicity for edge in direct)
            graph.link(Edge(above, below, total, is_direct))
    for (_, edge), vertex in zip(branches, new, strict=True):
        if vertex >= 0:
            graph.link(edge, source=vertex, target=below)
    return True


def split_suffix(graph: PlainSequences, bottom: int) -> bool:
    middles = graph.sources(bottom)
    if len(middles) < 2 or bottom in middles or set(middles) & set(graph.targets(bottom)):
        return False
    if any(len(graph.targets(middle)) != 1 for middle in middles):
        return False
    suffix = common_suffix([graph.vertices[middle] for middle in middles])
    starts = [middle for middle in middles if graph.starts_reference(middle)]
    if not suffix or (starts and graph.vertices[starts[0]] == suffix):
        return False
    if all(graph.vertices[middle] == suffix for middle in middles):
        return False
    for middle in middles:
        (out,) = graph.out_of(middle)
        first = last = graph.new_vertex(suffix)
        if prefix := graph.vertices[middle].removesuffix(suffix):
            first = graph.new_vertex(prefix)
            graph.link(Edge(first, last, 1, out.is_reference))
        graph.link(out, source=last)
        for edge in graph.into(middle):
            graph.link(edge, target=first)
    for middle in middles:
        graph.remove(middle)
    return True


def split_suffixes(graph: PlainSequences) -> bool:
    is_split: set[int] = set()

    def step(graph: PlainSequences, vertex: int) -> bool:
        if vertex in is_split:
            return False
        is_split.add(vertex)
        return split_suffix(graph, vertex)

    return _until_done(graph, step)


def merge_suffix(graph: PlainSequences, bottom: int) -> bool:
    before = graph.sources(bottom)
    if len({graph.vertices[vertex] for vertex in before}) != 1:
        return False
    if any(len(graph.targets(v)) != 1 or not graph.sources(v) for v in before):
        return False
    new = graph.new_vertex(graph.vertices[before[0]] + graph.vertices[bottom])
    for vertex in before:
        for edge in graph.into(vertex):
            graph.link(edge, target=new)
    for edge in graph.out_of(bottom):
        graph.link(edge, source=new)
    for vertex in [*before, bottom]:
        graph.remove(vertex)
    return True


def simplify(graph: PlainSequences) -> None:
    zip_chains(graph)
    for _ in range(100):
        steps = (
            _until_done(graph, merge_diamond),
            split_suffixes(graph),
            _until_done(graph, merge_suffix),
            zip_chains(graph),
        )
        if not any(steps):
            return


def tree_of(graph: PlainSequences, source: int, sink: int) -> bool:
    """Remove cycles as GATK does; return whether the sink is reached."""
    visited: set[int] = set()
    edges: list[Edge] = []
    dead: list[int] = []

    def reaches(vertex: int) -> bool:
        if vertex == sink:
            return True
        visited.add(vertex)
        is_reached = False
        for edge in graph.out_of(vertex):
            if edge.target in visited:
                edges.append(edge)
            elif reaches(edge.target):
                is_reached = True
        if not is_reached:
            dead.append(vertex)
        return is_reached

    is_reached = reaches(source)
    graph.edges = [edge for edge in graph.edges if edge not in edges]
    for vertex in dead:
        graph.remove(vertex)
    return is_reached


def has_cycle(graph: PlainSequences) -> bool:
    left = dict(graph.vertices)
    while True:
        ready = [v for v in left if not any(source in left for source in graph.sources(v))]
        if not ready:
            return bool(left)
        for vertex in ready:
            del left[vertex]


@dataclass(frozen=True)
class Path:
    """A path from the source: its last vertex, its score and its bases."""

    vertex: int
    score: float
    bases: str


def _compare(one: Path, other: Path) -> int:
    if one.score != other.score:
        return -1 if one.score > other.score else 1
    return (one.bases < other.bases) - (one.bases > other.bases)


def extensions(graph: PlainSequences, path: Path) -> list[Path]:
    edges = graph.out_of(path.vertex)
    total = sum(edge.multiplicity for edge in edges)
    return [
        Path(
            edge.target,
            path.score + (math.log10(edge.multiplicity) - math.log10(total)),
            path.bases + graph.vertices[edge.target],
        )
        for edge in edges
    ]


def best_paths(
    graph: PlainSequences, source: int, sink: int, at_most: int
) -> tuple[list[Path], bool]:
    """Return the best paths, and whether their order is defined: no two have equal strings."""
    is_defined = True
    queue, found = [Path(source, 0.0, graph.vertices[source])], []
    visits = dict.fromkeys(graph.vertices, 0)
    while queue and len(found) < at_most:
        queue.sort(key=cmp_to_key(_compare))
        path = queue.pop(0)
        is_defined &= not queue or _compare(path, queue[0]) != 0
        if path.vertex == sink:
            found.append(path)
        elif visits[path.vertex] < at_most:
            visits[path.vertex] += 1
            queue += extensions(graph, path)
    return found, is_defined


def all_paths(graph: PlainSequences, source: int, sink: int) -> list[Path]:
    """Return all paths of a graph without cycles, in any order."""
    found, open_paths = [], [Path(source, 0.0, graph.vertices[source])]
    while open_paths:
        path = open_paths.pop()
        if path.vertex == sink:
            found.append(path)
        open_paths += extensions(graph, path)
    return found
