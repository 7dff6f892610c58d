"""Local assembly of active regions, by the rules of GATK's ReadThreadingAssembler."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes, hash_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only, view_of, with_room
from hapgpu.calling.assembly.graph import Graph, has_cycle, new_graph
from hapgpu.calling.assembly.graph_edits import reference_ends
from hapgpu.calling.assembly.haplotypes import (
    AT_LIMIT,
    NOT_ASSEMBLED,
    UNROLLED,
    AssembledPaths,
    Paths,
    best_paths,
    haplotypes_of,
    remove_cycles,
)
from hapgpu.calling.assembly.kmer_graphs import CYCLIC, FAILED, READY, build_kmer_graph
from hapgpu.calling.assembly.kmers import AssemblyData, GraphRules, KmerSpace, RegionRows, new_space
from hapgpu.calling.assembly.simplification import simplified
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, RegionReads, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit

_MAX_LARGER_KMERS: Final = 6
_LEGACY_RULES: Final = -1  # of dangling ends, as HaplotypeCaller has them
_MIN_BRANCH: Final = 4
_KMER_STEP: Final = 10
_LIMITED: Final = 4  # a status, beside those of `build_kmer_graph`
_ROWS: Final = 64
_TEXT: Final = 1 << 15


class _Limits(NamedTuple):
    """The options of the assembly that are numbers."""

    min_pruning: int
    max_haplotypes: int
    min_base_quality: int
    is_strict: int
    recovers_all: int


class _Workspace(NamedTuple):
    """The graphs of an active region and a k, and memory to make them."""

    kmers: Graph
    sequences: Graph
    space: KmerSpace


class _Found(NamedTuple):
    """Strings of paths so far.

    Attributes
    ----------
    counts
        int64[2]: strings, and the first of the active region.
    regions, offsets, scores, hashes
        int64, int64, float64 and uint64 per string.
    text
        uint8 text.
    outcomes
        uint8 per active region: see `UNROLLED`, `NOT_ASSEMBLED` and `AT_LIMIT`.
    """

    counts: NDArray[np.int64]
    regions: NDArray[np.int64]
    offsets: NDArray[np.int64]
    scores: NDArray[np.float64]
    hashes: NDArray[np.uint64]
    text: NDArray[np.uint8]
    outcomes: NDArray[np.uint8]


def assembled_haplotypes(
    reads: RegionReads,
    segment: SegmentReads,
    regions: ActiveRegions,
    options: AssemblyOptions,
    device: Device,
    has_junction: NDArray[np.bool_] | None = None,
) -> tuple[RegionHaplotypes, NDArray[np.uint8]]:
    """Assemble the reads of active regions to haplotypes of their padded spans.

    Parameters
    ----------
    reads
        Reads of r active regions.
    segment
        The reads of the segment, and its reference.
    regions
        r active regions.
    options
        k-mers, pruning, and the number of haplotypes.
    device
        The device that aligns the haplotypes; the result does not depend on it.
    has_junction
        bool[r]: active regions with a junction of split reads; None: there are none.

    Returns
    -------
    RegionHaplotypes, and uint8[r]: flags of each active region, see `AssembledPaths.outcomes`.
    """
    references = reference_texts(segment, regions)
    bases = reads.bases(segment.reads)
    paths = assembled_paths(bases, reads, references, options)
    return haplotypes_of(paths, references, device, has_junction), paths.outcomes


def reference_texts(segment: SegmentReads, regions: ActiveRegions) -> Ragged:
    """Return uint8 text, r rows: the reference of the padded spans of r active regions."""
    starts = regions.padded_starts - segment.reference.start
    lengths = regions.padded_ends - regions.padded_starts
    return Ragged.gather(segment.reference.bases, starts, lengths)


def assembled_paths(
    bases: Ragged, reads: RegionReads, references: Ragged, options: AssemblyOptions
) -> AssembledPaths:
    """Assemble the reads of active regions to strings that start and end as the reference.

    Parameters
    ----------
    bases
        uint8 text: the bases of the reads.
    reads
        Reads of r active regions.
    references
        uint8 text, r rows: the padded span of each active region.
    options
        k-mers, pruning, and the number of haplotypes.
    """
    data = AssemblyData(
        view_of(bases),
        view_of(reads.qualities),
        read_only(reads.samples),
        read_only(references.data),
    )
    limits = _Limits(
        options.min_pruning,
        options.max_haplotypes,
        options.min_base_quality,
        int(options.is_strict),
        int(options.recovers_all_branches),
    )
    kmer_sizes = np.array(options.kmer_sizes, dtype=np.int64)
    found = _assemble(data, reads.offsets, references.offsets, kmer_sizes, limits)
    count = int(found.counts[0])
    offsets = found.offsets[: count + 1]
    strings = Ragged(found.text[: offsets[-1]], offsets)
    return AssembledPaths(found.regions[:count], strings, found.scores[:count], found.outcomes)


@njit
def _assemble(
    data: AssemblyData,
    read_offsets: NDArray[np.int64],
    reference_offsets: NDArray[np.int64],
    kmer_sizes: NDArray[np.int64],
    limits: _Limits,
) -> _Found:
    """Find the strings other than the reference of all active regions."""
    workspace = _Workspace(new_graph(512, 512, _TEXT), new_graph(512, 512, _TEXT), new_space())
    found = _new_found(reference_offsets.size - 1)
    for number in range(reference_offsets.size - 1):
        region = RegionRows(
            read_offsets[number],
            read_offsets[number + 1],
            reference_offsets[number],
            reference_offsets[number + 1],
        )
        found.counts[1] = found.counts[0]
        workspace, found = _with_region(workspace, found, data, region, number, kmer_sizes, limits)
    return found


@njit
def _with_region(
    workspace: _Workspace,
    found: _Found,
    data: AssemblyData,
    region: RegionRows,
    number: Integer,
    kmer_sizes: NDArray[np.int64],
    limits: _Limits,
) -> tuple[_Workspace, _Found]:
    """Add the strings of an active region, and set its flags.

    All k are tried. If none gives a result, larger ones are tried until one does; GATK has no other
    rule. If a graph has more paths than are kept, the first larger k that has not is tried too. If
    the largest given k has a cycle, or no k gives a result, cycles are unrolled, with the smallest
    k from there on of which the reference has no k-mer twice.
    """
    largest, is_strict = kmer_sizes[-1], limits.is_strict != 0
    has_result, is_limited, status = False, False, FAILED
    for k in kmer_sizes:
        rules = _rules_of(limits, k, 0, 0)
        workspace, found, status = _with_graph(
            workspace, found, data, region, number, rules, limits.max_haplotypes, 0
        )
        has_result |= _is_result(status)
        is_limited |= status == _LIMITED
    is_cyclic = status == CYCLIC and not is_strict
    larger = 1
    while (
        larger <= _MAX_LARGER_KMERS
        and not is_cyclic
        and (not has_result or (is_limited and not is_strict))
    ):
        rules = _rules_of(limits, largest, larger, 0)
        workspace, found, status = _with_graph(
            workspace, found, data, region, number, rules, limits.max_haplotypes, int(has_result)
        )
        is_limited = status == _LIMITED or (is_limited and status != READY)
        has_result |= _is_result(status)
        larger += 1
    if is_cyclic or not (has_result or is_strict):
        larger, status = 0, FAILED
        while status == FAILED:
            rules = _rules_of(limits, largest, larger, 1)
            workspace, found, status = _with_graph(
                workspace, found, data, region, number, rules, limits.max_haplotypes, 0
            )
            larger += 1
        has_result = True
        found.outcomes[number] |= UNROLLED
    if not has_result:
        found.outcomes[number] |= NOT_ASSEMBLED
    return workspace, found


@njit
def _is_result(status: int) -> bool:
    """Tell whether a graph counts as a result, also without haplotypes."""
    return status != FAILED and status != CYCLIC  # noqa: PLR1714  (Numba: as fast as an integer)


@njit
def _rules_of(limits: _Limits, k: Integer, larger: Integer, is_unrolled: int) -> GraphRules:
    """Return the rules of a graph of a given k, or `larger` steps above it."""
    size: Any = np.int64(k + larger * _KMER_STEP)  # one type for Numba, whatever k is
    return GraphRules(
        size,
        int(larger == _MAX_LARGER_KMERS),
        limits.min_pruning,
        limits.min_base_quality,
        _LEGACY_RULES,
        _MIN_BRANCH,
        _MIN_BRANCH,
        is_unrolled,
        limits.recovers_all,
    )


@njit
def _with_graph(
    workspace: _Workspace,
    found: _Found,
    data: AssemblyData,
    region: RegionRows,
    number: Integer,
    rules: GraphRules,
    max_haplotypes: int,
    is_whole: int,
) -> tuple[_Workspace, _Found, int]:
    """Add the strings of a graph of an active region; with `is_whole` 1, all of them or none.

    The status returned is that of the graph, or `_LIMITED` if it has more paths than are kept.
    """
    made = build_kmer_graph(workspace.kmers, workspace.space, data, region, rules)
    sequences, status = workspace.sequences, made.status
    if status == READY:
        sequences = simplified(made.graph, sequences)
        paths = _paths_of(sequences, max_haplotypes)
        if paths.has_more:
            status = _LIMITED
            found.outcomes[number] |= AT_LIMIT
        if not (is_whole and paths.has_more):
            found = _with_paths(found, paths, data.reference, region, number)
    return _Workspace(made.graph, sequences, made.space), found, status


@njit
def _paths_of(graph: Graph, max_paths: int) -> Paths:
    """Find the best paths of a sequence graph; none if the reference path got lost."""
    source, sink = reference_ends(graph)
    is_whole = source >= 0 and sink >= 0
    if is_whole and has_cycle(graph):
        is_whole = remove_cycles(graph, source, sink)
    return best_paths(graph, max(source, 0), sink, max_paths if is_whole else 0)


@njit
def _new_found(regions: Integer) -> _Found:
    return _Found(
        np.zeros(2, dtype=np.int64),
        np.empty(_ROWS, dtype=np.int64),
        np.zeros(_ROWS, dtype=np.int64),
        np.empty(_ROWS, dtype=np.float64),
        np.empty(_ROWS, dtype=np.uint64),
        np.empty(_TEXT, dtype=np.uint8),
        np.zeros(regions, dtype=np.uint8),
    )


@njit
def _with_paths(
    found: _Found, paths: Paths, reference: NDArray[np.uint8], region: RegionRows, number: Integer
) -> _Found:
    """Add the strings of paths that are neither the reference nor there already."""
    reference_start, reference_end = region.reference_start, region.reference_end
    for path in paths.best:
        start, end = paths.offsets[path], paths.offsets[path + 1]
        if _equal(paths.text, start, end, reference, reference_start, reference_end):
            continue
        value = hash_of(paths.text, start, end)
        if _has(found, paths, path, value):
            continue
        row = found.counts[0]
        at = found.offsets[row]
        found = _Found(
            found.counts,
            with_room(found.regions, row + 1),
            with_room(found.offsets, row + 2),
            with_room(found.scores, row + 1),
            with_room(found.hashes, row + 1),
            with_room(found.text, at + end - start),
            found.outcomes,
        )
        copy_bytes(paths.text, start, found.text, at, end - start)
        found.counts[0] = row + 1
        found.regions[row], found.scores[row] = number, paths.scores[path]
        found.hashes[row], found.offsets[row + 1] = value, at + end - start
    return found


@njit
def _has(found: _Found, paths: Paths, path: int, value: Integer) -> bool:
    """Tell whether the active region has the string of a path, with this hash."""
    start, end = paths.offsets[path], paths.offsets[path + 1]
    for row in range(found.counts[1], found.counts[0]):
        if found.hashes[row] == value and _equal(
            paths.text, start, end, found.text, found.offsets[row], found.offsets[row + 1]
        ):
            return True
    return False


@njit
def _equal(
    one: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    other: NDArray[np.uint8],
    start_of_other: Integer,
    end_of_other: Integer,
) -> bool:
    length, k = end - start, 0
    if length != end_of_other - start_of_other:
        return False
    while k < length and one[start + k] == other[start_of_other + k]:
        k += 1
    return bool(k == length)
