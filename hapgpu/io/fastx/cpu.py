"""Reads found and checked in a text, in bulk."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.faults import (
    AT_NAME,
    BAD_BASE,
    BAD_NAME,
    BAD_QUALITY,
    CUT_SHORT,
    LONG_NAME,
    LONG_READ,
    NO_AT,
    NO_GREATER,
    NO_NAME,
    NO_PLUS,
    OTHER_NAME,
    PHRED,
    REASONS,
    UNEQUAL,
    WELL_FORMED,
    bad_character,
    is_same_text,
    record_fault,
    without_mate,
)
from hapgpu.io.fastx.limits import UNKNOWN, ReadLimits
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.spans import ReadSpans
from hapgpu.io.files.newlines import count_newlines
from hapgpu.runtime.jit import njit

_NEWLINE, _RETURN, _TAB, _BLANK, _AT, _PLUS, _GREATER = b"\n\r\t @+>"
# Of the types of what they are compared with: mixed ones are widened, which stops vectorisation.
_FIRST_PRINTABLE, _PRINTABLE_COUNT = np.uint8(33), np.uint8(94)
_UPPER, _UNKNOWN = np.uint8(0xDF), np.uint8(UNKNOWN)
_NAMES, _NAME_LENGTHS, _BASES, _QUALITIES, _LENGTHS = range(5)
_PARTS: Final = {BAD_NAME: "name", BAD_BASE: "sequence", BAD_QUALITY: "qualities"}


class _Rules(NamedTuple):
    """`ReadLimits` for compiled code, but for the letters: an array in here would cost time."""

    marker: int
    longest_name: int
    max_bases: int
    for_sam: bool


def parse_block(block: ReadBlock, rules: ReadLimits) -> ReadSpans:
    """Find and check the parts of all reads of a block.

    Names end at the first blank or tab. A third line that is more
    than `+` has to repeat the first one. Behind the last record there may be blank lines, fewer
    than a record has.

    Raises
    ------
    InputError
        A record is malformed: cut short, without `@` (of FASTA `>`), `+` or a name, with a
        third line that differs from the first, lengths that differ, a byte that is no base, no
        quality or, in a name, not printable, or against the rules. The message names the file
        and the record.
    """
    text = read_only(block.text)
    lines = 2 if block.is_fasta else 4
    spans = np.empty((5, count_newlines(text) // lines), dtype=np.int32)
    marker = _GREATER if block.is_fasta else _AT
    reads, fault, begin, at = _parse(
        text,
        _Rules(marker, rules.longest_name, rules.max_bases, rules.for_sam),
        read_only(rules.base_table()),
        spans,
    )
    if fault != WELL_FORMED:
        reason = _reason(fault, int(text[at]), rules)
        raise record_fault(block.name, block.first + reads, text[begin:], reason, bytes([marker]))
    return ReadSpans(
        name_starts=spans[_NAMES],
        name_lengths=spans[_NAME_LENGTHS],
        base_starts=spans[_BASES],
        quality_starts=spans[_QUALITIES],
        lengths=spans[_LENGTHS],
        has_qualities=not block.is_fasta,
    )


def _reason(fault: int, byte: int, rules: ReadLimits) -> str:
    if fault in _PARTS:
        return bad_character(byte, _PARTS[fault])
    if fault == LONG_READ:
        return f"the read is longer than {rules.max_bases:,} bases"
    if fault == LONG_NAME:
        return f"its name is longer than {rules.longest_name:,} characters"
    return REASONS[fault]


@njit
def _parse(
    text: NDArray[np.uint8],
    rules: _Rules,
    letters: NDArray[np.uint8],
    spans: NDArray[np.int32],
) -> tuple[int, int, int, int]:
    """Fill the spans of all records, of which there are as many as the text has lines for.

    Return how many are well-formed, the first fault, and where its record and its byte are.
    """
    begin = 0
    guess = 0  # lines are often as long as in the record before
    for row in range(spans.shape[1]):
        fault, at = _parse_header(text, begin, rules.marker, spans, row)
        if fault == WELL_FORMED:
            fault, at = _check_name(text, at, rules, spans, row)
        if fault == WELL_FORMED:
            fault, at = _parse_bases(text, at + 1, guess, letters, spans, row)
            if fault == WELL_FORMED and spans[_LENGTHS, row] > rules.max_bases:
                fault = LONG_READ
        if fault == WELL_FORMED and rules.marker == _AT:
            fault, at = _parse_qualities(text, at + 1, spans, row)
        if fault != WELL_FORMED:
            return row, fault, begin, at
        guess = at - spans[_QUALITIES, row]
        begin = at + 1
    fault = WELL_FORMED if _is_blank(text, begin) else CUT_SHORT
    return spans.shape[1], fault, begin, begin


# Each of these takes a line that has its newline. It returns WELL_FORMED and the newline behind
# what it took, or a fault and, if the fault is a character, its place.


@njit
def _parse_header(
    text: NDArray[np.uint8], begin: int, marker: int, spans: NDArray[np.int32], row: int
) -> tuple[int, int]:
    if text[begin] != marker:
        return NO_AT if marker == _AT else NO_GREATER, begin
    name = begin + 1
    stop = _name_end(text, name)
    newline = _line_end(text, stop)
    if text[stop] != _BLANK and text[stop] != _TAB and stop < _content_end(text, stop, newline):
        return BAD_NAME, stop
    spans[_NAMES, row] = name
    spans[_NAME_LENGTHS, row] = stop - name
    return WELL_FORMED, newline


@njit
def _check_name(
    text: NDArray[np.uint8],
    newline: int,
    rules: _Rules,
    spans: NDArray[np.int32],
    row: int,
) -> tuple[int, int]:
    name, length = spans[_NAMES, row], spans[_NAME_LENGTHS, row]
    if rules.for_sam:
        length = without_mate(text, name, name + length)
        spans[_NAME_LENGTHS, row] = length
    if length == 0:
        return NO_NAME, newline
    if length > rules.longest_name:
        return LONG_NAME, newline
    if rules.for_sam and text[name] == _AT:
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
    """Take the third line too."""
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
    """Return the first place that holds no printable character."""
    at = start
    while np.uint8(text[at] - _FIRST_PRINTABLE) < _PRINTABLE_COUNT:
        at += 1
    return at


@njit
def _line_end(text: NDArray[np.uint8], start: int) -> int:
    """Return the next newline, which has to be there."""
    at = start
    while text[at] != _NEWLINE:
        at += 1
    return at


@njit
def _guessed_line_end(text: NDArray[np.uint8], start: int, guess: int) -> int:
    """Return the next newline, faster where it is `guess` bytes away."""
    end = start + guess
    if end < text.size and text[end] == _NEWLINE and not _has_newline(text, start, guess):
        return end
    return _line_end(text, start)


@njit
def _content_end(text: NDArray[np.uint8], start: int, newline: int) -> int:
    """Return where a line ends, without a carriage return."""
    return newline - 1 if newline > start and text[newline - 1] == _RETURN else newline


@njit
def _has_newline(text: NDArray[np.uint8], start: int, length: int) -> bool:
    begin = np.uint64(start)
    found = False
    for k in range(np.uint64(length)):
        found |= text[begin + k] == _NEWLINE
    return found


@njit
def _are_bases(
    text: NDArray[np.uint8], start: int, length: int, letters: NDArray[np.uint8]
) -> bool:
    """Tell whether all bytes are bases; nearly always they are A, C, G, T or N."""
    begin = np.uint64(start)
    known = True
    for k in range(np.uint64(length)):
        letter = text[begin + k] & _UPPER
        known &= (letter == 65) | (letter == 67) | (letter == 71) | (letter == 84) | (letter == 78)
    if known:
        return True
    known = True
    for k in range(np.uint64(length)):
        known &= bool(letters[text[begin + k]] != _UNKNOWN)
    return known


@njit
def _are_printable(text: NDArray[np.uint8], start: int, length: int) -> bool:
    begin = np.uint64(start)
    known = True
    for k in range(np.uint64(length)):
        known &= bool(np.uint8(text[begin + k] - _FIRST_PRINTABLE) < _PRINTABLE_COUNT)
    return known


@njit
def _first_unknown(text: NDArray[np.uint8], start: int, table: NDArray[np.uint8]) -> int:
    """Return the first byte that the table does not know; there is one."""
    at = start
    while table[text[at]] != _UNKNOWN:
        at += 1
    return at


@njit
def _repeats(text: NDArray[np.uint8], line: int, first: int) -> bool:
    """Tell whether a line is empty, or the same as the first."""
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
