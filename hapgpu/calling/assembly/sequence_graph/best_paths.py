"""The best paths of a graph, as in GATK's GraphBasedKBestHaplotypeFinder."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged_view import with_room
from hapgpu.calling.assembly.graph import VERTICES, Graph, remove_edge, remove_vertex
from hapgpu.calling.assembly.sequence_graph.edits import length_of
from hapgpu.runtime.jit import njit, njit_inlined

_PATHS = 64
_TEXT = 1 << 14


class Paths(NamedTuple):
    """Paths of a graph from one vertex; the best to another one.

    Attributes
    ----------
    best
        int64[n]: the paths that end there, best first.
    scores
        float64: the log10 score of each path.
    offsets
        int64: the bases of path i are `text[offsets[i]:offsets[i + 1]]`.
    text
        uint8 text.
    has_more
        Whether the graph may have more paths to that vertex; False if none were wanted.
    """

    best: NDArray[np.int64]
    scores: NDArray[np.float64]
    offsets: NDArray[np.int64]
    text: NDArray[np.uint8]
    has_more: bool


@njit
def best_paths(graph: Graph, source: int, sink: int, max_paths: int) -> Paths:
    """Return at most `max_paths` paths from source to sink, best first.

    The score of a path is the sum of log10(multiplicity / sum over the out-edges of the vertex).
    Of paths with equal scores, the one with the lexicographically larger bases is better, and a
    longer one than its prefix. Each vertex is extended at most `max_paths` times.
    """
    best = np.empty(max_paths, dtype=np.int64)
    found, queued, paths = 0, 1, 1
    queue = np.zeros(_PATHS, dtype=np.int64)
    ends = np.full(_PATHS, source, dtype=np.int64)
    scores = np.zeros(_PATHS, dtype=np.float64)
    offsets = np.zeros(_PATHS, dtype=np.int64)
    visits = np.zeros(graph.counts[VERTICES], dtype=np.int64)
    text = np.empty(_TEXT + length_of(graph, source), dtype=np.uint8)
    offsets[1] = _write_vertex(graph, source, text, 0)
    while queued > 0 and found < max_paths:
        path = queue[0]
        queued -= 1
        queue[0] = queue[queued]
        _sift_down(queue, queued, scores, offsets, text)
        vertex = ends[path]
        if vertex == sink:
            best[found] = path
            found += 1
            continue
        if visits[vertex] == max_paths:
            continue
        visits[vertex] += 1
        of_all = math.log10(_out_multiplicity(graph, vertex))
        length = offsets[path + 1] - offsets[path]
        edge = graph.vertices[vertex].first_out
        while edge >= 0:
            target = graph.edges[edge].target
            queue, ends = with_room(queue, paths + 1), with_room(ends, paths + 1)
            scores, offsets = with_room(scores, paths + 1), with_room(offsets, paths + 2)
            start = offsets[paths]
            end = start + length
            text = with_room(text, int(end + length_of(graph, target)))
            copy_bytes(text, offsets[path], text, start, length)
            offsets[paths + 1] = _write_vertex(graph, target, text, end)
            ends[paths] = target
            scores[paths] = scores[path] + (math.log10(graph.edges[edge].multiplicity) - of_all)
            queue[queued] = paths
            _sift_up(queue, queued, scores, offsets, text)
            paths += 1
            queued += 1
            edge = graph.edges[edge].next_out
    return Paths(best[:found], scores, offsets, text, queued > 0 and max_paths > 0)


@njit_inlined
def _write_vertex(graph: Graph, vertex: Integer, text: NDArray[np.uint8], end: Integer) -> Integer:
    length = length_of(graph, vertex)
    copy_bytes(graph.text, graph.vertices[vertex].text_start, text, end, length)
    return end + length


@njit_inlined
def _out_multiplicity(graph: Graph, vertex: int) -> int:
    total = 0
    edge = graph.vertices[vertex].first_out
    while edge >= 0:
        total += graph.edges[edge].multiplicity
        edge = graph.edges[edge].next_out
    return total


@njit
def _is_better(
    one: int,
    other: int,
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
) -> bool:
    if scores[one] != scores[other]:
        return bool(scores[one] > scores[other])
    start, start_of_other = offsets[one], offsets[other]
    length, length_of_other = offsets[one + 1] - start, offsets[other + 1] - start_of_other
    for k in range(min(length, length_of_other)):
        if text[start + k] != text[start_of_other + k]:
            return bool(text[start + k] > text[start_of_other + k])
    return bool(length > length_of_other)


@njit
def _sift_up(
    queue: NDArray[np.int64],
    row: int,
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
) -> None:
    """Move the last entry of a binary heap up until none above it is worse."""
    path = queue[row]
    while row > 0:
        above = (row - 1) >> 1
        if not _is_better(path, queue[above], scores, offsets, text):
            break
        queue[row] = queue[above]
        row = above
    queue[row] = path


@njit
def _sift_down(
    queue: NDArray[np.int64],
    size: int,
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
) -> None:
    """Move the first entry of a binary heap down until none below it is better."""
    row, path = 0, queue[0]
    while 2 * row + 1 < size:
        below = 2 * row + 1
        if below + 1 < size and _is_better(queue[below + 1], queue[below], scores, offsets, text):
            below += 1
        if not _is_better(queue[below], path, scores, offsets, text):
            break
        queue[row] = queue[below]
        row = below
    queue[row] = path


@njit
def remove_cycles(graph: Graph, source: int, sink: int) -> bool:
    """Remove edges to vertices visited before, depth first, and vertices that reach no sink.

    What remains is a tree but for its sink: alleles are lost, as in GATK. Return whether the sink
    is reached from the source.
    """
    count = graph.counts[VERTICES]
    is_visited = np.zeros(count, dtype=np.bool_)
    reaches = np.zeros(count, dtype=np.bool_)
    reaches[sink] = True
    path = np.empty(count, dtype=np.int64)
    edges = np.empty(count, dtype=np.int64)  # the next edge of each vertex of the path
    path[0], edges[0] = source, graph.vertices[source].first_out
    depth = 0 if source != sink else -1
    is_visited[source] = source != sink
    while depth >= 0:
        vertex, edge = path[depth], edges[depth]
        if edge < 0:
            depth -= 1
            if not reaches[vertex]:
                remove_vertex(graph, vertex)
            elif depth >= 0:
                reaches[path[depth]] = True
            continue
        edges[depth] = graph.edges[edge].next_out
        target = graph.edges[edge].target
        if not graph.edges[edge].is_edge:  # its target reached no sink
            continue
        if target == sink:
            reaches[vertex] = True
        elif is_visited[target]:
            remove_edge(graph, edge)
        else:
            depth += 1
            path[depth], edges[depth] = target, graph.vertices[target].first_out
            is_visited[target] = True
    return bool(reaches[source])
