"""Recovery of dangling tails: branches that leave the graph and do not come back.

The rules are those of GATK's AbstractReadThreadingGraph.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import Graph, add_edge, last_base
from hapgpu.calling.assembly.kmers import GraphRules
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH
from hapgpu.realign.scoring import PRESETS
from hapgpu.runtime.jit import njit, njit_inlined

_EQUAL, _DIFFERENT, _GAP_OPEN, _GAP_EXTEND = PRESETS["standard-ngs"].weights
_UNREACHABLE: Final = -(2**30)

MAX_ELEMENTS: Final = 3
"""Branches whose CIGAR has more elements are not recovered."""


@njit
def count_tails(graph: Graph, sink: Integer) -> Integer:
    """Return the number of dangling tails."""
    count = 0
    for vertex in range(graph.counts[0]):
        if (
            graph.vertices[vertex].is_vertex
            and graph.vertices[vertex].out_degree == 0
            and vertex != sink
        ):
            count += 1
    return count


@njit
def recover_tails(graph: Graph, source: Integer, sink: Integer, rules: GraphRules) -> Integer:
    """Join dangling tails to the reference path; return how many.

    The graph needs room for an edge per tail. `source` and `sink` are the ends of the reference.
    """
    recovered = 0
    for vertex in range(graph.counts[0]):
        if (
            graph.vertices[vertex].is_vertex
            and graph.vertices[vertex].out_degree == 0
            and vertex != sink
        ):
            tail = aligned_tail(graph, vertex, source, rules)
            recovered += _join_tail(graph, tail, rules.min_matching)
    return recovered


@njit
def aligned_tail(
    graph: Graph, vertex: Integer, source: Integer, rules: GraphRules
) -> AlignedBranch:
    """Align a tail to the reference path from the vertex where it branches off."""
    path = np.empty(graph.counts[0] + 1, np.int32)
    length = _tail_path(graph, vertex, rules, path)
    if length <= max(rules.min_tail, 1) or path[0] == source:
        return no_branch(path)
    reference_path = _path_down(graph, path)
    if reference_path.size == 0:
        return no_branch(path)
    bases = _last_bases(graph, path, length)
    reference = _last_bases(graph, reference_path, reference_path.size)
    return AlignedBranch(
        path, length, reference_path, bases, reference, branch_cigar(reference, bases)
    )


@njit
def _tail_path(
    graph: Graph, vertex: Integer, rules: GraphRules, path: NDArray[np.int32]
) -> Integer:
    """Go up from the end of a tail to where it branches off; return the length of the path.

    An edge of low multiplicity empties the path so far. 0 if no branch is found. If all branches
    are recovered, the path goes on to the reference, along the heaviest edges.
    """
    length, steps = 0, 0
    while _goes_up(graph, vertex, rules.recovers_all):
        edge = heaviest_in(graph, vertex)
        if graph.edges[edge].pruning_multiplicity < rules.min_pruning:
            length = 0
        else:
            path[length] = vertex
            length += 1
        vertex = np.int64(graph.edges[edge].source)
        steps += 1
        if steps > graph.counts[0]:  # a loop: GATK gives up too
            return 0
    if graph.vertices[vertex].out_degree < 2:
        return 0
    if rules.recovers_all and not _is_after_reference(graph, vertex):
        return 0
    path[length] = vertex
    length += 1
    reverse(path, length)
    return length


@njit_inlined
def _goes_up(graph: Graph, vertex: Integer, recovers_all: Integer) -> bool:
    """Tell whether the path of a tail goes on above a vertex."""
    degree = graph.vertices[vertex].in_degree
    if recovers_all:
        return bool(degree > 0 and not _is_after_reference(graph, vertex))
    return bool(degree == 1 and graph.vertices[vertex].out_degree < 2)


@njit
def _is_after_reference(graph: Graph, vertex: Integer) -> bool:
    """Tell whether an edge of the reference leads to a vertex."""
    edge = np.int64(graph.vertices[vertex].first_in)
    while edge >= 0 and not graph.edges[edge].is_reference:
        edge = np.int64(graph.edges[edge].next_in)
    return bool(edge >= 0)


@njit
def heaviest_in(graph: Graph, vertex: Integer) -> Integer:
    """Return the edge to a vertex with the highest multiplicity; ties: the first."""
    best = edge = np.int64(graph.vertices[vertex].first_in)
    while edge >= 0:
        if graph.edges[edge].multiplicity > graph.edges[best].multiplicity:
            best = edge
        edge = np.int64(graph.edges[edge].next_in)
    return best


@njit
def heaviest_out(graph: Graph, vertex: Integer) -> Integer:
    """Return the edge from a vertex with the highest multiplicity; ties: the first."""
    best = edge = np.int64(graph.vertices[vertex].first_out)
    while edge >= 0:
        if graph.edges[edge].multiplicity > graph.edges[best].multiplicity:
            best = edge
        edge = np.int64(graph.edges[edge].next_out)
    return best


@njit
def reverse(path: NDArray[np.int32], length: Integer) -> None:
    """Reverse path[:length], int32, in place."""
    for k in range(length // 2):
        path[k], path[length - 1 - k] = path[length - 1 - k], path[k]


@njit
def _path_down(graph: Graph, tail: NDArray[np.int32]) -> NDArray[np.int32]:
    """Follow the reference from the start of a tail; return the path, empty if it is endless.

    Without an edge of the reference, the only edge that is not the tail's is followed.
    """
    path = np.empty(graph.counts[0], np.int32)
    tail_edge = heaviest_in(graph, np.int64(tail[1]))
    vertex = np.int64(tail[0])
    length = 0
    while vertex >= 0:
        if length == path.size:
            return path[:0]
        path[length] = vertex
        length += 1
        edge = np.int64(graph.vertices[vertex].first_out)
        others = 0
        vertex = np.int64(-1)
        while edge >= 0:
            if graph.edges[edge].is_reference:
                others, vertex = 1, np.int64(graph.edges[edge].target)
                break
            if edge != tail_edge:
                others, vertex = others + 1, np.int64(graph.edges[edge].target)
            edge = np.int64(graph.edges[edge].next_out)
        if others != 1:
            break
    return path[:length]


@njit
def _last_bases(graph: Graph, path: NDArray[np.int32], length: Integer) -> NDArray[np.uint8]:
    """Return the last base of each vertex of a path."""
    bases = np.empty(length, np.uint8)
    for k in range(length):
        bases[k] = last_base(graph, path[k])
    return bases


@njit
def _join_tail(graph: Graph, tail: AlignedBranch, min_matching: Integer) -> Integer:
    """Add the edge from a tail to the reference path, if it aligns well; return 1 then, else 0."""
    cigar = tail.cigar
    last = cigar.size - 1
    if cigar.size < 1 or cigar.size > MAX_ELEMENTS or (cigar[last] & 15) != MATCH:
        return 0
    reference_last = bases_of(cigar, INSERTION) - 1
    matching = 0
    while (
        matching < min(int(cigar[last] >> 4), tail.length)
        and tail.reference[reference_last - matching] == tail.bases[tail.length - 1 - matching]
    ):
        matching += 1
    if matching < (min_matching if min_matching >= 0 else 1):
        return 0
    at = max(bases_of(cigar, DELETION) - matching - 1, 0)
    to = reference_last - matching + 1
    if (cigar[0] & 15) == DELETION and (cigar[0] >> 4) + matching == reference_last + 1:
        to += 1
    if to == 0 or to >= tail.reference_path.size:
        return 0
    add_edge(graph, np.int64(tail.path[at]), np.int64(tail.reference_path[to]), 1)
    return 1


class AlignedBranch(NamedTuple):
    """A dangling branch, aligned to the path of the reference beside it.

    Both paths begin at the vertex that they share.

    Attributes
    ----------
    path, reference_path
        int32: vertices; of `path` the first `length` count. All empty if there is no branch.
    bases, reference
        uint8: bases of both.
    cigar
        uint32 in BAM encoding.
    """

    path: NDArray[np.int32]
    length: Integer
    reference_path: NDArray[np.int32]
    bases: NDArray[np.uint8]
    reference: NDArray[np.uint8]
    cigar: NDArray[np.uint32]


@njit
def no_branch(path: NDArray[np.int32]) -> AlignedBranch:
    """Return a branch without vertices; `path`, int32[v], stays unused."""
    no_bases = np.empty(0, np.uint8)
    return AlignedBranch(path, 0, path[:0], no_bases, no_bases, np.empty(0, np.uint32))


@njit
def bases_of(cigar: NDArray[np.uint32], excluded: Integer) -> Integer:
    """Return the summed length of the elements except those of one operation.

    `cigar` is uint32 in BAM encoding.
    """
    total = np.int64(0)
    for element in cigar:
        if (element & 15) != excluded:
            total += np.int64(element >> 4)
    return total


@njit
def branch_cigar(reference: NDArray[np.uint8], query: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Align the query from end to end to a prefix of the reference.

    Parameters
    ----------
    reference, query
        uint8 text, not empty.

    Returns
    -------
    uint32 in BAM encoding: operations M, I and D, without a D at the end.
    """
    width = query.size + 1
    steps = np.zeros((reference.size + 1) * width, np.int32)
    row = _fill(reference, query, steps)
    runs = np.empty(reference.size + query.size, np.uint32)
    count: Integer = 0
    column = np.int64(query.size)
    while row > 0 and column > 0:
        step = np.int64(steps[row * width + column])
        if step > 0:
            count = _lengthen(runs, count, step, DELETION)
            row -= step
        elif step < 0:
            count = _lengthen(runs, count, -step, INSERTION)
            column += step
        else:
            count = _lengthen(runs, count, 1, MATCH)
            row -= 1
            column -= 1
    if row > 0:
        count = _lengthen(runs, count, row, DELETION)
    elif column > 0:
        count = _lengthen(runs, count, column, INSERTION)
    first = 1 if (runs[0] & 15) == DELETION else 0
    cigar = np.empty(count - first, np.uint32)
    for k in range(first, count):
        cigar[count - 1 - k] = runs[k]
    return cigar


@njit
def _fill(
    reference: NDArray[np.uint8], query: NDArray[np.uint8], steps: NDArray[np.int32]
) -> Integer:
    """Fill the steps: 0 diagonal, k a deletion, -k an insertion of k bases; return the end row."""
    width = query.size + 1
    scores = np.empty(width, np.int32)
    deletions = np.full(width, _UNREACHABLE, np.int32)
    deletion_lengths = np.zeros(width, np.int32)
    for j in range(width):
        scores[j] = _border(j)
    best, best_row = np.int64(_UNREACHABLE), np.int64(0)
    for i in range(1, reference.size + 1):
        diagonal = np.int64(scores[0])
        scores[0] = _border(i)
        insertion, insertion_length = np.int64(_UNREACHABLE), 0
        for j in range(1, width):
            matched = _EQUAL if reference[i - 1] == query[j - 1] else _DIFFERENT
            score, step = diagonal + matched, 0
            diagonal = np.int64(scores[j])
            deletion, length = np.int64(deletions[j]) + _GAP_EXTEND, deletion_lengths[j] + 1
            if diagonal + _GAP_OPEN > deletion:
                deletion, length = diagonal + _GAP_OPEN, 1
            deletions[j], deletion_lengths[j] = deletion, length
            insertion, insertion_length = insertion + _GAP_EXTEND, insertion_length + 1
            if scores[j - 1] + _GAP_OPEN > insertion:
                insertion, insertion_length = scores[j - 1] + _GAP_OPEN, 1
            if score < deletion or score < insertion:
                if insertion >= deletion:
                    score, step = insertion, -insertion_length
                else:
                    score, step = deletion, length
            scores[j] = score
            steps[i * width + j] = step
        if scores[query.size] >= best:
            best, best_row = np.int64(scores[query.size]), np.int64(i)
    return best_row


@njit_inlined
def _border(length: Integer) -> Integer:
    return 0 if length == 0 else _GAP_OPEN + (length - 1) * _GAP_EXTEND


@njit_inlined
def _lengthen(
    runs: NDArray[np.uint32], count: Integer, length: Integer, operation: Integer
) -> Integer:
    """Add a run, or lengthen the last one; return the number of runs."""
    if count > 0 and (runs[count - 1] & 15) == operation:
        runs[count - 1] += np.uint32(length << 4)
        return count
    runs[count] = (length << 4) | operation
    return count + 1
