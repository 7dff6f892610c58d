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
from hapgpu.arrays.kinds import AnyArray, Rows
from hapgpu.arrays.ragged import Ragged
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
from hapgpu.runtime.jit import njit

_HAPLOTYPE_OVERHANG = 1000  # bases that reads may extend after the end of their haplotype
_FAILED = -1


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
    haplotype: CigarBuilder
    padded: CigarBuilder
    trimmed: CigarBuilder
    composed: CigarBuilder
    aligner: LeftAligner
    end_insertions: NDArray[np.int64]


@njit
def _new_workspace(read_elements: int, haplotype_elements: int) -> _Workspace:
    """Allocate for CIGARs of these numbers of elements; each step adds a known number at most."""
    padded = haplotype_elements + 1
    composed = read_elements + padded
    return _Workspace(
        new_builder(read_elements),
        new_builder(haplotype_elements),
        new_builder(padded),
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
    work = _new_workspace(longest_row(alignments.cigars), longest_row(loci.cigars))
    padded_haplotype, has_cigar = -1, False
    for row in range(count):
        haplotype = alignments.haplotypes[row]
        if haplotype != padded_haplotype:
            padded_haplotype = haplotype
            has_cigar = _pad_haplotype(row_of(loci.cigars, haplotype), work)
        locus = loci.reference_index[haplotype]
        start = _FAILED
        if has_cigar:
            start = _project_match(
                reads.offsets[row + 1] - reads.offsets[row],
                row_of(alignments.cigars, row),
                alignments.starts[row],
                work,
            )
        if has_cigar and start == _FAILED:
            start = _project(
                row_of(reads, row),
                row_of(alignments.cigars, row),
                alignments.starts[row],
                row_of(loci.references, locus),
                clip_ends,
                work,
            )
        end = offsets[row]
        if start != _FAILED:
            middle = built(work.aligner.result)
            out = with_room(out, end + middle.size + 2)
            leading = clips[0][row] + work.end_insertions[0]
            trailing = clips[1][row] + work.end_insertions[1]
            end = write_cigar(out, end, leading, middle, trailing, SOFT_CLIP)
        if end > offsets[row]:
            positions[row] = loci.reference_starts[locus] + loci.starts[haplotype] + start
        offsets[row + 1] = end
    return positions, out[: offsets[-1]], offsets


@njit
def _project_match(length: int, cigar: NDArray[np.uint32], start: int, work: _Workspace) -> int:
    """Do the work of `_project` for a read that is aligned inside one M of its haplotype.

    Most reads are: no rule changes their CIGAR. At the start of an M, an indel before it may count.
    Return _FAILED for other reads.
    """
    if cigar.size != 1 or cigar[0] != length << 4 | MATCH or start < 0:
        return _FAILED
    haplotype_start, reference_start = 0, 0
    for k, element in enumerate(built(work.padded)):
        operation, size = operation_of(element), length_of(element)
        if k > 0 and start <= haplotype_start:
            break
        if operation == MATCH and start + length <= haplotype_start + size:
            work.end_insertions[:] = 0
            start_cigar(work.aligner.result)
            add_element(work.aligner.result, length, MATCH)
            return reference_start + start - haplotype_start
        haplotype_start += size * consumes_query(operation)
        reference_start += size * consumes_reference(operation)
    return _FAILED


@njit
def _project(
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    start: int,
    reference: NDArray[np.uint8],
    clip_ends: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    work: _Workspace,
) -> int:
    """Write a read's CIGAR to the workspace of its haplotype; return its start."""
    start_cigar(work.read)
    add_elements(work.read, cigar)
    if not finish_cigar(work.read):
        return _FAILED
    padded = built(work.padded)
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
def _pad_haplotype(cigar: NDArray[np.uint32], work: _Workspace) -> bool:
    start_pinned_cigar(work.haplotype)
    add_elements(work.haplotype, cigar)
    if not finish_cigar(work.haplotype):
        return False
    start_cigar(work.padded)
    add_elements(work.padded, built(work.haplotype))
    add_element(work.padded, _HAPLOTYPE_OVERHANG, MATCH)
    return finish_cigar(work.padded)


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
