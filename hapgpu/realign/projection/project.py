"""Projection of alignments with haplotypes onto the reference, as in GATK HaplotypeCaller.

Follows AlignmentUtils.createReadAlignedToRef of GATK 4, with all its rules. Where GATK gives up
or raises an error, a row is marked as not projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.kinds import AnyArray, Rows
from hapgpu.arrays.memory import Memory, read_64, read_u32
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_memory import ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, longest_row, row_of, view_of, with_room
from hapgpu.cigar.builder import (
    LEADING_REMOVED,
    CigarBuilder,
    add_element,
    add_elements,
    built,
    finish_cigar,
    new_builder,
    start_cigar,
    start_pinned_cigar,
)
from hapgpu.cigar.compose import compose_cigars, trim_cigar
from hapgpu.cigar.encoding import (
    MATCH,
    SOFT_CLIP,
    consumes_query,
    consumes_reference,
    is_alignment,
    length_of,
    operation_of,
    query_length,
    write_cigar,
)
from hapgpu.cigar.left_align import LeftAligner, left_align, new_left_aligner
from hapgpu.io.bam.constants import MAX_OPERATION_BASES, QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

_HAPLOTYPE_OVERHANG = 1000  # bases that reads may extend after the end of their haplotype
_FAILED = -1
_CIGAR_BYTES, _PADDED_BYTES = 4, 8


@dataclass(frozen=True, slots=True)
class PlacedHaplotypes(Generic[Rows]):
    """h haplotypes and their alignments with the reference haplotypes of r loci, on one device.

    Attributes
    ----------
    cigars
        uint32 in BAM encoding, h rows: haplotype to reference haplotype.
    starts
        int64[h], added to the positions of reads: the start of the reference haplotype less the
        start of the locus (GATK's alignment start of the haplotype relative to the reference).
    reference_index
        int32[h], the locus of each haplotype.
    references
        uint8 text, r rows: the bases of the reference haplotypes.
    reference_starts
        int64[r], the position of the first base of each locus.
    """

    cigars: Rows
    starts: AnyArray
    reference_index: AnyArray
    references: Rows
    reference_starts: AnyArray


@dataclass(frozen=True, slots=True)
class Projections(Generic[Rows]):
    """n reads on the reference, in host memory or on one GPU.

    Attributes
    ----------
    positions
        int64[n], counted as the starts of the loci; -1 where not projected.
    cigars
        uint32 in BAM encoding; no elements where not projected.
    ok
        bool[n], false where GATK does not change the read.
    """

    positions: AnyArray
    cigars: Rows
    ok: AnyArray


def project_alignments(
    reads: Ragged,
    alignments: AlignmentBatch,
    haplotype_index: NDArray[np.int32],
    haplotypes: PlacedHaplotypes[Ragged],
    leading_clips: NDArray[np.int32],
    trailing_clips: NDArray[np.int32],
    *,
    clip_ends: bool = False,
) -> Projections[Ragged]:
    """Project alignments of reads with haplotypes onto the reference.

    Parameters
    ----------
    reads
        uint8 text, n rows: bases without soft clips.
    alignments
        n alignments of the reads with their haplotypes, with soft-clipped overhangs.
    haplotype_index
        int32[n], the haplotype of each read.
    haplotypes
        The haplotypes and their loci: uint32 CIGARs, uint8 bases, and others.
    leading_clips, trailing_clips
        int32[n], soft clips to add before and after each CIGAR; 0 for none.
    clip_ends
        Soft-clip insertions at the ends of a read, which GATK leaves. This comes before indels
        are left-aligned, which may move a part of an insertion differently than the whole.

    Returns
    -------
    Projections
        n reads, with int64 positions and uint32 CIGARs.
    """
    positions, data, offsets = _project_rows(
        view_of(reads),
        _Alignments(view_of(alignments.cigars), alignments.offsets, haplotype_index),
        _Loci(
            view_of(haplotypes.cigars),
            haplotypes.starts,
            haplotypes.reference_index,
            view_of(haplotypes.references),
            haplotypes.reference_starts,
        ),
        (leading_clips, trailing_clips),
        clip_ends,
    )
    cigars = Ragged(data, offsets)
    return Projections(positions, cigars, cigars.lengths > 0)


class _Alignments(NamedTuple):
    """Alignments with haplotypes as an argument of compiled functions."""

    cigars: RaggedView
    starts: NDArray[np.int32]
    haplotypes: NDArray[np.int32]


class _Loci(NamedTuple):
    """PlacedHaplotypes as an argument of compiled functions."""

    cigars: RaggedView
    starts: NDArray[np.int64]
    reference_index: NDArray[np.int32]
    references: RaggedView
    reference_starts: NDArray[np.int64]


class _Workspace(NamedTuple):
    """Builders of CIGARs; and int64[2], numbers of inserted bases at the ends that are clipped."""

    read: CigarBuilder
    trimmed: CigarBuilder
    composed: CigarBuilder
    aligner: LeftAligner
    end_insertions: NDArray[np.int64]


@njit
def _new_workspace(read_elements: int, padded_elements: int) -> _Workspace:
    """Allocate for CIGARs of these numbers of elements; each step adds a known number at most."""
    composed = read_elements + padded_elements
    return _Workspace(
        new_builder(read_elements),
        new_builder(composed),
        new_builder(composed),
        new_left_aligner(composed),
        np.zeros(2, dtype=np.int64),
    )


@njit
def _project_rows(
    reads: RaggedView,
    alignments: _Alignments,
    loci: _Loci,
    clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    clip_ends: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return the positions, int64[n], and CIGARs on the reference: uint32 rows and int64[n + 1]."""
    count = alignments.starts.size
    positions = np.full(count, _FAILED, dtype=np.int64)
    offsets = np.zeros(count + 1, dtype=np.int64)
    out = np.empty(4 * count, dtype=np.uint32)
    padded = _padded_haplotypes(loci.cigars)
    all_padded, all_cigars = ragged_memory_of(padded), ragged_memory_of(alignments.cigars)
    work = _new_workspace(longest_row(alignments.cigars), longest_row(padded))
    for row in range(count):
        haplotype, end = alignments.haplotypes[row], offsets[row]
        length = reads.offsets[row + 1] - reads.offsets[row]
        leading, trailing = np.int64(clips[0][row]), np.int64(clips[1][row])
        start: Integer = np.int64(_FAILED)
        if _is_match(row_memory(all_cigars, row, _CIGAR_BYTES), length):
            haplotype_cigar = row_memory(all_padded, haplotype, _PADDED_BYTES)
            start = _start_of_match(haplotype_cigar, length, np.int64(alignments.starts[row]))
        if start != _FAILED and length + leading + trailing <= MAX_OPERATION_BASES:
            if end + 3 > out.size:
                out = with_room(out, end + 3)
            for size, operation in ((leading, SOFT_CLIP), (length, MATCH), (trailing, SOFT_CLIP)):
                if size > 0:
                    out[end] = size << 4 | operation
                    end += 1
        else:
            start = _project(
                row_of(reads, row),
                row_of(alignments.cigars, row),
                alignments.starts[row],
                row_of(padded, haplotype),
                row_of(loci.references, loci.reference_index[haplotype]),
                clip_ends,
                work,
            )
            if start != _FAILED:
                middle = built(work.aligner.result)
                out = with_room(out, end + middle.size + 2)
                leading += work.end_insertions[0]
                trailing += work.end_insertions[1]
                end = write_cigar(out, end, leading, middle, trailing, SOFT_CLIP)
        if end > offsets[row]:
            first = loci.reference_starts[loci.reference_index[haplotype]]
            positions[row] = first + loci.starts[haplotype] + start
        offsets[row + 1] = end
    return positions, out[: offsets[-1]], offsets


@njit
def _padded_haplotypes(cigars: RaggedView) -> RaggedView:
    """Return the CIGARs of haplotypes with an overhang, int64 rows; none for one that is invalid.

    The reads of a locus belong to its haplotypes in any order, so each is made once, before them.
    """
    count = cigars.offsets.size - 1
    elements = np.empty(cigars.data.size + count, dtype=np.int64)
    offsets = np.zeros(count + 1, dtype=np.int64)
    longest = longest_row(cigars)
    haplotype, padded = new_builder(longest), new_builder(longest + 1)
    for row in range(count):
        end = offsets[row]
        if _pad_haplotype(row_of(cigars, row), haplotype, padded):
            for element in built(padded):
                elements[end] = element
                end += 1
        offsets[row + 1] = end
    return RaggedView(elements, offsets)


@njit
def _pad_haplotype(
    cigar: NDArray[np.uint32], haplotype: CigarBuilder, padded: CigarBuilder
) -> bool:
    start_pinned_cigar(haplotype)
    add_elements(haplotype, cigar)
    if not finish_cigar(haplotype):
        return False
    start_cigar(padded)
    add_elements(padded, built(haplotype))
    add_element(padded, _HAPLOTYPE_OVERHANG, MATCH)
    return finish_cigar(padded)


@njit_inlined
def _is_match(cigar: Memory, length: Integer) -> bool:
    """Tell whether a read of so many bases is one M."""
    return bool(cigar.size == _CIGAR_BYTES and read_u32(cigar, 0) == length << 4 | MATCH)


@njit_inlined
def _start_of_match(haplotype: Memory, length: Integer, start: Integer) -> Integer:
    """Return the start of a read that is aligned inside one M of its haplotype, as `_project`.

    Most reads are: no rule changes their CIGAR. At the start of an M, an indel before it may count.
    Return _FAILED for other reads.
    """
    haplotype_start, reference_start = np.int64(0), np.int64(0)
    for at in range(0, haplotype.size, _PADDED_BYTES):
        element = read_64(haplotype, at)
        operation, size = element & 15, element >> 4
        if start < haplotype_start or (at > 0 and start == haplotype_start):
            break
        if operation == MATCH and start + length <= haplotype_start + size:
            return reference_start + start - haplotype_start
        haplotype_start += size * (QUERY_OPERATIONS >> operation & 1)
        reference_start += size * (REFERENCE_OPERATIONS >> operation & 1)
    return np.int64(_FAILED)


@njit
def _project(
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    start: int,
    padded: NDArray[np.int64],
    reference: NDArray[np.uint8],
    clip_ends: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    work: _Workspace,
) -> int:
    """Write a read's CIGAR to the workspace; return its start on the reference haplotype.

    A haplotype whose CIGAR is invalid has no elements, so that trimming fails.
    """
    start_cigar(work.read)
    add_elements(work.read, cigar)
    if not finish_cigar(work.read):
        return _FAILED
    reference_start = _reference_start(padded, start)
    if reference_start == _FAILED:
        return _FAILED
    if not trim_cigar(work.trimmed, padded, start, query_length(padded) - 1):
        return _FAILED
    if not compose_cigars(work.composed, built(work.read), built(work.trimmed)):
        return _FAILED
    composed = built(work.composed)
    work.end_insertions[:] = 0
    if clip_ends:
        first, last, deleted = _measure_ends(composed, work.end_insertions)
        composed = composed[first:last]
        reference_start += deleted
        leading, trailing = work.end_insertions
        read = read[leading : read.size - trailing]
    if composed.size == 0 or not left_align(
        work.aligner, composed, reference_start, reference, read
    ):
        return _FAILED
    return int(reference_start + work.aligner.result.state[LEADING_REMOVED])


@njit
def _measure_ends(cigar: NDArray[np.int64], inserted: NDArray[np.int64]) -> tuple[int, int, int]:
    """Return the range of a CIGAR without end indels, and the bases deleted at its start."""
    first, last, deleted = 0, cigar.size, 0
    while first < last and not is_alignment(operation_of(cigar[first])):
        inserted[0] += length_of(cigar[first]) * consumes_query(operation_of(cigar[first]))
        deleted += length_of(cigar[first]) * consumes_reference(operation_of(cigar[first]))
        first += 1
    while last > first and not is_alignment(operation_of(cigar[last - 1])):
        inserted[1] += length_of(cigar[last - 1]) * consumes_query(operation_of(cigar[last - 1]))
        last -= 1
    return first, last, deleted


@njit
def _reference_start(cigar: NDArray[np.int64], start: int) -> int:
    """Return the offset in the reference of base `start` of the haplotype.

    At an insertion, the next base; between two elements, the end of the first.
    """
    if start == 0:
        return 0
    haplotype_end, reference_end = 0, 0
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        if consumes_reference(operation):
            reference_end += length
        if consumes_query(operation):
            haplotype_end += length
        if haplotype_end >= start:
            excess = haplotype_end - start if consumes_reference(operation) else 0
            return reference_end - excess
    return _FAILED
