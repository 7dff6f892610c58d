"""Recovery of dangling heads: branches that enter the graph from nowhere.

The rules are those of GATK's AbstractReadThreadingGraph. Paths and bases run upwards: from the
vertex of the reference to the source of the branch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.dangling_tails import (
    MAX_ELEMENTS,
    AlignedBranch,
    bases_of,
    branch_cigar,
    heaviest_out,
    no_branch,
    reverse,
)
from hapgpu.calling.assembly.graph import (
    EDGES,
    Graph,
    add_edge,
    add_vertex,
    append_edge,
    remove_edge,
)
from hapgpu.calling.assembly.kmers import GraphRules
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH
from hapgpu.runtime.jit import njit


@njit
def dangling_heads(graph: Graph, source: Integer) -> NDArray[np.int32]:
    """Return int32[h]: the vertices without an edge in, except the source of the reference."""
    heads = np.empty(graph.counts[0], np.int32)
    count = 0
    for vertex in range(graph.counts[0]):
        if (
            graph.vertices[vertex].is_vertex
            and graph.vertices[vertex].in_degree == 0
            and vertex != source
        ):
            heads[count] = vertex
            count += 1
    return heads[:count]


@njit
def recover_heads(
    graph: Graph, heads: NDArray[np.int32], sink: Integer, rules: GraphRules
) -> Integer:
    """Join dangling `heads`, int32[h], to the reference path; return how many.

    The graph needs room for k vertices, k + 1 edges and 2 * k bases per head. `sink` is the end of
    the reference.
    """
    recovered = 0
    for vertex in heads:
        head = aligned_head(graph, vertex, sink, rules)
        recovered += _join_head(graph, head, rules)
    return recovered


@njit
def aligned_head(graph: Graph, vertex: Integer, sink: Integer, rules: GraphRules) -> AlignedBranch:
    """Align a head to the path of the reference up from the vertex where it joins it."""
    path = np.empty(graph.counts[0] + rules.k + 1, np.int32)
    length = _head_path(graph, vertex, rules, path)
    if length <= max(rules.min_head, 0) or path[0] == sink:
        return no_branch(path)
    reference_path = _path_up(graph, path[0])
    if reference_path.size == 0:
        return no_branch(path)
    bases = _bases_up(graph, path, length, rules.k)
    reference = _bases_up(graph, reference_path, reference_path.size, rules.k)
    return AlignedBranch(
        path, length, reference_path, bases, reference, branch_cigar(reference, bases)
    )


@njit
def _head_path(
    graph: Graph, vertex: Integer, rules: GraphRules, path: NDArray[np.int32]
) -> Integer:
    """Go down from a head to the reference; return the length of the path, 0 if there is none.

    An edge of low multiplicity empties the path so far. Where the path forks, it follows the
    heaviest edge if all branches are recovered, else there is none.
    """
    length, steps = 0, 0
    most = graph.counts[EDGES] if rules.recovers_all else 1
    is_reference = _touches_reference(graph, vertex)
    while not is_reference and 1 <= graph.vertices[vertex].out_degree <= most:
        edge = heaviest_out(graph, vertex)
        if graph.edges[edge].pruning_multiplicity < rules.min_pruning:
            length = 0
        else:
            path[length] = vertex
            length += 1
        vertex = np.int64(graph.edges[edge].target)
        is_reference = _touches_reference(graph, vertex)
        steps += 1
        if steps > graph.counts[0]:  # a loop: GATK gives up too
            return 0
    if not is_reference:
        return 0
    path[length] = vertex
    length += 1
    reverse(path, length)
    return length


@njit
def _touches_reference(graph: Graph, vertex: Integer) -> bool:
    """Tell whether an edge of a vertex is on the reference."""
    edge = graph.vertices[vertex].first_in
    while edge >= 0:
        if graph.edges[edge].is_reference:
            return True
        edge = graph.edges[edge].next_in
    edge = graph.vertices[vertex].first_out
    while edge >= 0:
        if graph.edges[edge].is_reference:
            return True
        edge = graph.edges[edge].next_out
    return False


@njit
def _path_up(graph: Graph, start: Integer) -> NDArray[np.int32]:
    """Follow the first edges in from vertices of the reference; empty for an endless path."""
    path = np.empty(graph.counts[0], np.int32)
    length = 0
    vertex = np.int64(start)
    while vertex >= 0:
        if length == path.size:
            return path[:0]
        path[length] = vertex
        length += 1
        edge = np.int64(graph.vertices[vertex].first_in)
        while edge >= 0 and not _touches_reference(graph, graph.edges[edge].source):
            edge = np.int64(graph.edges[edge].next_in)
        vertex = np.int64(graph.edges[edge].source) if edge >= 0 else np.int64(-1)
    return path[:length]


@njit
def _bases_up(
    graph: Graph, path: NDArray[np.int32], length: Integer, k: Integer
) -> NDArray[np.uint8]:
    """Return the last base of each vertex; of one without an edge in, the whole k-mer reversed."""
    bases = np.empty(length * k, np.uint8)
    count = 0
    for at in range(length):
        vertex = path[at]
        end = graph.vertices[vertex].text_end
        for back in range(1, k + 1 if graph.vertices[vertex].in_degree == 0 else 2):
            bases[count] = graph.text[end - back]
            count += 1
    return bases[:count]


@njit
def _join_head(graph: Graph, head: AlignedBranch, rules: GraphRules) -> Integer:
    """Add the edge from the reference path to a head, if it aligns well; return 1 then, else 0."""
    cigar = head.cigar
    if cigar.size < 1 or cigar.size > MAX_ELEMENTS or (cigar[0] & 15) != MATCH:
        return 0
    if rules.min_matching >= 0:
        at_reference, at = _first_mismatch(head, rules.min_matching)
    else:
        at = _last_mismatch(head, rules.k)
        at_reference = at
    if at <= 0 or at_reference <= 0 or at_reference >= head.reference_path.size - 1:
        return 0
    if at >= head.length:
        shift = bases_of(cigar, INSERTION) - bases_of(cigar, DELETION)
        added = at - head.length + 2
        from_reference = head.length - 1 + shift + added
        if from_reference < 0 or from_reference >= head.reference_path.size:
            return 0
        _extend(graph, head, np.int64(head.reference_path[from_reference]), added, rules.k)
    add_edge(graph, np.int64(head.reference_path[at_reference + 1]), np.int64(head.path[at]), 1)
    return 1


@njit
def _last_mismatch(head: AlignedBranch, k: Integer) -> Integer:
    """Return the last mismatch in the first M; -1 if there is none, or there are too many."""
    length = np.int64(head.cigar[0] >> 4)
    mismatches, last = 0, np.int64(-1)
    for at in range(length):
        if head.reference[at] != head.bases[at]:
            mismatches += 1
            last = np.int64(at)
    return last if mismatches <= max(1, length // k) else np.int64(-1)


@njit
def _first_mismatch(head: AlignedBranch, min_matching: Integer) -> tuple[Integer, Integer]:
    """Return where the bases differ first, from the start of the branch on; -1 if too soon.

    Only the last element of the CIGAR counts, if it is an M. The offsets are those in the
    reference and in the branch.
    """
    at_reference = bases_of(head.cigar, INSERTION) - 1
    at = np.int64(head.bases.size - 1)
    last = head.cigar[head.cigar.size - 1]
    left = np.int64(last >> 4) if (last & 15) == MATCH else np.int64(0)
    while left > 0 and head.reference[at_reference] == head.bases[at]:
        at_reference -= 1
        at -= 1
        left -= 1
    if head.bases.size - 1 - at < min_matching:
        return np.int64(-1), np.int64(-1)
    return at_reference, at


@njit
def _extend(
    graph: Graph, head: AlignedBranch, reference_vertex: Integer, added: Integer, k: Integer
) -> None:
    """Replace the source of a head by `added` vertices, with bases of a k-mer of the reference."""
    last = head.length - 1
    old = head.path[last]
    at = np.int64(graph.counts[2])
    graph.counts[2] = at + added + k
    for base in range(added):
        graph.text[at + base] = graph.text[graph.vertices[reference_vertex].text_start + base]
    for base in range(k):
        graph.text[at + added + base] = graph.text[graph.vertices[old].text_start + base]
    edge = heaviest_out(graph, np.int64(old))
    below: Integer = np.int64(graph.edges[edge].target)
    multiplicity = np.int64(graph.edges[edge].multiplicity)
    remove_edge(graph, edge)
    for step in range(added):
        start = at + added - step
        vertex = add_vertex(graph, start, start + k)
        new_edge = append_edge(graph, vertex, below, multiplicity)
        graph.edges[new_edge].pruning_multiplicity = 1
        head.path[last + step] = vertex
        below = vertex
