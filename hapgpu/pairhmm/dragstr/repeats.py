"""Tandem repeats of reads and of the reference, by DRAGstr's rules."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_u8
from hapgpu.arrays.ragged_view import RaggedView, longest_row, read_only
from hapgpu.runtime.jit import njit

LAST_OPEN: Final = 45
LAST_CONTINUATION: Final = 10
"""Gap open and continuation of the last base of a read."""
REACH: Final = 250
"""Bases on either side of a locus in which its repeat is counted."""


@njit
def put_penalties(
    bases: RaggedView,
    opens: NDArray[np.uint8],
    continuations: NDArray[np.uint8],
    out_opens: NDArray[np.uint8],
    out_continuations: NDArray[np.uint8],
) -> None:
    """Write the gap penalties of each base of n reads, as `DragstrPairHMMInputScoreImputator`.

    Parameters
    ----------
    bases
        uint8 text, n rows.
    opens, continuations
        uint8[p, c]: penalties by unit length and copies, see `DragstrParameters.read_penalties`.
    out_opens, out_continuations
        uint8 with the rows of `bases`: receive the penalties.
    """
    longest = longest_row(bases)
    periods, copies = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    text = memory_of(bases.data)
    max_period, max_copies = opens.shape
    for row in range(bases.offsets.size - 1):
        start, end = bases.offsets[row], bases.offsets[row + 1]
        find_repeats(part_of(text, start, end - start), max_period, periods, copies)
        for k in range(end - start):
            count = min(copies[k], np.int64(max_copies)) - 1
            out_opens[start + k] = opens[periods[k] - 1, count]
            out_continuations[start + k] = continuations[periods[k] - 1, count]
        if end > start:
            out_opens[end - 1] = LAST_OPEN
            out_continuations[end - 1] = LAST_CONTINUATION


@njit
def find_repeats(
    bases: Memory, max_period: int, periods: NDArray[np.int64], copies: NDArray[np.int64]
) -> None:
    """Write the repeat of each base of a read: of the units that hold it or start after it.

    The unit with most copies counts; of several, the shortest. Source: `DragstrReadSTRAnalyzer`.

    Parameters
    ----------
    bases
        ASCII text of the read, compared byte by byte.
    max_period
        Bases of the longest unit.
    periods, copies
        int64, at least as long as the read: receive the bases of the unit, and its copies.
    """
    for k in range(bases.size):
        periods[k], copies[k] = 1, 1
    for period in range(1, max_period + 1):
        start = np.int64(0)
        for at in range(bases.size - period + 1):
            is_end = at == bases.size - period
            if is_end or read_u8(bases, at) != read_u8(bases, at + period):
                if at - start >= period:
                    _put_repeat(start, at, period, periods, copies)
                start = np.int64(at + 1)


@njit
def _put_repeat(
    start: Integer,
    end: Integer,
    period: Integer,
    periods: NDArray[np.int64],
    copies: NDArray[np.int64],
) -> None:
    """Write a repeat at bases with fewer copies.

    The bases `start` to `end` equal those one period on. Units that start from `start` to `end`
    have `count` copies, or one less; each stretch of a period and a base has one with `count`. The
    base before the first unit counts, as one starts after it. DRAGEN has one copy less for the unit
    at the first base of a read: the bases before its next copy see one with `count` only if a copy
    that starts after the first base has it, too.
    """
    matches = end - start
    count = 1 + matches // period
    is_less = start == 0 and period > 1 and matches % period == 0
    for k in range(max(start - 1, 0), end + period):
        own = count - np.int64(is_less and k < period - 1)
        if own > copies[k]:
            periods[k], copies[k] = period, own


def locus_repeats(
    reference: NDArray[np.uint8], offsets: NDArray[np.int64], max_period: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the repeat at each of k loci of a reference, as `DragstrReferenceAnalyzer`.

    The unit is the one with most copies from the locus on, of several the shortest; its copies
    before the locus are added. Copies over `REACH` bases away do not count.

    Parameters
    ----------
    reference
        uint8 text.
    offsets
        int64[k]: loci.
    max_period
        Bases of the longest unit.

    Returns
    -------
    int64[k] each: bases of the unit, and its copies.
    """
    periods, copies = np.ones((2, offsets.size), dtype=np.int64)
    _put_loci(read_only(reference), read_only(offsets), max_period, periods, copies)
    return periods, copies


@njit
def _put_loci(
    reference: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    max_period: int,
    periods: NDArray[np.int64],
    copies: NDArray[np.int64],
) -> None:
    for locus in range(offsets.size):
        first = offsets[locus]
        end = min(first + REACH, np.int64(reference.size))
        for period in range(1, max_period + 1):
            at = first
            while at + period < end and reference[at] == reference[at + period]:
                at += 1
            count = 1 + (at - first) // period
            if count > copies[locus]:
                periods[locus], copies[locus] = period, count
        period = periods[locus]
        at = first
        low = max(first - REACH, np.int64(0))
        while (
            at > low and at - 1 + period < end and reference[at - 1] == reference[at - 1 + period]
        ):
            at -= 1
        copies[locus] += (first - at) // period
