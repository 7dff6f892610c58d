"""Lines of PAF to columns, in compiled code."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.report.identities import identity_of
from hapgpu.report.line_blocks import name_digest, starts_with
from hapgpu.runtime.jit import njit, njit_inlined


class PafColumn(IntEnum):
    """Columns of a line; names as offsets in the text and 64-bit digests."""

    QUERY = 0
    QUERY_END = auto()
    QUERY_DIGEST = auto()
    LENGTH = auto()
    START = auto()
    END = auto()
    REVERSE = auto()
    TARGET = auto()
    TARGET_END = auto()
    TARGET_DIGEST = auto()
    TARGET_LENGTH = auto()
    TARGET_START = auto()
    TARGET_STOP = auto()
    MATCHES = auto()
    SPAN = auto()
    QUALITY = auto()
    SECONDARY = auto()
    IDENTITY = auto()


UNMAPPED: Final = 2
"""`REVERSE` of a line without a mapping."""
NO_IDENTITY: Final = -1
"""`IDENTITY` of a line without a CIGAR or without its edit distance."""
COLUMNS: Final = len(PafColumn)

_TAB, _NEWLINE, _RETURN, _ZERO, _NINE = b"\t\n\r09"
_PLUS, _MINUS, _STAR = b"+-*"
_SECONDARY_TAG: Final = np.frombuffer(b"tp:A:S", dtype=np.uint8)
_DISTANCE_TAG: Final = np.frombuffer(b"NM:i:", dtype=np.uint8)
_CIGAR_TAG: Final = np.frombuffer(b"cg:Z:", dtype=np.uint8)
_IN_SPAN: Final = np.isin(np.arange(256), np.frombuffer(b"M=XID", dtype=np.uint8))
_MAX_NUMBER: Final = 2**40


@njit
def parse_lines(data: NDArray[np.uint8], out: NDArray[np.int64]) -> tuple[Integer, Integer]:
    """Parse lines until the text ends, a line is malformed, or `out` is full.

    Parameters
    ----------
    data
        uint8: whole lines.
    out
        int64[n, columns], a row per line.

    Returns
    -------
    tuple of int
        Number of parsed lines, and the offset after them.
    """
    text = memory_of(data)
    at = np.int64(0)
    row = np.int64(0)
    while at < text.size and row < out.shape[0]:
        end = at
        while end < text.size and read_u8(text, end) != _NEWLINE:
            end += 1
        stop = end - 1 if end > at and read_u8(text, end - 1) == _RETURN else end
        if not _parse_line(text, at, stop, out[row]):
            break
        row += 1
        at = min(end + 1, np.int64(text.size))
    return row, at


@njit_inlined
def _field_end(text: Memory, at: Integer, end: Integer) -> Integer:
    while at < end and read_u8(text, at) != _TAB:
        at += 1
    return at


@njit
def _parse_line(text: Memory, at: Integer, end: Integer, out: NDArray[np.int64]) -> bool:
    """Write the columns of a line; return whether it is well-formed."""
    at = _name(text, at, end, out[0:3])
    for column in range(3, 6):
        at = _number(text, at, end, out[column : column + 1])
    if at < 0 or at + 1 >= end or read_u8(text, at + 1) != _TAB:
        return False
    strand = read_u8(text, at)
    if strand not in (_PLUS, _MINUS, _STAR):
        return False
    out[6] = 1 if strand == _MINUS else 2 if strand == _STAR else 0
    at = _name(text, at + 2, end, out[7:10])
    for column in range(10, 16):
        at = _number(text, at, end, out[column : column + 1])
    if at < 0:
        return False
    _parse_tags(text, at, end, out)
    if out[6] == 2:
        return True
    return bool(out[4] <= out[5] and out[5] <= out[3] and out[11] <= out[12] and out[12] <= out[10])


@njit
def _parse_tags(text: Memory, at: Integer, end: Integer, out: NDArray[np.int64]) -> None:
    """Write whether a mapping is secondary, and its identity."""
    out[16] = 0
    distance: Integer = np.int64(NO_IDENTITY)
    span: Integer = np.int64(0)
    while at < end:
        stop = _field_end(text, at, end)
        if starts_with(text, at, stop, _SECONDARY_TAG):
            out[16] = 1
        elif starts_with(text, at, stop, _DISTANCE_TAG):
            distance = _digits(text, at + _DISTANCE_TAG.size, stop)
        elif starts_with(text, at, stop, _CIGAR_TAG):
            span = _span(text, at + _CIGAR_TAG.size, stop)
        at = stop + 1
    out[17] = NO_IDENTITY
    if distance >= 0 and span > 0:
        out[17] = identity_of(distance, span)


@njit
def _name(text: Memory, at: Integer, end: Integer, out: NDArray[np.int64]) -> Integer:
    """Write start, end and digest of a name; return the offset after its tab, or -1."""
    if at < 0:
        return np.int64(-1)
    stop = _field_end(text, at, end)
    if stop == at or stop >= end:
        return np.int64(-1)
    out[0], out[1], out[2] = at, stop, name_digest(text, at, stop - at)
    return stop + 1


@njit
def _number(text: Memory, at: Integer, end: Integer, out: NDArray[np.int64]) -> Integer:
    """Write a number, 0 for a star; return the offset after its tab or its end, or -1."""
    if at < 0:
        return np.int64(-1)
    stop = _field_end(text, at, end)
    is_star = stop == at + 1 and read_u8(text, at) == _STAR
    value = np.int64(0) if is_star else _digits(text, at, stop)
    if value < 0:
        return np.int64(-1)
    out[0] = value
    return stop + 1


@njit
def _digits(text: Memory, at: Integer, end: Integer) -> Integer:
    """Return a number, or -1 for other text."""
    value = np.int64(0) if at < end else np.int64(-1)
    for k in range(at, end):
        if not _ZERO <= read_u8(text, k) <= _NINE:
            return np.int64(-1)
        value = min(10 * value + (read_u8(text, k) - _ZERO), np.int64(_MAX_NUMBER))
    return value


@njit
def _span(text: Memory, at: Integer, end: Integer) -> Integer:
    """Return the columns of an alignment by its CIGAR, without skipped bases."""
    span = np.int64(0)
    length = np.int64(0)
    for k in range(at, end):
        if _ZERO <= read_u8(text, k) <= _NINE:
            length = min(10 * length + (read_u8(text, k) - _ZERO), np.int64(_MAX_NUMBER))
        else:
            span = min(span + length * _IN_SPAN[read_u8(text, k)], np.int64(_MAX_NUMBER))
            length = np.int64(0)
    return span


@njit
def covered_lengths(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write the length of the union of the intervals of each group.

    Parameters
    ----------
    starts, ends
        int64[n]: the intervals, group by group.
    offsets
        int64[groups + 1]: the intervals of each group.
    out
        int64[groups]: the lengths.
    """
    for group in range(out.size):
        first, last = offsets[group], offsets[group + 1]
        order = np.argsort(starts[first:last])
        covered = np.int64(0)
        reached = np.int64(0)
        for k in order:
            start = max(starts[first + k], reached)
            covered += max(ends[first + k] - start, np.int64(0))
            reached = max(reached, ends[first + k])
        out[group] = covered
