"""Best paths of graphs, and the haplotypes that are made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import read_only, with_room
from hapgpu.calling.assembly.graph import VERTICES, Graph, remove_edge, remove_vertex
from hapgpu.calling.assembly.graph_edits import length_of
from hapgpu.calling.batches import RegionHaplotypes
from hapgpu.cigar.encoding import INSERTION, MATCH, match_cigars, reference_lengths
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit, njit_inlined

_PATHS = 64
_TEXT = 1 << 14

_MIN_LENGTH: Final = 20
"""Shorter insertions stay."""
UNROLLED: Final = 1
"""Flag of an active region: cycles of its graph were unrolled."""
NOT_ASSEMBLED: Final = 2
"""Flag of an active region: no graph gave a result."""
AT_LIMIT: Final = 4
"""Flag of an active region: a graph has more paths than are kept."""
LEFT: Final = 8
"""Flag of an active region: the GPU left it to the CPU."""
_MIN_REFERENCE_LENGTH: Final = 30
_FEW_GAPS: Final = Scoring(200, -400, -2000, -11)
"""Weights of haplotypes with long insertions and deletions. With GATK's, 200, -150, -260, -11, an
insertion of 100 bases beside a deletion becomes several insertions, with few bases between."""


@dataclass(frozen=True, slots=True)
class AssembledPaths:
    """The different strings of p paths other than the reference, of r active regions.

    Attributes
    ----------
    regions
        int64[p], ascending.
    bases
        uint8 text, p rows; best first for each graph, smaller k-mers first.
    scores
        float64[p]: log10 scores.
    outcomes
        uint8[r]: flags of each active region.
    """

    regions: NDArray[np.int64]
    bases: Ragged
    scores: NDArray[np.float64]
    outcomes: NDArray[np.uint8]

    @classmethod
    def left(cls, regions: int) -> AssembledPaths:
        """Return no paths of so many regions, which are left to the CPU."""
        none = np.empty(0, dtype=np.int64)
        texts = Ragged.from_lengths(none.astype(np.uint8), none)
        return cls(none, texts, np.empty(0), np.full(regions, LEFT, dtype=np.uint8))

    @classmethod
    def concatenate(cls, parts: Sequence[AssembledPaths]) -> AssembledPaths:
        """Return the paths of all regions of the parts, of which there is at least one."""
        if len(parts) == 1:
            return parts[0]
        firsts = offsets_of([part.outcomes.size for part in parts])[:-1]
        return cls(
            np.concatenate([part.regions + at for part, at in zip(parts, firsts, strict=True)]),
            Ragged.concatenate([part.bases for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.outcomes for part in parts]),
        )

    def divided(self, counts: Sequence[int]) -> list[AssembledPaths]:
        """Divide the regions into parts of so many, in order."""
        ends = offsets_of(counts)
        rows = np.searchsorted(self.regions, ends)
        return [
            AssembledPaths(
                self.regions[first:last] - start,
                self.bases[first:last],
                self.scores[first:last],
                self.outcomes[start:end],
            )
            for (start, end), (first, last) in zip(pairwise(ends), pairwise(rows), strict=True)
        ]

    def with_left(self, others: AssembledPaths, rows: NDArray[np.int64]) -> AssembledPaths:
        """Return these paths and those of the regions that were left to the CPU.

        Parameters
        ----------
        others
            Paths of k regions.
        rows
            int64[k]: which regions they are. They keep the flag `LEFT` beside those of `others`.
        """
        regions = np.concatenate((self.regions, rows[others.regions]))
        order = np.argsort(regions, kind="stable")
        outcomes = self.outcomes.copy()
        outcomes[rows] = others.outcomes | LEFT
        return AssembledPaths(
            regions[order],
            Ragged.concatenate([self.bases, others.bases]).take(order),
            np.concatenate((self.scores, others.scores))[order],
            outcomes,
        )


def haplotypes_of(
    paths: AssembledPaths,
    references: Ragged,
    device: Device,
    has_junction: NDArray[np.bool_] | None = None,
) -> RegionHaplotypes:
    """Align paths end to end with the references of their active regions, and add these.

    Paths without such an alignment, or with less than 30 bases of the reference in it, are
    excluded, as in GATK.

    Parameters
    ----------
    references
        uint8 text, r rows: the padded span of each active region.
    has_junction
        bool[r]: active regions with a junction of split reads; None: there are none.
    """
    has_long = (paths.outcomes & UNROLLED) != 0
    if has_junction is not None:
        has_long |= has_junction
    cigars, is_aligned = _aligned(paths, references, has_long, device)
    lengths = reference_lengths(cigars)
    is_aligned &= lengths >= _MIN_REFERENCE_LENGTH
    is_aligned &= lengths == references.lengths[paths.regions]
    kept = np.flatnonzero(is_aligned)
    regions = np.concatenate((paths.regions[kept], np.arange(len(references))))
    order = np.argsort(regions, kind="stable")  # so the reference is the last of its region
    all_bases = Ragged.concatenate([paths.bases.take(kept), references])
    all_cigars = Ragged.concatenate([cigars.take(kept), match_cigars(references.lengths)])
    scores = np.concatenate((paths.scores[kept], np.full(len(references), np.nan)))
    return RegionHaplotypes(
        np.searchsorted(regions[order], np.arange(len(references) + 1)),
        all_bases.take(order),
        all_cigars.take(order),
        order >= kept.size,
        scores[order],
    )


def _aligned(
    paths: AssembledPaths, references: Ragged, has_long: NDArray[np.bool_], device: Device
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Return the CIGARs of paths, and whether they have one.

    `has_long` tells of each active region whether long insertions and deletions are likely.
    """
    rows = np.arange(paths.regions.size, dtype=np.int32)
    pairs = PairBatch(references, paths.bases, paths.regions.astype(np.int32), rows)
    is_long = has_long[paths.regions]
    if not is_long.any():
        return haplotype_cigars(pairs, device)
    groups = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    cigars, is_aligned = haplotype_cigars(pairs.take(groups[0]), device)
    others, are_aligned = haplotype_cigars(pairs.take(groups[1]), device, _FEW_GAPS)
    order = np.argsort(np.concatenate(groups))
    all_cigars = Ragged.concatenate([cigars, others]).take(order)
    return (
        with_joined_insertions(all_cigars, paths.regions, has_long),
        np.concatenate((is_aligned, are_aligned))[order],
    )


def with_joined_insertions(
    cigars: Ragged, regions: NDArray[np.int64], is_chosen: NDArray[np.bool_]
) -> Ragged:
    """Move insertions to the first insertion of the same length that is within their length.

    The bases between become matches or mismatches. An insertion stays if it is at an end of its
    haplotype, or if there is another insertion, or a deletion, between.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, h rows: M, I and D, from end to end of the padded span.
    regions
        int64[h], ascending: the active region of each.
    is_chosen
        bool[r]: active regions whose insertions are moved.

    Returns
    -------
    Ragged
        uint32 in BAM encoding, h rows; `cigars` itself if no region is chosen.
    """
    if not is_chosen.any():
        return cigars
    moved = cigars.data.copy()
    starts = np.searchsorted(regions, np.arange(is_chosen.size + 1))
    _join(moved, read_only(cigars.offsets), read_only(starts), read_only(is_chosen))
    return Ragged(moved, cigars.offsets)


@njit
def _join(
    cigars: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    is_chosen: NDArray[np.bool_],
) -> None:
    """Move insertions to the first one of their length within reach, in chosen regions."""
    for region in range(is_chosen.size):
        if not is_chosen[region]:
            continue
        positions = _positions(cigars, offsets, starts[region], starts[region + 1])
        first, elements = offsets[starts[region]], positions.size
        for row in range(starts[region], starts[region + 1]):
            for at in range(offsets[row] + 1, offsets[row + 1] - 1):
                length = np.int64(cigars[at] >> 4)
                if (cigars[at] & 15) != INSERTION or length < _MIN_LENGTH:
                    continue
                position = positions[at - first]
                to = position
                for other in range(elements):
                    if (
                        cigars[first + other] == cigars[at]
                        and position - length <= positions[other]
                    ):
                        to = min(to, positions[other])
                shift = np.uint32((position - to) << 4)
                is_between = (cigars[at - 1] & 15) == MATCH and (cigars[at + 1] & 15) == MATCH
                if is_between and cigars[at - 1] > shift + 15:
                    cigars[at - 1] -= shift
                    cigars[at + 1] += shift


@njit
def _positions(
    cigars: NDArray[np.uint32], offsets: NDArray[np.int64], first: Integer, end: Integer
) -> NDArray[np.int64]:
    """Return the offset on the reference of each element of the rows first to end."""
    positions = np.empty(offsets[end] - offsets[first], np.int64)
    for row in range(first, end):
        position = np.int64(0)
        for at in range(offsets[row], offsets[row + 1]):
            positions[at - offsets[first]] = position
            if REFERENCE_OPERATIONS >> (cigars[at] & 15) & 1:
                position += np.int64(cigars[at] >> 4)
    return positions


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
