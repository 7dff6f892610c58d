"""Bases of reads that are used: without low-quality ends and adaptors."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.clipping import BaseRanges, aligned_interval, bases_before
from hapgpu.io.bam.constants import QUERY_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit

PAIRED: Final = 1
REVERSE: Final = 16
MATE_REVERSE: Final = 32
MATE_UNMAPPED: Final = 8


def has_mapped_mate(reads: ReadBatch) -> NDArray[np.bool_]:
    """Return bool[n]: whether a read is paired, and its mate has a position."""
    mask = reads.has_flags(PAIRED, MATE_UNMAPPED)
    return mask & (reads.mate_reference_ids >= 0) & (reads.mate_positions >= 0)


def usable_ranges(reads: ReadBatch, options: AssemblyOptions) -> BaseRanges:
    """Return the bases of n reads that are used, as GATK's AssemblyBasedCallerUtils.finalizeRegion.

    Soft clips of reads in well-defined fragments are kept, as far as they are on the contig, and
    others are removed; then bases of low quality at both ends; then bases in the adaptor.
    """
    ranges = BaseRanges(*np.empty((3, len(reads)), dtype=np.int64))
    mates = _Mates(
        read_only(reads.flags),
        read_only(has_mapped_mate(reads)),
        read_only(reads.mate_positions),
        read_only(reads.template_lengths),
    )
    _find_ranges(
        view_of(reads.cigars),
        read_only(reads.positions),
        view_of(reads.qualities),
        mates,
        options.min_base_quality,
        options.use_soft_clipped_bases,
        ranges,
    )
    return ranges


class _Mates(NamedTuple):
    """Fields of n reads that are about their mates."""

    flags: NDArray[np.uint16]
    is_mapped: NDArray[np.bool_]
    positions: NDArray[np.int32]
    template_lengths: NDArray[np.int32]


@njit
def _find_ranges(
    cigars: RaggedView,
    positions: NDArray[np.int32],
    qualities: RaggedView,
    mates: _Mates,
    min_quality: int,
    use_soft_clips: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    out: BaseRanges,
) -> None:
    """Fill in the ranges."""
    for row in range(positions.size):
        leading, trailing, bases = _soft_clips(cigars, row)
        origin = np.int64(positions[row]) - leading
        first, last = leading, bases - trailing
        start, end = aligned_interval(cigars, row, origin, first, last)
        if use_soft_clips and _is_well_defined(mates, row, start, end):
            first, last = max(np.int64(0), -origin), bases
        first, last = _without_low_ends(qualities, row, first, last, min_quality)
        start, end = aligned_interval(cigars, row, origin, first, last)
        if start < end and _is_well_defined(mates, row, start, end):
            mate, length = np.int64(mates.positions[row]), np.int64(mates.template_lengths[row])
            boundary = start + abs(length)
            if mates.flags[row] & REVERSE:
                boundary = mate - 1
                if start <= boundary < end:
                    first = bases_before(cigars, row, origin, boundary, 1)
            elif start <= boundary < end:
                last = bases_before(cigars, row, origin, boundary, 0)
        out.origins[row], out.starts[row], out.ends[row] = origin, first, last


@njit
def _soft_clips(cigars: RaggedView, row: Integer) -> tuple[Integer, Integer, Integer]:
    """Return the soft-clipped bases before and after the alignment, and all bases of the read."""
    leading, trailing, bases = np.int64(0), np.int64(0), np.int64(0)
    is_clipped = True
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k]) >> 4, np.int64(cigars.data[k]) & 15
        if operation != SOFT_CLIP:
            if QUERY_OPERATIONS >> operation & 1:
                is_clipped = False
        elif is_clipped:
            leading += length
        else:
            trailing += length
        if QUERY_OPERATIONS >> operation & 1:
            bases += length
    return leading, trailing, bases


@njit
def _is_well_defined(mates: _Mates, row: Integer, start: Integer, end: Integer) -> bool:
    """Tell whether the strands and positions of a read and its mate define a fragment."""
    length, flags = np.int64(mates.template_lengths[row]), np.int64(mates.flags[row])
    is_reverse = flags & REVERSE != 0
    if length == 0 or not mates.is_mapped[row] or is_reverse == (flags & MATE_REVERSE != 0):
        return False
    mate = np.int64(mates.positions[row])
    return bool(end > mate + 1 if is_reverse else start <= mate + length)


@njit
def _without_low_ends(
    qualities: RaggedView, row: Integer, first: Integer, last: Integer, min_quality: int
) -> tuple[Integer, Integer]:
    """Return the range of bases without bases of lower quality at both ends."""
    base = qualities.offsets[row]
    while last > first and qualities.data[base + last - 1] < min_quality:
        last -= 1
    while first < last and qualities.data[base + first] < min_quality:
        first += 1
    return first, last
