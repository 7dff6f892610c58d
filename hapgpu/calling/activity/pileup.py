"""Sums over the pileup elements of each locus: genotype likelihoods and soft clips."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.calling.activity.elements import DELETION_QUALITY, element_table
from hapgpu.cigar.encoding import DELETION, INSERTION, SOFT_CLIP
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit, njit_inlined

_ADAPTOR_LENGTH: Final = 100
"""Bases after the end of a fragment are searched if the signed TLEN is at most this."""

_MIN_CLIP_QUALITY: Final = 28
"""Soft-clipped bases count above this quality."""

_PAIRED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x1, 0x8, 0x10, 0x20
_ALIGNED: Final = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_INDELS: Final = 1 << INSERTION | 1 << DELETION
_BOUNDARIES: Final = _INDELS | 1 << SOFT_CLIP
"""Operations next to which a base is an alternate element."""


class Pileup(NamedTuple):
    """Sums over the elements at p consecutive loci of n samples.

    Attributes
    ----------
    ratios
        int64[n, p, 2]: log10 likelihood ratios of 0/1 and 1/1 to 0/0, in units of
        2**-`FRACTION_BITS`.
    is_covered
        bool[n, p]: the sample has an element, of any quality.
    clip_reads
        int32[p]: alternate elements next to soft clips, of all samples.
    clip_bases
        int64[p]: the soft-clipped bases of high quality of their reads.
    """

    ratios: NDArray[np.int64]
    is_covered: NDArray[np.bool_]
    clip_reads: NDArray[np.int32]
    clip_bases: NDArray[np.int64]


def pileup_of(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    count: int,
    reference: ReferenceSlice,
    start: int,
    end: int,
    *,
    min_quality: int,
) -> Pileup:
    """Sum up the elements at loci.

    Parameters
    ----------
    reads
        n mapped reads of one contig, in any order.
    samples
        int32[n], below `count`.
    count
        Number of samples.
    reference
        Reference that holds the loci.
    start, end
        The loci, 0-based, half-open.
    min_quality
        Bases count above this quality.

    Raises
    ------
    ValueError
        The reference does not hold the loci, a sample does not exist, or a CIGAR is not as long as
        the bases.
    """
    if not reference.start <= start <= end <= reference.end:
        raise ValueError("the reference does not hold the loci")
    if samples.size != len(reads) or np.any((samples < 0) | (samples >= count)):
        raise ValueError("reads and samples differ")
    size = end - start
    pileup = Pileup(
        np.zeros((count, size, 2), dtype=np.int64),
        np.zeros((count, size), dtype=np.bool_),
        np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=np.int64),
    )
    columns = ReadColumns.from_batch(reads)
    bases = read_only(reference.bases[start - reference.start : end - reference.start])
    table = read_only(element_table(min_quality))
    damaged = _add_reads(columns, read_only(samples), bases, start, table, pileup)
    if damaged >= 0:
        raise ValueError(f"read {damaged}: CIGAR and bases differ in length")
    return pileup


@njit
def _add_reads(
    reads: ReadColumns,
    samples: NDArray[np.int32],
    reference: NDArray[np.uint8],
    start: int,
    table: NDArray[np.int64],
    pileup: Pileup,
) -> int:
    """Add all reads; return the first row whose CIGAR is not as long as its bases, or -1."""
    for row in range(reads.flags.size):
        reference_length, query_length = _lengths(reads, row)
        if query_length != reads.base_offsets[row + 1] - reads.base_offsets[row]:
            return row
        first, last = _inside_adaptors(reads, row, reference_length)
        # Loci relative to `start` where the read has elements.
        first = max(first - start, np.int64(0))
        last = min(last - start, np.int64(reference.size))
        if first < last:
            _add_read(reads, row, samples[row], reference, start, first, last, table, pileup)
    return -1


@njit_inlined
def _lengths(reads: ReadColumns, row: int) -> tuple[int, int]:
    """Return the number of reference bases and of read bases of a CIGAR."""
    reference_length, query_length = np.int64(0), np.int64(0)
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        operation, length = reads.cigars[k] & 15, np.int64(reads.cigars[k] >> 4)
        if REFERENCE_OPERATIONS >> operation & 1:
            reference_length += length
        if QUERY_OPERATIONS >> operation & 1:
            query_length += length
    return reference_length, query_length


@njit_inlined
def _inside_adaptors(reads: ReadColumns, row: int, reference_length: int) -> tuple[int, int]:
    """Return start and end of the loci of a read without those inside an adaptor.

    A read is longer than its fragment if it reaches over the start of its mate (reverse), or over
    the end that TLEN tells (forward).
    """
    first = np.int64(reads.positions[row])
    last = first + reference_length
    flags, template = reads.flags[row], np.int64(reads.template_lengths[row])
    mate = np.int64(reads.mate_positions[row])
    is_reverse = flags & _REVERSE != 0
    if (
        template == 0
        or template > _ADAPTOR_LENGTH
        or not flags & _PAIRED
        or flags & _MATE_UNMAPPED
        or is_reverse == (flags & _MATE_REVERSE != 0)
    ):
        return first, last
    if is_reverse:
        if last > mate + 1:
            return max(first, mate), last
    elif first <= mate + template:
        return first, min(last, first + abs(template))
    return first, last


@njit
def _add_read(
    reads: ReadColumns,
    row: int,
    sample: int,
    reference: NDArray[np.uint8],
    start: int,
    first: int,
    last: int,
    table: NDArray[np.int64],
    pileup: Pileup,
) -> None:
    """Add the elements of a read at the loci first to last, relative to `start`."""
    locus = np.int64(reads.positions[row]) - start
    base = reads.base_offsets[row]
    ratios, is_covered = pileup.ratios, pileup.is_covered
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        if locus >= last:
            break
        operation, length = reads.cigars[k] & 15, np.int64(reads.cigars[k] >> 4)
        left, right = max(locus, first), min(locus + length, last)
        if _ALIGNED >> operation & 1:
            shift = base - locus
            for at in range(left, right):
                here = np.int64(reads.qualities[at + shift])
                here += 256 * np.int64(reads.bases[at + shift] != reference[at])
                is_covered[sample, at] = True
                ratios[sample, at, 0] += table[here, 0]
                ratios[sample, at, 1] += table[here, 1]
            _add_ends(reads, row, k, sample, reference, locus, base, first, last, table, pileup)
        elif operation == DELETION:
            for at in range(left, right):
                is_covered[sample, at] = True
                ratios[sample, at, 0] += table[256 + DELETION_QUALITY, 0]
                ratios[sample, at, 1] += table[256 + DELETION_QUALITY, 1]
        if QUERY_OPERATIONS >> operation & 1:
            base += length
        if REFERENCE_OPERATIONS >> operation & 1:
            locus += length


@njit_inlined
def _add_ends(
    reads: ReadColumns,
    row: int,
    element: int,
    sample: int,
    reference: NDArray[np.uint8],
    locus: int,
    base: int,
    first: int,
    last: int,
    table: NDArray[np.int64],
    pileup: Pileup,
) -> None:
    """Make the first and last base of a CIGAR element alternate, if next to an indel or clip."""
    before = after = np.uint32(15)
    if element > reads.cigar_offsets[row]:
        before = reads.cigars[element - 1] & np.uint32(15)
    if element + 1 < reads.cigar_offsets[row + 1]:
        after = reads.cigars[element + 1] & np.uint32(15)
    if not (_BOUNDARIES >> before | _BOUNDARIES >> after) & 1:
        return
    length = np.int64(reads.cigars[element] >> 4)
    for end in range(2):
        at = locus if end == 0 else locus + length - 1
        is_boundary = (_BOUNDARIES >> (before if end == 0 else after)) & 1
        is_clip = (before if end == 0 else after) == SOFT_CLIP
        if length == 1:  # one base at both ends
            if end == 1:
                return
            is_boundary = 1
            is_clip = before == SOFT_CLIP or after == SOFT_CLIP
        if not is_boundary or at < first or at >= last:
            continue
        quality = np.int64(reads.qualities[base + at - locus])
        if reads.bases[base + at - locus] == reference[at]:
            for k in range(2):
                pileup.ratios[sample, at, k] += table[256 + quality, k] - table[quality, k]
        if is_clip and table[256 + quality, 1] != 0:
            pileup.clip_reads[at] += 1
            pileup.clip_bases[at] += _clipped_bases(reads, row)


@njit
def _clipped_bases(reads: ReadColumns, row: int) -> int:
    """Return the number of soft-clipped bases of high quality of a read."""
    bases = np.int64(0)
    base = reads.base_offsets[row]
    for k in range(reads.cigar_offsets[row], reads.cigar_offsets[row + 1]):
        operation, length = reads.cigars[k] & 15, np.int64(reads.cigars[k] >> 4)
        if operation == SOFT_CLIP:
            for at in range(base, base + length):
                bases += reads.qualities[at] > _MIN_CLIP_QUALITY
        if QUERY_OPERATIONS >> operation & 1:
            base += length
    return bases
