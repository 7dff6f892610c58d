"""Tandem repeats in reads, counted as in GATK's model of PCR indel errors."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bits import trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, copy_memory, read_64, read_u8, write_8
from hapgpu.runtime.jit import njit, njit_inlined

MAX_COPIES: Final = 20
"""Upper limit of the number of copies counted."""

PADDING: Final = 8
"""Bytes that `count_row` writes after a read: a word may begin at its last base."""
_NO_BASE: Final = 128
"""The first of the bytes after a read, which differ from all bases and from each other."""
_LONGEST_UNIT: Final = 8
_WORD: Final = 8
_LONGEST_RUN: Final = 4
"""Bases in a row, at most, that are asked for at once."""
_LOW_BITS: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_0, _3, _8 = map(np.uint64, (0, 3, 8))


@njit
def count_row(bases: Memory, padded: Memory, counts: Memory) -> None:
    """Count the copies of the repeat that an indel after each base of a read would change.

    The unit is the shortest sequence of 1 to 8 bases with at least two copies right after the
    base; without one, the next base. Its copies are counted in both directions. (GATK also looks
    for a unit that ends at the base, but always uses the number of copies of the unit after it.)

    Repeats of one base are counted first; then the few repeats of longer units are searched for,
    the shortest last, since it is the one that counts.

    Parameters
    ----------
    bases
        ASCII text of the read; compared byte by byte, so that N repeats N.
    padded
        Scratch memory for as many bytes, and `PADDING` more.
    counts
        Receives a byte for each base: 1 to `MAX_COPIES`; 0 at the last base.
    """
    size = bases.size
    if size == 0:
        return
    _count_single_bases(bases, counts)
    copy_memory(padded, 0, bases, 0, size)
    for k in range(PADDING):
        write_8(padded, size + k, _NO_BASE + k)
    for unit in range(_LONGEST_UNIT, 1, -1):
        _count_units(padded, size, unit, counts)


@njit_inlined
def _count_single_bases(bases: Memory, counts: Memory) -> None:
    """Write for each base the length of the run of equal bases that holds the next one."""
    length = np.int64(0)
    for at in range(1, bases.size):
        is_same = read_u8(bases, at) == read_u8(bases, at - 1)
        length = 1 + max(length, np.int64(1)) * is_same
        write_8(counts, at - 1, min(length, np.int64(MAX_COPIES)))
    write_8(counts, bases.size - 1, 0)
    for at in range(bases.size - 2, 0, -1):
        is_same = read_u8(bases, at) == read_u8(bases, at + 1)
        write_8(counts, at - 1, read_u8(counts, at if is_same else at - 1))


@njit_inlined
def _count_units(bases: Memory, size: Integer, unit: Integer, counts: Memory) -> None:
    """Write the copies of units of one length, at least 2, that repeat after a base.

    In a repeat, at least as many bases as the unit has equal the base one unit further on. Words of
    eight bases are compared, for up to 4 of these in a row: few branches are mispredicted.
    """
    step = _WORD + 1 - min(unit, _LONGEST_RUN)
    at = np.int64(0)
    while at < size - unit:
        hits = _equal_runs(bases, at, unit)
        if hits == _0:
            at += step
            continue
        first = at + np.int64(trailing_zeros(hits) >> _3)
        last = first + 1
        while first > 0 and _repeats(bases, first - 1, unit):
            first -= 1
        while _repeats(bases, last, unit):
            last += 1
        for base in range(max(first, np.int64(1)), last - unit + 1):
            if not _repeats(bases, base, 1):
                copies = 1 + (last - base) // unit + (base - first) // unit
                write_8(counts, base - 1, min(copies, np.int64(MAX_COPIES)))
        at = last


@njit_inlined
def _equal_runs(bases: Memory, at: Integer, unit: Integer) -> Integer:
    """Return a word: which of eight bases begin a run of bases that equal those a unit after."""
    bits = np.uint64(read_64(bases, at) ^ read_64(bases, at + unit))
    runs = ~((bits & _LOW_BITS) + _LOW_BITS | bits | _LOW_BITS)
    runs &= runs >> _8
    if unit > 2:
        runs &= runs >> _8
    if unit > 3:
        runs &= runs >> _8
    return runs


@njit_inlined
def _repeats(bases: Memory, at: Integer, unit: Integer) -> bool:
    """Tell whether a base equals the one a unit further on."""
    return bool(read_u8(bases, at) == read_u8(bases, at + unit))
