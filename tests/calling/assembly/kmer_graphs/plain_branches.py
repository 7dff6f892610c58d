"""Dangling ends in plain Python, after AbstractReadThreadingGraph of broadinstitute/gatk."""

from __future__ import annotations

from collections.abc import Callable

from hapgpu.realign.scoring import Overhang, Scoring
from tests.calling.assembly.kmer_graphs.plain_graph import (
    Edge,
    PlainGraph,
    PlainRead,
    Rules,
    has_cycle,
    keep_between,
    prune,
    repeated,
    threaded,
)
from tests.realign.align.reference import align_reference

SCORING = Scoring(match=25, mismatch=-50, gap_open=-110, gap_extend=-6)


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


def heaviest(edges: list[Edge]) -> Edge:
    """Return the edge with most reads; ties: the first."""
    return max(edges, key=lambda edge: edge.multiplicity)


def follows_reference(graph: PlainGraph, vertex: int) -> bool:
    return any(edge.is_reference for edge in graph.in_edges(vertex))


def ends_tail(graph: PlainGraph, vertex: int) -> bool:
    if graph.rules.recovers_all:
        return follows_reference(graph, vertex) or not graph.in_edges(vertex)
    return len(graph.in_edges(vertex)) != 1 or len(graph.out_edges(vertex)) >= 2


def recover_tail(graph: PlainGraph, tail: int) -> str:
    """Recover a tail; return its CIGAR, and + and its distance from the new edge if joined."""
    path = walk(
        graph,
        tail,
        lambda v: ends_tail(graph, v),
        lambda v: heaviest(graph.in_edges(v)),
        lambda edge: edge.source,
    )
    if len(path) < max(graph.rules.min_tail, 1) + 1 or path[0] == 0:
        return ""
    if len(graph.out_edges(path[0])) < 2:
        return ""
    if graph.rules.recovers_all and not follows_reference(graph, path[0]):
        return ""
    down = path_down(graph, path[0], heaviest(graph.in_edges(path[1])))
    if not down:
        return ""
    reference = "".join(graph.vertices[v][-1] for v in down)
    branch = "".join(graph.vertices[v][-1] for v in path)
    cigar = branch_cigar(reference, branch)
    text = "".join(f"{length}{operation}" for length, operation in cigar)
    joint = tail_joint(reference, branch, cigar, graph.rules)
    if joint is None:
        return text
    at, to = joint
    graph.new_edge(path[at], down[to], is_reference=False)
    return f"{text}+{len(path) - 1 - at}"


def tail_joint(
    reference: str, branch: str, cigar: list[tuple[int, str]], rules: Rules
) -> tuple[int, int] | None:
    """Return the vertices to be joined, as offsets of both paths."""
    if not 1 <= len(cigar) <= 3 or cigar[-1][1] != "M":
        return None
    used = reference[: sum(length for length, operation in cigar if operation != "I")]
    longest = min(len(used), len(branch), cigar[-1][0])
    matching = max(n for n in range(longest + 1) if n == 0 or used[-n:] == branch[-n:])
    if matching < (rules.min_matching if rules.min_matching >= 0 else 1):
        return None
    at = max(sum(length for length, operation in cigar if operation != "D") - matching - 1, 0)
    to = len(used) - matching
    if cigar[0][1] == "D" and cigar[0][0] + matching == len(used):
        to += 1
    return (at, to) if 0 < to < len(reference) else None


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


def ends_head(graph: PlainGraph, vertex: int) -> bool:
    edges = len(graph.out_edges(vertex))
    return edges == 0 if graph.rules.recovers_all else edges != 1


def recover_head(graph: PlainGraph, head: int) -> str:
    """Recover a head; return its CIGAR, and a + if it could be joined."""
    path = walk(
        graph,
        head,
        lambda v: graph.touches_reference(v) or ends_head(graph, v),
        lambda v: heaviest(graph.out_edges(v)),
        lambda edge: edge.target,
    )
    if len(path) < graph.rules.min_head + 1 or path[0] == graph.sink:
        return ""
    up = path_up(graph, path[0]) if graph.touches_reference(path[0]) else []
    if not up:
        return ""
    reference, branch = bases_up(graph, up), bases_up(graph, path)
    cigar = branch_cigar(reference, branch)
    text = "".join(f"{length}{operation}" for length, operation in cigar)
    if not 1 <= len(cigar) <= 3 or cigar[0][1] != "M":
        return text
    on_reference, on_branch = head_joint(reference, branch, cigar, graph.rules)
    if on_reference <= 0 or on_branch <= 0 or on_reference >= len(up) - 1:
        return text
    if on_branch >= len(path) and not _extend(graph, path, up, cigar, on_branch):
        return text
    graph.new_edge(up[on_reference + 1], path[on_branch], is_reference=False)
    return text + "+"


def head_joint(
    reference: str, branch: str, cigar: list[tuple[int, str]], rules: Rules
) -> tuple[int, int]:
    """Return the offsets of the mismatch beyond which a head is joined; (-1, -1) for none."""
    if rules.min_matching < 0:
        differing = [at for at in range(cigar[0][0]) if reference[at] != branch[at]]
        if not differing or len(differing) > max(1, cigar[0][0] // rules.k):
            return -1, -1
        return differing[-1], differing[-1]
    on_reference = sum(length for length, operation in cigar if operation != "I") - 1
    on_branch = len(branch) - 1
    left = cigar[-1][0] if cigar[-1][1] == "M" else 0
    while left and reference[on_reference] == branch[on_branch]:
        left, on_reference, on_branch = left - 1, on_reference - 1, on_branch - 1
    if len(branch) - 1 - on_branch < rules.min_matching:
        return -1, -1
    return on_reference, on_branch


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
    edge = heaviest(graph.out_edges(source))
    graph.remove_edge(edge)
    below = edge.target
    for start in range(added, 0, -1):
        vertex = graph.new_vertex(text[start : start + graph.rules.k])
        graph.new_edge(vertex, below, is_reference=False, multiplicity=edge.multiplicity)
        path.append(vertex)
        below = vertex
    return True


def recover_ends(graph: PlainGraph) -> list[str]:
    """Recover tails, then heads; return what `recover_tail` and `recover_head` did."""
    done = [
        recover_tail(graph, vertex)
        for vertex in list(graph.vertices)
        if not graph.out_edges(vertex) and vertex != graph.sink
    ]
    heads = [v for v in graph.vertices if not graph.in_edges(v) and v != 0]
    return done + [recover_head(graph, head) for head in heads]


def assembled(
    reference: str, reads: list[PlainRead], rules: Rules
) -> tuple[str, PlainGraph | None]:
    """Return "short", "failed", "cyclic" or "ready", and the graph if it is ready."""
    if len(reference) <= rules.k:
        return "short", None
    if not rules.is_last_try and repeated(reference, rules.k):
        return "failed", None
    graph = threaded(reference, reads, rules)
    prune(graph)
    if not rules.is_unrolled and has_cycle(graph):
        return "cyclic", None
    if not (rules.is_unrolled or rules.is_last_try) and 4 * len(graph.non_unique) > len(
        graph.unique
    ):
        return "failed", None
    recover_ends(graph)
    keep_between(graph)
    if rules.recovers_all and not rules.is_unrolled and has_cycle(graph):
        return "failed", None
    return "ready", graph
