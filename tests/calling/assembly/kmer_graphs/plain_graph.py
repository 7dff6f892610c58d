"""K-mer graphs in plain Python, by the rules of GATK: dicts and lists, and no speed.

After ReadThreadingGraph, AbstractReadThreadingGraph and LowWeightChainPruner of broadinstitute/gatk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hapgpu.realign.align.reference import align_reference
from hapgpu.realign.scoring import Overhang, Scoring

SCORING = Scoring(match=25, mismatch=-50, gap_open=-110, gap_extend=-6)


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
    edges: list[Edge] = field(default_factory=list)
    unique: dict[str, int] = field(default_factory=dict)
    non_unique: set[str] = field(default_factory=set)
    sink: int = -1
    added: int = 0

    def out_edges(self, vertex: int) -> list[Edge]:
        return [edge for edge in self.edges if edge.source == vertex]

    def in_edges(self, vertex: int) -> list[Edge]:
        return [edge for edge in self.edges if edge.target == vertex]

    def new_vertex(self, kmer: str) -> int:
        vertex = self.added
        self.added += 1
        self.vertices[vertex] = kmer
        return vertex

    def new_edge(self, source: int, target: int, is_reference: bool, multiplicity: int = 1) -> None:
        if all(edge.target != target for edge in self.out_edges(source)):
            self.edges.append(Edge(source, target, multiplicity, is_reference, [1], 1))

    def remove_vertex(self, vertex: int) -> None:
        self.unique.pop(self.vertices.pop(vertex), None)
        self.edges = [edge for edge in self.edges if vertex not in (edge.source, edge.target)]

    def touches_reference(self, vertex: int) -> bool:
        return any(edge.is_reference for edge in self.in_edges(vertex) + self.out_edges(vertex))


def repeated(text: str, k: int) -> set[str]:
    """Return the k-mers that a text has twice."""
    kmers = [text[at : at + k] for at in range(len(text) - k + 1)]
    return {kmer for kmer in kmers if kmers.count(kmer) > 1}


# Threading.


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
    thread(graph, reference, 0, len(reference), is_reference=True)
    flush(graph)
    for sequences in samples.values():
        for text, start, end in sequences:
            thread(graph, text, start, end, is_reference=False)
        flush(graph)
    return graph


# Pruning and cycles.


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
            graph.edges = [edge for edge in graph.edges if edge not in chain]
    for vertex in list(graph.vertices):
        if not graph.in_edges(vertex) and not graph.out_edges(vertex):
            graph.remove_vertex(vertex)
    return len(found)


def has_cycle(graph: PlainGraph) -> bool:
    left = set(graph.vertices)
    while left:
        free = {v for v in left if not any(edge.source in left for edge in graph.in_edges(v))}
        if not free:
            return True
        left -= free
    return False


# Dangling ends.


def walk(
    graph: PlainGraph,
    vertex: int,
    is_done: Callable[[int], bool],
    edge_of: Callable[[int], Edge],
    end_of: Callable[[Edge], int],
) -> list[int]:
    """Return the path from the end of a branch, the last vertex first; empty for a loop."""
    path: list[int] = []
    steps = 0
    while not is_done(vertex):
        edge = edge_of(vertex)
        if edge.pruning_multiplicity < graph.rules.min_pruning:
            path = []
        else:
            path.insert(0, vertex)
        vertex = end_of(edge)
        steps += 1
        if vertex in path or steps > len(graph.vertices):
            return []
    return [vertex, *path]


def branch_cigar(reference: str, branch: str) -> list[tuple[int, str]]:
    cigar = align_reference(
        reference.encode(), branch.encode(), SCORING, Overhang.LEADING_INDEL
    ).cigar
    return cigar[:-1] if cigar[-1][1] == "D" else cigar


def path_down(graph: PlainGraph, start: int, avoided: Edge) -> list[int]:
    path, vertex = [], start
    while True:
        path.append(vertex)
        if len(path) > len(graph.vertices):
            return []
        edges = graph.out_edges(vertex)
        on_reference = [edge for edge in edges if edge.is_reference]
        others = [edge for edge in edges if edge is not avoided]
        if on_reference:
            vertex = on_reference[0].target
        elif len(others) == 1:
            vertex = others[0].target
        else:
            return path


def recover_tail(graph: PlainGraph, tail: int) -> str:
    """Recover a tail; return its CIGAR, and a `+` if it could be joined."""
    rules = graph.rules
    path = walk(
        graph,
        tail,
        lambda v: len(graph.in_edges(v)) != 1 or len(graph.out_edges(v)) >= 2,
        lambda v: graph.in_edges(v)[0],
        lambda edge: edge.source,
    )
    if not path or len(graph.out_edges(path[0])) < 2 or path[0] == 0:
        return ""
    if len(path) < max(rules.min_tail, 1) + 1:
        return ""
    down = path_down(graph, path[0], graph.in_edges(path[1])[0])
    if not down:
        return ""
    reference = "".join(graph.vertices[v][-1] for v in down)
    branch = "".join(graph.vertices[v][-1] for v in path)
    cigar = branch_cigar(reference, branch)
    text = "".join(f"{length}{operation}" for length, operation in cigar)
    if not 1 <= len(cigar) <= 3 or cigar[-1][1] != "M":
        return text
    last = sum(length for length, operation in cigar if operation != "I") - 1
    matching = 0
    while (
        matching < min(cigar[-1][0], len(branch))
        and reference[last - matching] == branch[len(branch) - 1 - matching]
    ):
        matching += 1
    if matching < max(rules.min_matching, 0 if rules.min_matching >= 0 else 1):
        return text
    at = max(sum(length for length, operation in cigar if operation != "D") - matching - 1, 0)
    to = last - matching + 1
    if cigar[0][1] == "D" and cigar[0][0] + matching == last + 1:
        to += 1
    if to == 0 or to >= len(down):
        return text
    graph.new_edge(path[at], down[to], is_reference=False)
    return f"{text}+{len(path) - 1 - at}"


def bases_up(graph: PlainGraph, path: list[int]) -> str:
    return "".join(
        graph.vertices[v][-1] if graph.in_edges(v) else graph.vertices[v][::-1] for v in path
    )


def path_up(graph: PlainGraph, start: int) -> list[int]:
    path = [start]
    while len(path) <= len(graph.vertices):
        sources = [edge.source for edge in graph.in_edges(path[-1])]
        above = [vertex for vertex in sources if graph.touches_reference(vertex)]
        if not above:
            return path
        path.append(above[0])
    return []


def recover_head(graph: PlainGraph, head: int) -> str:
    """Recover a head; return its CIGAR, and a `+` if it could be joined."""
    rules = graph.rules
    path = walk(
        graph,
        head,
        lambda v: graph.touches_reference(v) or len(graph.out_edges(v)) != 1,
        lambda v: graph.out_edges(v)[0],
        lambda edge: edge.target,
    )
    if not path or not graph.touches_reference(path[0]) or path[0] == graph.sink:
        return ""
    if len(path) < rules.min_head + 1:
        return ""
    up = path_up(graph, path[0])
    if not up:
        return ""
    reference, branch = bases_up(graph, up), bases_up(graph, path)
    cigar = branch_cigar(reference, branch)
    text = "".join(f"{length}{operation}" for length, operation in cigar)
    if not 1 <= len(cigar) <= 3 or cigar[0][1] != "M":
        return text
    if rules.min_matching < 0:
        compared = range(cigar[0][0])
        differing = [at for at in compared if reference[at] != branch[at]]
        if not differing or len(differing) > max(1, cigar[0][0] // rules.k):
            return text
        on_reference = on_branch = differing[-1]
    else:
        on_reference = sum(length for length, operation in cigar if operation != "I") - 1
        on_branch = len(branch) - 1
        left = cigar[-1][0] if cigar[-1][1] == "M" else 0
        while left and reference[on_reference] == branch[on_branch]:
            left, on_reference, on_branch = left - 1, on_reference - 1, on_branch - 1
        if len(branch) - 1 - on_branch < rules.min_matching:
            return text
    if on_reference <= 0 or on_branch <= 0 or on_reference >= len(up) - 1:
        return text
    if on_branch >= len(path) and not _extend(graph, path, up, cigar, on_branch):
        return text
    graph.new_edge(up[on_reference + 1], path[on_branch], is_reference=False)
    return text + "+"


def _extend(
    graph: PlainGraph, path: list[int], up: list[int], cigar: list[tuple[int, str]], at: int
) -> bool:
    added = at - len(path) + 2
    shift = sum({"D": length, "I": -length}.get(operation, 0) for length, operation in cigar)
    index = len(path) - 1 + shift + added
    if not 0 <= index < len(up):
        return False
    source = path.pop()
    text = graph.vertices[up[index]][:added] + graph.vertices[source]
    (edge,) = graph.out_edges(source)
    graph.edges = [other for other in graph.edges if other is not edge]
    below = edge.target
    for start in range(added, 0, -1):
        vertex = graph.new_vertex(text[start : start + graph.rules.k])
        graph.new_edge(vertex, below, is_reference=False, multiplicity=edge.multiplicity)
        path.append(vertex)
        below = vertex
    return True


def recover_ends(graph: PlainGraph) -> list[str]:
    """Recover tails, then heads; return what `recover_tail` and `recover_head` did."""
    done = []
    for vertex in list(graph.vertices):
        if not graph.out_edges(vertex) and vertex != graph.sink:
            done.append(recover_tail(graph, vertex))
    heads = [v for v in graph.vertices if not graph.in_edges(v) and v != 0]
    return done + [recover_head(graph, head) for head in heads]


def keep_between(graph: PlainGraph) -> None:
    after, before = {0}, {graph.sink}
    for _ in graph.vertices:
        after |= {edge.target for edge in graph.edges if edge.source in after}
        before |= {edge.source for edge in graph.edges if edge.target in before}
    for vertex in list(graph.vertices):
        if vertex not in after & before:
            graph.remove_vertex(vertex)


def assembled(
    reference: str, reads: list[PlainRead], rules: Rules
) -> tuple[str, PlainGraph | None]:
    """Return "short", "failed" or "ready", and the graph if it is ready."""
    if len(reference) <= rules.k:
        return "short", None
    if not rules.is_last_try and repeated(reference, rules.k):
        return "failed", None
    graph = threaded(reference, reads, rules)
    prune(graph)
    if has_cycle(graph):
        return "failed", None
    if not rules.is_last_try and 4 * len(graph.non_unique) > len(graph.unique):
        return "failed", None
    recover_ends(graph)
    keep_between(graph)
    return "ready", graph
