"""Mates of realigned reads: the other read of the fragment in the same active region."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.batches import RegionReads

NO_MATE: Final = -1

_PAIRED, _PROPER_PAIR, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x1, 0x2, 0x8, 0x10, 0x20
_SEGMENT, _NOT_PRIMARY = 0xC0, 0x900


def mates_in_regions(
    reads: RegionReads, flags: NDArray[np.uint16], fragments: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return int64[m]: the row of the mate of each read in its active region, or `NO_MATE`.

    Two primary records are mates if no other of the active region has their name and sample, and
    one is the first and one the last segment.

    Parameters
    ----------
    reads
        m reads.
    flags
        uint16[m], SAM flags.
    fragments
        int64[m]: a number for each name and sample.
    """
    segments = flags & _SEGMENT
    is_segment = (segments != 0) & (segments != _SEGMENT)
    can_have = (flags & _PAIRED > 0) & (flags & _NOT_PRIMARY == 0) & is_segment
    rows = np.flatnonzero(can_have)
    regions = reads.regions
    rows = rows[np.lexsort((fragments[rows], regions[rows]))]
    is_same = np.zeros(rows.size + 1, dtype=np.bool_)  # as the row before
    one, other = rows[:-1], rows[1:]
    is_same[1:-1] = (regions[one] == regions[other]) & (fragments[one] == fragments[other])
    firsts = np.flatnonzero(~is_same[:-2] & is_same[1:-1] & ~is_same[2:])
    one, other = rows[firsts], rows[firsts + 1]
    differ = segments[one] != segments[other]
    mates = np.full(len(reads), NO_MATE, dtype=np.int64)
    mates[one[differ]] = other[differ]
    mates[other[differ]] = one[differ]
    return mates


def with_mates(records: ReadBatch, reads: RegionReads, mates: NDArray[np.int64]) -> ReadBatch:
    """Return records with the mate fields and flags of their mates.

    Template lengths are differences of 5' ends, as in `samtools fixmate`. A read without a mate
    claims nothing about it.

    Parameters
    ----------
    records
        m records of one contig.
    reads
        Their alignments.
    mates
        int64[m], as `mates_in_regions` returns them.
    """
    flags = records.flags
    has_mate = mates != NO_MATE
    known = np.where(has_mate, mates, 0)
    own_flags = flags & ~np.uint16(_PROPER_PAIR | _MATE_UNMAPPED | _MATE_REVERSE)
    of_mate = flags & _PROPER_PAIR | np.where(flags[known] & _REVERSE, _MATE_REVERSE, 0)
    five_prime = np.where(flags & _REVERSE, reads.ends, reads.starts)
    lengths = np.where(has_mate, five_prime[known] - five_prime, 0)
    return replace(
        records,
        flags=(own_flags | np.where(has_mate, of_mate, 0)).astype(np.uint16),
        mate_reference_ids=np.where(has_mate, records.reference_ids, -1).astype(np.int32),
        mate_positions=np.where(has_mate, reads.starts[known], -1).astype(np.int32),
        template_lengths=lengths.astype(np.int32),
    )
