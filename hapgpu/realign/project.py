"""From alignments with haplotypes to alignments with the reference, as GATK HaplotypeCaller does.

Follows AlignmentUtils.createReadAlignedToRef and CigarUtils.calculateCigar of GATK 4, odd rules
included. Where GATK gives up or raises an error, a row is marked as not projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import AlignmentBatch, PairBatch, Ragged, offsets_of
from hapgpu.errors import InputError
from hapgpu.jit import njit
from hapgpu.realign.api import align
from hapgpu.realign.cigar import (
    COUNT,
    DELETION,
    INSERTION,
    LARGEST_LENGTH,
    LEADING_REMOVED,
    MATCH,
    SOFT_CLIP,
    TRAILING_REMOVED,
    CigarBuilder,
    Rows,
    add_element,
    add_elements,
    built,
    cigar_strings,
    consumes_query,
    consumes_reference,
    finish_cigar,
    is_alignment,
    length_of,
    new_builder,
    operation_of,
    parse_cigar,
    query_length,
    query_lengths,
    reference_length,
    row_of,
    rows_of,
    start_cigar,
    start_pinned_cigar,
    with_room,
)
from hapgpu.realign.scoring import Overhang, Scoring

_PAD = 10
_PAD_BASE = ord("N")
_HAPLOTYPE_OVERHANG = 1000  # reads may run this far over the end of their haplotype
_FAILED = -1


@dataclass(frozen=True, slots=True)
class PlacedHaplotypes:
    """h haplotypes and where they lie on the reference haplotypes of r loci.

    Attributes
    ----------
    cigars
        uint32 in BAM encoding, h rows: haplotype to reference haplotype.
    starts
        int64[h], added to the positions of reads: how far after the start of the locus the
        reference haplotype begins (GATK's alignment start of the haplotype relative to the
        reference; 0 where they begin together).
    reference_index
        int32[h], the locus of each haplotype.
    references
        uint8 text, r rows: the bases of the reference haplotypes.
    reference_starts
        int64[r], the position of the first base of each locus.
    """

    cigars: Ragged
    starts: NDArray[np.int64]
    reference_index: NDArray[np.int32]
    references: Ragged
    reference_starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Projections:
    """n reads on the reference.

    Attributes
    ----------
    positions
        int64[n], in the units of the starts of the loci; -1 where not projected.
    cigars
        uint32 in BAM encoding; no elements where not projected.
    ok
        bool[n], false where GATK would leave the read as it is.
    """

    positions: NDArray[np.int64]
    cigars: Ragged
    ok: NDArray[np.bool_]


def haplotype_cigar(
    reference: str | bytes,
    haplotype: str | bytes,
    *,
    scoring: str | Scoring = "haplotype-to-reference",
    overhang: str | Overhang = "softclip",
) -> str | None:
    """CIGAR of a haplotype that starts and ends with its reference haplotype.

    Parameters
    ----------
    reference, haplotype
        The bases; one of them may be empty.
    scoring, overhang
        As for `align`.

    Returns
    -------
    The CIGAR, with indels left-aligned and deletions at its ends kept; None if there is no
    alignment from end to end (GATK's CigarUtils.calculateCigar).

    Raises
    ------
    InputError
        If both sequences are empty, or one is not ASCII text.
    UsageError
        If a name is unknown.
    """
    sequences = [_ascii(reference, "reference"), _ascii(haplotype, "haplotype")]
    if not any(sequences):
        raise InputError("cannot align an empty haplotype with an empty reference")
    row = np.zeros(1, dtype=np.int32)
    reference_rows, haplotype_rows = (Ragged.from_sequences([bases]) for bases in sequences)
    pairs = PairBatch(reference_rows, haplotype_rows, row, row)
    padded = pad_pairs(pairs)
    alignments = align(
        padded.references, padded.queries, scoring=scoring, overhang=overhang, device="cpu"
    )
    cigars, ok = anchor_haplotypes(
        pairs, AlignmentBatch(alignments.score, alignments.offset, alignments.cigars)
    )
    return cigar_strings(cigars)[0] if ok[0] else None


def realign_to_reference(
    read: str | bytes,
    haplotype: str | bytes,
    haplotype_cigar: str,
    reference_haplotype: str | bytes,
    haplotype_start: int,
    reference_start: int,
) -> tuple[int, str] | None:
    """Align a read to its haplotype and project it onto the reference.

    Parameters
    ----------
    read, haplotype, reference_haplotype
        The bases, those of the read without soft clips.
    haplotype_cigar
        The haplotype's alignment with the reference haplotype.
    haplotype_start
        GATK's alignment start of the haplotype relative to the reference.
    reference_start
        Position of the first base of the locus.

    Returns
    -------
    Position, in the units of `reference_start`, and CIGAR with indels left-aligned; None where
    GATK would leave the read as it is (AlignmentUtils.createReadAlignedToRef).

    Raises
    ------
    InputError
        If a sequence is empty or not ASCII text, or the CIGAR does not fit the haplotype.
    """
    reads = _one_row(read, "read")
    haplotypes = _one_row(haplotype, "haplotype")
    references = _one_row(reference_haplotype, "reference haplotype")
    elements = parse_cigar(haplotype_cigar)
    cigars = Ragged.from_lengths(elements, [elements.size])
    if query_lengths(cigars)[0] != haplotypes.lengths[0]:
        message = (
            f"haplotype CIGAR {haplotype_cigar} is for {query_lengths(cigars)[0]} bases, "
            f"but the haplotype has {haplotypes.lengths[0]}"
        )
        raise InputError(message)
    row = np.zeros(1, dtype=np.int32)
    starts = np.array([[haplotype_start], [reference_start]], dtype=np.int64)
    placed = PlacedHaplotypes(cigars, starts[0], row, references, starts[1])
    alignments = align(haplotypes, reads, device="cpu")
    batch = AlignmentBatch(alignments.score, alignments.offset, alignments.cigars)
    projections = project_alignments(reads, batch, row, placed, row, row)
    if not projections.ok[0]:
        return None
    return int(projections.positions[0]), cigar_strings(projections.cigars)[0]


def pad_pairs(pairs: PairBatch) -> PairBatch:
    """Put ten N before and after all sequences, which pins haplotypes to their references."""
    return PairBatch(
        _padded(pairs.references), _padded(pairs.queries), pairs.reference_index, pairs.query_index
    )


def anchor_haplotypes(
    pairs: PairBatch, alignments: AlignmentBatch
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Turn alignments of padded haplotypes into CIGARs from end to end of the reference.

    Parameters
    ----------
    pairs
        n pairs of a reference haplotype and a haplotype, without pads.
    alignments
        Those of `pad_pairs(pairs)`.

    Returns
    -------
    CIGARs with indels left-aligned and deletions at the ends kept, and bool[n]: where there is
    one (GATK's CigarUtils.calculateCigar).
    """
    data, offsets = _anchor_rows(
        rows_of(pairs.references),
        rows_of(pairs.queries),
        pairs.reference_index,
        pairs.query_index,
        _Alignments(rows_of(alignments.cigars), alignments.offsets),
    )
    cigars = Ragged(data, offsets)
    return cigars, cigars.lengths > 0


def project_alignments(
    reads: Ragged,
    alignments: AlignmentBatch,
    haplotype_index: NDArray[np.int32],
    haplotypes: PlacedHaplotypes,
    leading_clips: NDArray[np.int32],
    trailing_clips: NDArray[np.int32],
) -> Projections:
    """Project alignments of reads with haplotypes onto the reference.

    Parameters
    ----------
    reads
        uint8 text, n rows: bases without soft clips.
    alignments
        n rows: those of the reads with their haplotypes, overhangs soft-clipped.
    haplotype_index
        int32[n], the haplotype of each read.
    haplotypes
        The haplotypes and their loci.
    leading_clips, trailing_clips
        int32[n], soft clips to be put back around each CIGAR; 0 for none.
    """
    positions, data, offsets = _project_rows(
        rows_of(reads),
        _Alignments(rows_of(alignments.cigars), alignments.offsets),
        haplotype_index,
        _Loci(
            rows_of(haplotypes.cigars),
            haplotypes.starts,
            haplotypes.reference_index,
            rows_of(haplotypes.references),
            haplotypes.reference_starts,
        ),
        leading_clips,
        trailing_clips,
    )
    cigars = Ragged(data, offsets)
    return Projections(positions, cigars, cigars.lengths > 0)


def _ascii(sequence: str | bytes, what: str) -> bytes:
    if isinstance(sequence, bytes):
        return sequence
    try:
        return sequence.encode("ascii")
    except UnicodeEncodeError:
        message = f"the {what} has a letter that is not ASCII"
        raise InputError(message) from None


def _one_row(sequence: str | bytes, what: str) -> Ragged:
    bases = _ascii(sequence, what)
    if not bases:
        message = f"the {what} is empty"
        raise InputError(message)
    return Ragged.from_sequences([bases])


def _padded(sequences: Ragged) -> Ragged:
    offsets = offsets_of(sequences.lengths + 2 * _PAD)
    data = np.full(offsets[-1], _PAD_BASE, dtype=np.uint8)
    _fill_between_pads(rows_of(sequences), data, offsets)
    return Ragged(data, offsets)


class _Alignments(NamedTuple):
    """An AlignmentBatch for compiled code, without the scores."""

    cigars: Rows
    offsets: NDArray[np.int32]


class _Loci(NamedTuple):
    """PlacedHaplotypes for compiled code."""

    cigars: Rows
    starts: NDArray[np.int64]
    reference_index: NDArray[np.int32]
    references: Rows
    reference_starts: NDArray[np.int64]


class _Workspace(NamedTuple):
    """CIGARs in the making."""

    read: CigarBuilder
    haplotype: CigarBuilder
    padded: CigarBuilder
    trimmed: CigarBuilder
    composed: CigarBuilder
    left_aligned: CigarBuilder
    runs: NDArray[np.int64]


@njit
def _longest(rows: Rows) -> int:
    longest = 0
    for row in range(rows.offsets.size - 1):
        longest = max(longest, rows.offsets[row + 1] - rows.offsets[row])
    return longest


@njit
def _fill_between_pads(rows: Rows, out: NDArray[np.uint8], out_offsets: NDArray[np.int64]) -> None:
    for row in range(rows.offsets.size - 1):
        out[out_offsets[row] + _PAD : out_offsets[row + 1] - _PAD] = row_of(rows, row)


@njit
def _new_workspace(read_elements: int, haplotype_elements: int) -> _Workspace:
    """Make room for CIGARs of so many elements; each step says how many more it may make."""
    padded = haplotype_elements + 1
    composed = read_elements + padded
    runs = 5 * (composed + 1) + 2
    return _Workspace(
        new_builder(read_elements),
        new_builder(haplotype_elements),
        new_builder(padded),
        new_builder(composed),
        new_builder(composed),
        new_builder(runs),
        np.empty(runs, dtype=np.int64),
    )


@njit
def _anchor_rows(
    references: Rows,
    haplotypes: Rows,
    reference_index: NDArray[np.int32],
    haplotype_index: NDArray[np.int32],
    alignments: _Alignments,
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    count = alignments.offsets.size
    offsets = np.zeros(count + 1, dtype=np.int64)
    out = np.empty(4 * count, dtype=np.uint32)
    work = _new_workspace(_longest(alignments.cigars) + 1, 0)
    for row in range(count):
        leading, trailing = _anchor(
            row_of(alignments.cigars, row),
            alignments.offsets[row],
            row_of(references, reference_index[row]),
            row_of(haplotypes, haplotype_index[row]),
            work,
        )
        offsets[row + 1] = offsets[row]
        if leading != _FAILED:
            middle = built(work.left_aligned)
            out = with_room(out, offsets[row] + middle.size + 2)
            offsets[row + 1] = _write_cigar(out, offsets[row], leading, middle, trailing, DELETION)
    return out[: offsets[-1]], offsets


@njit
def _anchor(
    cigar: NDArray[np.uint32],
    start: int,
    reference: NDArray[np.uint8],
    haplotype: NDArray[np.uint8],
    work: _Workspace,
) -> tuple[int, int]:
    """Leave a haplotype's CIGAR in the workspace; return the deletions before and after it."""
    start_cigar(work.left_aligned)
    if haplotype.size == 0:
        return reference.size, 0
    if np.array_equal(reference, haplotype):
        add_element(work.left_aligned, reference.size, MATCH)
        return 0, 0
    if start > 0 or _has_soft_clip(cigar):
        return _FAILED, _FAILED
    trimmed = work.trimmed
    if not _trim(trimmed, cigar, _PAD, _PAD + haplotype.size - 1):
        return _FAILED, _FAILED
    leading, trailing = trimmed.state[LEADING_REMOVED], trimmed.state[TRAILING_REMOVED]
    if trailing > 0:
        trimmed.elements[trimmed.state[COUNT]] = trailing << 4 | DELETION
        trimmed.state[COUNT] += 1
    if not _left_align(built(trimmed), reference, leading, haplotype, work):
        return _FAILED, _FAILED
    state = work.left_aligned.state
    return leading + state[LEADING_REMOVED], state[TRAILING_REMOVED]


@njit
def _has_soft_clip(cigar: NDArray[np.uint32]) -> bool:
    return bool(np.any(cigar & np.uint32(15) == SOFT_CLIP))


@njit
def _project_rows(
    reads: Rows,
    alignments: _Alignments,
    haplotype_index: NDArray[np.int32],
    loci: _Loci,
    leading_clips: NDArray[np.int32],
    trailing_clips: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    count = alignments.offsets.size
    positions = np.full(count, _FAILED, dtype=np.int64)
    offsets = np.zeros(count + 1, dtype=np.int64)
    out = np.empty(4 * count, dtype=np.uint32)
    work = _new_workspace(_longest(alignments.cigars), _longest(loci.cigars))
    padded_haplotype, has_cigar = -1, False
    for row in range(count):
        haplotype = haplotype_index[row]
        if haplotype != padded_haplotype:
            padded_haplotype = haplotype
            has_cigar = _pad_haplotype(row_of(loci.cigars, haplotype), work)
        locus = loci.reference_index[haplotype]
        start = _FAILED
        if has_cigar:
            start = _project(
                row_of(reads, row),
                row_of(alignments.cigars, row),
                alignments.offsets[row],
                row_of(loci.references, locus),
                work,
            )
        end = offsets[row]
        if start != _FAILED:
            middle = built(work.left_aligned)
            out = with_room(out, end + middle.size + 2)
            end = _write_cigar(out, end, leading_clips[row], middle, trailing_clips[row], SOFT_CLIP)
        if end > offsets[row]:
            positions[row] = loci.reference_starts[locus] + loci.starts[haplotype] + start
        offsets[row + 1] = end
    return positions, out[: offsets[-1]], offsets


@njit
def _project(
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    start: int,
    reference: NDArray[np.uint8],
    work: _Workspace,
) -> int:
    """Leave a read's CIGAR in the workspace, where its haplotype's is; return its start."""
    start_cigar(work.read)
    add_elements(work.read, cigar)
    if not finish_cigar(work.read):
        return _FAILED
    padded = built(work.padded)
    reference_start = _reference_start(padded, start)
    if reference_start == _FAILED:
        return _FAILED
    if not _trim(work.trimmed, padded, start, query_length(padded) - 1):
        return _FAILED
    if not _compose(work.composed, built(work.read), built(work.trimmed)):
        return _FAILED
    if not _left_align(built(work.composed), reference, reference_start, read, work):
        return _FAILED
    return int(reference_start + work.left_aligned.state[LEADING_REMOVED])


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
    """Where on the reference base `start` of the haplotype lies.

    At an insertion, the base after it; between two elements, the end of the first.
    """
    if start == 0:
        return 0
    on_haplotype, on_reference = 0, 0
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        if consumes_reference(operation):
            on_reference += length
        if consumes_query(operation):
            on_haplotype += length
        if on_haplotype >= start:
            excess = on_haplotype - start if consumes_reference(operation) else 0
            return on_reference - excess
    return _FAILED


@njit
def _trim(builder: CigarBuilder, cigar: NDArray[Any], first: int, last: int) -> bool:
    """Cut a CIGAR down to the bases first to last of its query; makes no more elements."""
    start_cigar(builder)
    if first < 0 or last < first:
        return False
    end = 0
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        start = end
        if consumes_query(operation):
            end += length
        if end < first or (end == first and start < first):
            continue
        if start > last and end > last + 1:
            break
        if start < end:
            length = min(last + 1, end) - max(first, start)
        add_element(builder, length, operation)
    return end > last and finish_cigar(builder)


@njit
def _compose(builder: CigarBuilder, first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Chain CIGARs a to b and b to c into a to c; makes at most as many elements as both have."""
    start_cigar(builder)
    i, j, first_done, second_done = 0, 0, 0, 0
    while i < first.size and j < second.size:
        left = length_of(first[i]) - first_done
        right = length_of(second[j]) - second_done
        operation, uses_first, uses_second = _chain(operation_of(first[i]), operation_of(second[j]))
        if not uses_first and not uses_second:
            return False
        if uses_first and uses_second:
            left = right = min(left, right)
        if operation != _FAILED:
            add_element(builder, left if uses_first else right, operation)
        if uses_first:
            first_done += left
        if uses_second:
            second_done += right
        if first_done == length_of(first[i]):
            i, first_done = i + 1, 0
        if second_done == length_of(second[j]):
            j, second_done = j + 1, 0
    return finish_cigar(builder)


@njit
def _chain(first: int, second: int) -> tuple[int, bool, bool]:
    """Operation that two in a row amount to (-1: none), and which of them it uses up."""
    if first in (INSERTION, SOFT_CLIP):
        known = is_alignment(second) or second in (INSERTION, SOFT_CLIP, DELETION)
        return INSERTION, known, False
    if first != DELETION and not is_alignment(first):
        return _FAILED, False, False
    if second == DELETION:
        return DELETION, False, True
    if is_alignment(second):
        return (DELETION if first == DELETION else MATCH), True, True
    if second in (INSERTION, SOFT_CLIP):
        return (_FAILED if first == DELETION else INSERTION), True, True
    return _FAILED, False, False


class _Indel(NamedTuple):
    """Bases of reference and query that an indel, or none if empty, puts against each other."""

    reference_begin: int
    reference_end: int
    query_begin: int
    query_end: int


@njit
def _left_align(
    cigar: NDArray[np.int64],
    reference: NDArray[np.uint8],
    start: int,
    query: NDArray[np.uint8],
    work: _Workspace,
) -> bool:
    """Move indels as far left as repeats allow, merging those that meet.

    Goes through the CIGAR from its end and carries each indel along until an alignment stops it.
    """
    builder, runs, count = work.left_aligned, work.runs, 0
    start_cigar(builder)
    last_indel = _last_indel(cigar)
    if query_length(cigar) != query.size:
        return False
    if last_indel < 0:
        add_elements(builder, cigar)
        return True
    if start + reference_length(cigar[: last_indel + 1]) > reference.size:
        return False
    end = start + reference_length(cigar)
    indel = _Indel(end, end, query.size, query.size)
    for k in range(cigar.size - 1, -1, -1):
        if operation_of(cigar[k]) in (INSERTION, DELETION):
            indel = _extended(indel, cigar[k])
        elif _size(indel) == 0:
            runs[count] = cigar[k]
            count += 1
            indel = _emptied(_extended(indel, cigar[k]))
        else:
            indel, count = _shift(indel, cigar[k], reference, query, (runs, count))
    count = _put_indel(indel, runs, count)
    add_elements(builder, runs[:count][::-1])
    return finish_cigar(builder)


@njit
def _last_indel(cigar: NDArray[np.int64]) -> int:
    for k in range(cigar.size - 1, -1, -1):
        if operation_of(cigar[k]) in (INSERTION, DELETION):
            return k
    return -1


@njit
def _size(indel: _Indel) -> int:
    return indel.reference_end - indel.reference_begin + indel.query_end - indel.query_begin


@njit
def _extended(indel: _Indel, element: int) -> _Indel:
    """Take the bases of an element into the indel, to its left."""
    operation, length = operation_of(element), length_of(element)
    return _Indel(
        indel.reference_begin - (length if consumes_reference(operation) else 0),
        indel.reference_end,
        indel.query_begin - (length if consumes_query(operation) else 0),
        indel.query_end,
    )


@njit
def _emptied(indel: _Indel) -> _Indel:
    """Return the empty indel at the begin of this one."""
    return _Indel(
        indel.reference_begin, indel.reference_begin, indel.query_begin, indel.query_begin
    )


@njit
def _put_indel(indel: _Indel, runs: NDArray[np.int64], count: int) -> int:
    runs[count] = (indel.reference_end - indel.reference_begin) << 4 | DELETION
    runs[count + 1] = (indel.query_end - indel.query_begin) << 4 | INSERTION
    return count + 2


@njit
def _shift(
    indel: _Indel,
    element: int,
    reference: NDArray[np.uint8],
    query: NDArray[np.uint8],
    output: tuple[NDArray[np.int64], int],
) -> tuple[_Indel, int]:
    """Move an indel left into an element, and put it out unless it got through to the next."""
    runs, count = output
    operation, length = operation_of(element), length_of(element)
    most = length if is_alignment(operation) else 0
    begin_shift, end_shift = _shifts(indel, reference, query, most)
    indel = _Indel(
        indel.reference_begin - begin_shift,
        indel.reference_end - end_shift,
        indel.query_begin - begin_shift,
        indel.query_end - end_shift,
    )
    runs[count] = end_shift << 4 | MATCH
    count += 1
    regained = max(0, -begin_shift) << 4 | MATCH
    left_over = (length - max(0, begin_shift)) << 4 | operation
    if begin_shift < most or not is_alignment(operation):
        count = _put_indel(indel, runs, count)
        indel = _emptied(_extended(_extended(indel, regained), left_over))
    runs[count], runs[count + 1] = regained, left_over
    return indel, count + 2


@njit
def _shifts(
    indel: _Indel, reference: NDArray[np.uint8], query: NDArray[np.uint8], most: int
) -> tuple[int, int]:
    """How far left the begin and the end of an indel may move, by `most` at most.

    Bases that both sides share at their ends are given up first, so the begin may also move
    right (a shift below 0).
    """
    reference_begin, reference_end, query_begin, query_end = indel
    smaller = min(reference_end - reference_begin, query_end - query_begin)
    begin_shift = 0
    end_shift = 0
    while smaller > 0 and reference[reference_end - 1] == query[query_end - 1]:
        reference_end, query_end = reference_end - 1, query_end - 1
        smaller, end_shift = smaller - 1, end_shift + 1
    while smaller > 0 and reference[reference_begin] == query[query_begin]:
        reference_begin, query_begin = reference_begin + 1, query_begin + 1
        smaller, begin_shift = smaller - 1, begin_shift - 1
    while (
        begin_shift < most
        and reference[reference_begin - 1] == query[query_begin - 1]
        and reference[reference_end - 1] == query[query_end - 1]
    ):
        reference_begin, query_begin = reference_begin - 1, query_begin - 1
        reference_end, query_end = reference_end - 1, query_end - 1
        begin_shift, end_shift = begin_shift + 1, end_shift + 1
    return begin_shift, end_shift


@njit
def _write_cigar(
    out: NDArray[np.uint32],
    at: int,
    leading: int,
    middle: NDArray[np.int64],
    trailing: int,
    operation: int,
) -> int:
    """Write a CIGAR with an operation around it; return its end, or `at` if BAM cannot hold it."""
    end = at
    if leading > 0:
        out[end] = leading << 4 | operation
        end += 1
    longest = max(leading, trailing)
    for element in middle:
        longest = max(longest, length_of(element))
        out[end] = element
        end += 1
    if trailing > 0:
        out[end] = trailing << 4 | operation
        end += 1
    return end if longest <= LARGEST_LENGTH else at
