"""Recovery of dangling tails: branches that leave the graph and do not come back.

The rules are those of GATK's AbstractReadThreadingGraph.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.assembly.graph import Graph, add_edge, last_base
from hapgpu.calling.assembly.kmer_graphs.branch_alignment import branch_cigar
from hapgpu.calling.assembly.kmer_graphs.inputs import GraphRules
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH
from hapgpu.runtime.jit import njit

MAX_ELEMENTS: Final = 3
"""Branches whose CIGAR has more elements are not recovered."""


@njit
def count_tails(graph: Graph, sink: Integer) -> Integer:
    """Return the number of dangling tails."""
    count = 0
    for vertex in range(graph.counts[0]):
        if graph.is_vertex[vertex] and graph.out_degrees[vertex] == 0 and vertex != sink:
            count += 1
    return count


@njit
def recover_tails(graph: Graph, source: Integer, sink: Integer, rules: GraphRules) -> Integer:
    """Join dangling tails to the reference path; return how many.

    The graph needs room for an edge per tail. `source` and `sink` are the ends of the reference.
    """
    recovered = 0
    path = np.empty(graph.counts[0] + 1, np.int32)
    for vertex in range(graph.counts[0]):
        if graph.is_vertex[vertex] and graph.out_degrees[vertex] == 0 and vertex != sink:
            length = _tail_path(graph, vertex, rules.min_pruning, path)
            if length > max(rules.min_tail, 1) and path[0] != source:
                recovered += _join_tail(graph, path, length, rules.min_matching)
    return recovered


@njit
def tail_cigar(graph: Graph, vertex: Integer, min_pruning: Integer) -> NDArray[np.uint32]:
    """Return the alignment of a tail to the reference path; empty if there is no path."""
    path = np.empty(graph.counts[0] + 1, np.int32)
    length = _tail_path(graph, vertex, min_pruning, path)
    reference = np.empty(graph.counts[0] + 1, np.int32)
    if length < 2:
        return np.empty(0, np.uint32)
    reference_length = _path_down(graph, path, reference)
    bases = _last_bases(graph, path, length)
    return branch_cigar(
        _last_bases(graph, reference, reference_length), reference_length, bases, length
    )


@njit
def _tail_path(
    graph: Graph, vertex: Integer, min_pruning: Integer, path: NDArray[np.int32]
) -> Integer:
    """Go up from the end of a tail to where it branches off; return the length of the path.

    An edge of low multiplicity empties the path so far. 0 if no branch is found.
    """
    length, steps = 0, 0
    while graph.in_degrees[vertex] == 1 and graph.out_degrees[vertex] < 2:
        edge = graph.first_in[vertex]
        if graph.pruning_multiplicities[edge] < min_pruning:
            length = 0
        else:
            path[length] = vertex
            length += 1
        vertex = np.int64(graph.sources[edge])
        steps += 1
        if steps > graph.counts[0]:  # a loop: GATK gives up too
            return 0
    if graph.out_degrees[vertex] < 2:
        return 0
    path[length] = vertex
    length += 1
    reverse(path, length)
    return length


@njit
def reverse(path: NDArray[np.int32], length: Integer) -> None:
    """Reverse path[:length] in place."""
    for k in range(length // 2):
        path[k], path[length - 1 - k] = path[length - 1 - k], path[k]


@njit
def _path_down(graph: Graph, tail: NDArray[np.int32], path: NDArray[np.int32]) -> Integer:
    """Follow the reference from the start of a tail; return the length, 0 for an endless path.

    Without an edge of the reference, the only edge that is not the tail's is followed.
    """
    tail_edge = graph.first_in[tail[1]]
    vertex = np.int64(tail[0])
    length = 0
    while vertex >= 0:
        if length == graph.counts[0]:
            return 0
        path[length] = vertex
        length += 1
        edge = np.int64(graph.first_out[vertex])
        others = 0
        vertex = np.int64(-1)
        while edge >= 0:
            if graph.is_reference[edge]:
                others, vertex = 1, np.int64(graph.targets[edge])
                break
            if edge != tail_edge:
                others, vertex = others + 1, np.int64(graph.targets[edge])
            edge = np.int64(graph.next_out[edge])
        if others != 1:
            break
    return length


@njit
def _last_bases(graph: Graph, path: NDArray[np.int32], length: Integer) -> NDArray[np.uint8]:
    """Return the last base of each vertex of a path."""
    bases = np.empty(length, np.uint8)
    for k in range(length):
        bases[k] = last_base(graph, path[k])
    return bases


@njit
def _join_tail(
    graph: Graph, tail: NDArray[np.int32], length: Integer, min_matching: Integer
) -> Integer:
    """Add the edge from a tail to the reference path, if it aligns well; return 1 then, else 0."""
    path = np.empty(graph.counts[0] + 1, np.int32)
    path_length = _path_down(graph, tail, path)
    if path_length == 0:
        return 0
    reference = _last_bases(graph, path, path_length)
    bases = _last_bases(graph, tail, length)
    cigar = branch_cigar(reference, path_length, bases, length)
    last = cigar.size - 1
    if cigar.size < 1 or cigar.size > MAX_ELEMENTS or (cigar[last] & 15) != MATCH:
        return 0
    reference_last = bases_of(cigar, INSERTION) - 1
    matching = 0
    while (
        matching < min(np.int64(cigar[last] >> 4), length)
        and reference[reference_last - matching] == bases[length - 1 - matching]
    ):
        matching += 1
    if matching < (min_matching if min_matching >= 0 else 1):
        return 0
    at = max(bases_of(cigar, DELETION) - matching - 1, 0)
    to = reference_last - matching + 1
    if (cigar[0] & 15) == DELETION and (cigar[0] >> 4) + matching == reference_last + 1:
        to += 1
    if to == 0 or to >= path_length:
        return 0
    add_edge(graph, tail[at], path[to], 1)
    return 1


@njit
def bases_of(cigar: NDArray[np.uint32], excluded: Integer) -> Integer:
    """Return the summed length of the elements except those of one operation."""
    total = np.int64(0)
    for element in cigar:
        if (element & 15) != excluded:
            total += np.int64(element >> 4)
    return total
