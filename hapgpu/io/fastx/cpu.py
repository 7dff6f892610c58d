"""Parser of blocks of FASTQ and FASTA on the CPU."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.limits import (
    AT_NAME,
    BAD_BASE,
    BAD_NAME,
    BAD_QUALITY,
    LONG_NAME,
    LONG_READ,
    NO_AT,
    NO_GREATER,
    NO_NAME,
    NO_PLUS,
    OTHER_NAME,
    PHRED,
    REASONS,
    TRUNCATED,
    UNEQUAL,
    UNKNOWN,
    WELL_FORMED,
    ReadLimits,
    bad_character,
    is_same_text,
    record_fault,
    without_mate,
)
from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans
from hapgpu.io.files.byte_source import count_newlines
from hapgpu.runtime.jit import njit

_NEWLINE, _RETURN, _TAB, _BLANK, _AT, _PLUS, _GREATER = b"\n\r\t @+>"
# uint8, as the bytes compared with them: mixed types would be widened, which stops vectorisation.
_FIRST_PRINTABLE, _PRINTABLE_COUNT = np.uint8(33), np.uint8(94)
_UPPER, _UNKNOWN = np.uint8(0xDF), np.uint8(UNKNOWN)
_NAMES, _NAME_LENGTHS, _BASES, _QUALITIES, _LENGTHS = range(5)
_PARTS: Final = {BAD_NAME: "name", BAD_BASE: "sequence", BAD_QUALITY: "qualities"}


class _Limits(NamedTuple):
    """`ReadLimits` for compiled code, except the letters: an array in here would cost time."""

    marker: int
    max_name: int
    max_bases: int
    for_sam: bool


def parse_block(block: ReadBlock, limits: ReadLimits) -> ReadSpans:
    """Find and check the parts of all reads of a block.

    Names end at the first blank or tab. A third line that is longer than `+` must repeat the first
    line. Blank lines may follow the last record, fewer than a record has.

    Raises
    ------
    InputError
        A record is malformed: truncated, without `@` (in FASTA `>`), `+` or a name, with a third
        line that differs from the first, different lengths, a byte that is not a base, not a
        quality or, in a name, not printable, or beyond the limits. The message names the file and
        the record.
    """
    text = read_only(block.text)
    lines = 2 if block.is_fasta else 4
    spans = np.empty((5, count_newlines(text) // lines), dtype=np.int32)
    marker = _GREATER if block.is_fasta else _AT
    reads, fault, start, at = _parse(
        text,
        _Limits(marker, limits.max_name, limits.max_bases, limits.for_sam),
        read_only(limits.base_table()),
        spans,
    )
    if fault != WELL_FORMED:
        reason = _reason(fault, int(text[at]), limits)
        raise record_fault(block.name, block.first + reads, text[start:], reason, bytes([marker]))
    return ReadSpans(
        name_starts=spans[_NAMES],
        name_lengths=spans[_NAME_LENGTHS],
        base_starts=spans[_BASES],
        quality_starts=spans[_QUALITIES],
        lengths=spans[_LENGTHS],
        has_qualities=not block.is_fasta,
    )


def _reason(fault: int, byte: int, limits: ReadLimits) -> str:
    if fault in _PARTS:
        return bad_character(byte, _PARTS[fault])
    if fault == LONG_READ:
        return f"its sequence is longer than {limits.max_bases:,} bases; split or remove the read"
    if fault == LONG_NAME:
        return f"its name is longer than {limits.max_name:,} characters; shorten it"
    return REASONS[fault]


@njit
def _parse(
    text: NDArray[np.uint8],
    limits: _Limits,
    letters: NDArray[np.uint8],
    spans: NDArray[np.int32],
) -> tuple[int, int, int, int]:
    """Fill the spans of all records; the number of lines gives the number of records.

    Return the number of well-formed records, the first fault, and the offsets of its record and
    its byte.
    """
    start = 0
    guess = 0  # lines are often as long as in the previous record
    for row in range(spans.shape[1]):
        fault, at = _parse_header(text, start, limits.marker, spans, row)
        if fault == WELL_FORMED:
            fault, at = _check_name(text, at, limits, spans, row)
        if fault == WELL_FORMED:
            fault, at = _parse_bases(text, at + 1, guess, letters, spans, row)
            if fault == WELL_FORMED and spans[_LENGTHS, row] > limits.max_bases:
                fault = LONG_READ
        if fault == WELL_FORMED and limits.marker == _AT:
            fault, at = _parse_qualities(text, at + 1, spans, row)
        if fault != WELL_FORMED:
            return row, fault, start, at
        guess = at - spans[_QUALITIES, row]
        start = at + 1
    fault = WELL_FORMED if _is_blank(text, start) else TRUNCATED
    return spans.shape[1], fault, start, start


# Each of these parses lines that end in a newline. It returns WELL_FORMED and the offset of the
# last newline, or a fault and, if the fault is a character, its offset.


@njit
def _parse_header(
    text: NDArray[np.uint8], start: int, marker: int, spans: NDArray[np.int32], row: int
) -> tuple[int, int]:
    if text[start] != marker:
        return NO_AT if marker == _AT else NO_GREATER, start
    name = start + 1
    end = _name_end(text, name)
    newline = _line_end(text, end)
    if text[end] != _BLANK and text[end] != _TAB and end < _content_end(text, end, newline):
        return BAD_NAME, end
    spans[_NAMES, row] = name
    spans[_NAME_LENGTHS, row] = end - name
    return WELL_FORMED, newline


@njit
def _check_name(
    text: NDArray[np.uint8],
    newline: int,
    limits: _Limits,
    spans: NDArray[np.int32],
    row: int,
) -> tuple[int, int]:
    name, length = spans[_NAMES, row], spans[_NAME_LENGTHS, row]
    if limits.for_sam:
        length = without_mate(text, name, name + length)
        spans[_NAME_LENGTHS, row] = length
    if length == 0:
        return NO_NAME, newline
    if length > limits.max_name:
        return LONG_NAME, newline
    if limits.for_sam and text[name] == _AT:
        return AT_NAME, newline
    return WELL_FORMED, newline


@njit
def _parse_bases(
    text: NDArray[np.uint8],
    bases: int,
    guess: int,
    letters: NDArray[np.uint8],
    spans: NDArray[np.int32],
    row: int,
) -> tuple[int, int]:
    newline = _guessed_line_end(text, bases, guess)
    length = _content_end(text, bases, newline) - bases
    if not _are_bases(text, bases, length, letters):
        return BAD_BASE, _first_unknown(text, bases, letters)
    spans[_BASES, row] = spans[_QUALITIES, row] = bases
    spans[_LENGTHS, row] = length
    return WELL_FORMED, newline


@njit
def _parse_qualities(
    text: NDArray[np.uint8], plus: int, spans: NDArray[np.int32], row: int
) -> tuple[int, int]:
    """Parse the third and the fourth line."""
    if text[plus] != _PLUS:
        return NO_PLUS, plus
    qualities = _line_end(text, plus + 1) + 1
    if not _repeats(text, plus + 1, spans[_NAMES, row]):
        return OTHER_NAME, plus
    newline = _guessed_line_end(text, qualities, plus - 1 - spans[_BASES, row])
    length = _content_end(text, qualities, newline) - qualities
    if not _are_printable(text, qualities, length):
        return BAD_QUALITY, _first_unknown(text, qualities, PHRED)
    if length != spans[_LENGTHS, row]:
        return UNEQUAL, qualities
    spans[_QUALITIES, row] = qualities
    return WELL_FORMED, newline


@njit
def _name_end(text: NDArray[np.uint8], start: int) -> int:
    """Return the offset of the first character that is not printable."""
    at = start
    while np.uint8(text[at] - _FIRST_PRINTABLE) < _PRINTABLE_COUNT:
        at += 1
    return at


@njit
def _line_end(text: NDArray[np.uint8], start: int) -> int:
    """Return the offset of the next newline, which must exist."""
    at = start
    while text[at] != _NEWLINE:
        at += 1
    return at


@njit
def _guessed_line_end(text: NDArray[np.uint8], start: int, guess: int) -> int:
    """Return the offset of the next newline, faster if it is at `start + guess`."""
    end = start + guess
    if end < text.size and text[end] == _NEWLINE and not _has_newline(text, start, guess):
        return end
    return _line_end(text, start)


@njit
def _content_end(text: NDArray[np.uint8], start: int, newline: int) -> int:
    """Return the end of a line, without a carriage return."""
    return newline - 1 if newline > start and text[newline - 1] == _RETURN else newline


@njit
def _has_newline(text: NDArray[np.uint8], start: int, length: int) -> bool:
    first = np.uint64(start)
    found = False
    for k in range(np.uint64(length)):
        found |= text[first + k] == _NEWLINE
    return found


@njit
def _are_bases(
    text: NDArray[np.uint8], start: int, length: int, letters: NDArray[np.uint8]
) -> bool:
    """Tell whether all bytes are bases; nearly always they are A, C, G, T or N."""
    first = np.uint64(start)
    known = True
    for k in range(np.uint64(length)):
        letter = text[first + k] & _UPPER
        known &= (letter == 65) | (letter == 67) | (letter == 71) | (letter == 84) | (letter == 78)
    if known:
        return True
    known = True
    for k in range(np.uint64(length)):
        known &= bool(letters[text[first + k]] != _UNKNOWN)
    return known


@njit
def _are_printable(text: NDArray[np.uint8], start: int, length: int) -> bool:
    first = np.uint64(start)
    known = True
    for k in range(np.uint64(length)):
        known &= bool(np.uint8(text[first + k] - _FIRST_PRINTABLE) < _PRINTABLE_COUNT)
    return known


@njit
def _first_unknown(text: NDArray[np.uint8], start: int, table: NDArray[np.uint8]) -> int:
    """Return the offset of the first byte that is unknown in a table; there must be one."""
    at = start
    while table[text[at]] != _UNKNOWN:
        at += 1
    return at


@njit
def _repeats(text: NDArray[np.uint8], line: int, first: int) -> bool:
    """Tell whether a line is empty, or equal to the first."""
    length = _content_end(text, line, _line_end(text, line)) - line
    if length == 0:
        return True
    if length != _content_end(text, first, _line_end(text, first)) - first:
        return False
    return is_same_text(text, first, line, length)


@njit
def _is_blank(text: NDArray[np.uint8], start: int) -> bool:
    """Tell whether only white space follows."""
    for at in range(start, text.size):
        if text[at] != _BLANK and not _TAB <= text[at] <= _RETURN:
            return False
    return True
