"""CIGARs of haplotypes aligned end to end with their reference, as in GATK's calculateCigar."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, longest_row, row_of, view_of, with_room
from hapgpu.cigar.builder import (
    COUNT,
    LEADING_REMOVED,
    TRAILING_REMOVED,
    CigarBuilder,
    add_element,
    built,
    new_builder,
    start_cigar,
)
from hapgpu.cigar.compose import trim_cigar
from hapgpu.cigar.encoding import (
    DELETION,
    MATCH,
    SOFT_CLIP,
    match_cigars,
    operation_of,
    write_cigar,
)
from hapgpu.cigar.left_align import LeftAligner, left_align, new_left_aligner
from hapgpu.io.text.columns import repeated, side_by_side
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit

_PAD = 10
_PAD_BASE = "N"
_FAILED = -1

_N = ord(_PAD_BASE)
_MAX_MISMATCHES = 2
_MIN_DIAGONAL = 4  # bases, so that the pads are further apart than any diagonal


def haplotype_cigars(
    pairs: PairBatch, device: Device, scoring: Scoring = PRESETS["haplotype-to-reference"]
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Align haplotypes with their reference haplotypes, by default by GATK's weights for them.

    Parameters
    ----------
    pairs
        n pairs of a reference haplotype and a haplotype.
    device
        The device that aligns; the result does not depend on it.
    scoring
        The weights.

    Returns
    -------
    uint32 CIGARs and bool[n], as of `end_to_end_cigars`.
    """
    is_diagonal = _are_diagonal(
        view_of(pairs.references), view_of(pairs.queries), pairs.reference_index, pairs.query_index
    )
    diagonal, other = np.flatnonzero(is_diagonal), np.flatnonzero(~is_diagonal)
    others = pairs.take(other).compact()
    alignments = align_pairs(pad_pairs(others), scoring, Overhang.SOFTCLIP, device)
    cigars, ok = end_to_end_cigars(others, alignments)
    order = np.argsort(np.concatenate((diagonal, other)))
    both = Ragged.concatenate([match_cigars(pairs.take(diagonal).query_lengths), cigars])
    return both.take(order), np.concatenate((is_diagonal[diagonal], ok))[order]


def pad_pairs(pairs: PairBatch) -> PairBatch:
    """Add ten N before and after all sequences, so that haplotypes align end to end."""
    return PairBatch(
        _padded(pairs.references), _padded(pairs.queries), pairs.reference_index, pairs.query_index
    )


def end_to_end_cigars(
    pairs: PairBatch, alignments: AlignmentBatch
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Convert alignments of padded haplotypes to CIGARs from end to end of the reference.

    Parameters
    ----------
    pairs
        n pairs of a reference haplotype and a haplotype, without pads.
    alignments
        The alignments of `pad_pairs(pairs)`.

    Returns
    -------
    uint32 CIGARs with indels left-aligned and deletions at the ends kept; and bool[n]: whether
    there is a CIGAR (GATK's CigarUtils.calculateCigar).
    """
    data, offsets = _end_to_end_rows(
        view_of(pairs.references),
        view_of(pairs.queries),
        pairs.reference_index,
        pairs.query_index,
        view_of(alignments.cigars),
        alignments.offsets,
    )
    cigars = Ragged(data, offsets)
    return cigars, cigars.lengths > 0


def _padded(sequences: Ragged) -> Ragged:
    pads = repeated(_PAD_BASE * _PAD, len(sequences))
    return side_by_side([pads, sequences, pads])


@njit
def _are_diagonal(
    references: RaggedView,
    haplotypes: RaggedView,
    reference_index: NDArray[np.int32],
    haplotype_index: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Tell which pairs have one best alignment, without a gap; not all of them are found.

    They are of equal length, without N, and differ at two bases at most, which loses at most
    2 * 350. Every other alignment loses more. An insertion and a deletion lose at least
    260 + 200 + 260. With only deletions, or without a gap, a base at an end is outside, which
    loses 200; so a deletion and a mismatch lose at least 260 + 200 + 350, an insertion and a
    mismatch 260 + 200 + 350. There is a mismatch: up to 700, all diagonals are at most 3 from the
    main one, so that where a base of the haplotypes is not on the main diagonal, an N of a pad is
    aligned with a base at one of the ends, or a base with an N.
    """
    are_diagonal = np.zeros(reference_index.size, dtype=np.bool_)
    for row in range(reference_index.size):
        reference, haplotype = reference_index[row], haplotype_index[row]
        start, other = references.offsets[reference], haplotypes.offsets[haplotype]
        length = references.offsets[reference + 1] - start
        if length != haplotypes.offsets[haplotype + 1] - other or length < _MIN_DIAGONAL:
            continue
        mismatches = 0
        for k in range(length):
            one, two = references.data[start + k], haplotypes.data[other + k]
            if _N in (one, two):
                mismatches = _MAX_MISMATCHES + 1
            mismatches += one != two
            if mismatches > _MAX_MISMATCHES:
                break
        are_diagonal[row] = mismatches <= _MAX_MISMATCHES
    return are_diagonal


@njit
def _end_to_end_rows(
    references: RaggedView,
    haplotypes: RaggedView,
    reference_index: NDArray[np.int32],
    haplotype_index: NDArray[np.int32],
    cigars: RaggedView,
    starts: NDArray[np.int32],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the end-to-end CIGARs of n haplotypes: uint32 rows and their offsets, int64[n + 1]."""
    count = starts.size
    offsets = np.zeros(count + 1, dtype=np.int64)
    out = np.empty(4 * count, dtype=np.uint32)
    capacity = longest_row(cigars) + 1
    trimmed, aligner = new_builder(capacity), new_left_aligner(capacity)
    for row in range(count):
        leading, trailing = _end_to_end_row(
            row_of(cigars, row),
            starts[row],
            row_of(references, reference_index[row]),
            row_of(haplotypes, haplotype_index[row]),
            trimmed,
            aligner,
        )
        offsets[row + 1] = offsets[row]
        if leading != _FAILED:
            middle = built(aligner.result)
            out = with_room(out, offsets[row] + middle.size + 2)
            offsets[row + 1] = write_cigar(out, offsets[row], leading, middle, trailing, DELETION)
    return out[: offsets[-1]], offsets


@njit
def _end_to_end_row(
    cigar: NDArray[np.uint32],
    start: int,
    reference: NDArray[np.uint8],
    haplotype: NDArray[np.uint8],
    trimmed: CigarBuilder,
    aligner: LeftAligner,
) -> tuple[int, int]:
    """Write a haplotype's CIGAR to the aligner; return the deletions before and after it."""
    start_cigar(aligner.result)
    if haplotype.size == 0:
        return reference.size, 0
    if _are_equal(reference, haplotype):
        add_element(aligner.result, reference.size, MATCH)
        return 0, 0
    if start > 0 or _has_soft_clip(cigar):
        return _FAILED, _FAILED
    if not trim_cigar(trimmed, cigar, _PAD, _PAD + haplotype.size - 1):
        return _FAILED, _FAILED
    leading, trailing = trimmed.state[LEADING_REMOVED], trimmed.state[TRAILING_REMOVED]
    if trailing > 0:
        trimmed.elements[trimmed.state[COUNT]] = trailing << 4 | DELETION
        trimmed.state[COUNT] += 1
    if not left_align(aligner, built(trimmed), leading, reference, haplotype):
        return _FAILED, _FAILED
    state = aligner.result.state
    return leading + state[LEADING_REMOVED], state[TRAILING_REMOVED]


@njit
def _has_soft_clip(cigar: NDArray[np.uint32]) -> bool:
    is_clipped = False
    for element in cigar:
        is_clipped |= operation_of(element) == SOFT_CLIP
    return is_clipped


@njit
def _are_equal(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    are_equal = one.size == other.size
    for k in range(min(one.size, other.size)):
        are_equal &= one[k] == other[k]
    return are_equal
