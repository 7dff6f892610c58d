"""Lines of VCF to the columns of `VcfBatch`, in compiled code."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.text.positions import LAST_POSITION
from hapgpu.io.vcf.alleles import BASES
from hapgpu.io.vcf.batches import END, GENOTYPES
from hapgpu.io.vcf.records import FIXED_COLUMNS
from hapgpu.runtime.jit import njit, njit_inlined

_TAB, _NEWLINE, _RETURN, _ZERO, _NINE = b"\t\n\r09"
_COMMA, _POINT, _STAR, _LESS, _GREATER, _OPENING, _CLOSING = b",.*<>[]"
_IS_BASE: Final = np.isin(np.arange(256), np.frombuffer(BASES.encode(), dtype=np.uint8))
_MALFORMED: Final = -2
_MIN_SYMBOL: Final = 3  # `<`, a letter, `>`


class ParsedLines(NamedTuple):
    """Columns of `VcfBatch`, a row per line; rows of lines that are not parsed are undefined."""

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    alternatives: NDArray[np.int64]

    @classmethod
    def allocated(cls, count: int) -> ParsedLines:
        """Return arrays for a number of lines."""
        return cls(
            np.empty((count, END + 1), dtype=np.int64),
            np.empty(count, dtype=np.int64),
            np.empty(count, dtype=np.int64),
        )


def line_ends_of(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the offset of each newline, and of the end of a last line without one."""
    ends = np.flatnonzero(text == _NEWLINE)
    is_open = text.size > (int(ends[-1]) + 1 if ends.size else 0)
    return np.append(ends, text.size) if is_open else ends


@njit
def parse_lines(
    text: NDArray[np.uint8],
    line_ends: NDArray[np.int64],
    first: int,
    last: int,
    contig: NDArray[np.uint8],
    samples: int,
    out: ParsedLines,
) -> int:
    """Parse lines from `first` on, up to a line that differs in kind; return its number.

    That is a malformed line, one of another contig, or one with a smaller position than the line
    before it. `record_of` accepts the same lines.

    Parameters
    ----------
    text
        Lines.
    line_ends
        End of each line, see `line_ends_of`.
    first
        First line to parse.
    last
        Start of the record before it, see `VcfBatch.starts`; -1 on a new contig.
    contig
        Name of the contig.
    samples
        Number of samples that the header names.
    out
        A row per line.
    """
    for row in range(first, line_ends.size):
        start = line_ends[row - 1] + 1 if row else np.int64(0)
        end = line_ends[row]
        while end > start and text[end - 1] == _RETURN:
            end -= 1
        if not _find_columns(text, start, end, samples, out.columns[row]):
            return row
        if not _is_contig(text, start, out.columns[row, 1] - 1, contig):
            return row
        position = _position(text, out.columns[row, 1], out.columns[row, 2] - 1)
        if position - 1 < last:
            return row
        last = position - 1
        if not _are_bases(text, out.columns[row, 3], out.columns[row, 4] - 1):
            return row
        alternatives = _count_alternatives(text, out.columns[row, 4], out.columns[row, 5] - 1)
        if alternatives < 0:
            return row
        out.starts[row], out.alternatives[row] = last, alternatives
    return line_ends.size


@njit_inlined
def _find_columns(
    text: NDArray[np.uint8], start: Integer, end: Integer, samples: int, out: NDArray[np.int64]
) -> bool:
    """Write the offsets of the columns of a line; return whether it has them all."""
    at = start
    for column in range(FIXED_COLUMNS):
        out[column] = at
        while at < end and text[at] != _TAB:
            at += 1
        if at == out[column] or (at == end and column < FIXED_COLUMNS - 1):
            return False
        at += 1
    out[GENOTYPES] = out[END] = at
    if samples == 0:
        return True
    tabs = np.int64(0)
    for k in range(at, end):
        tabs += text[k] == _TAB
    out[END] = max(at, end)
    return bool(tabs == samples)


@njit_inlined
def _is_contig(
    text: NDArray[np.uint8], start: Integer, end: Integer, contig: NDArray[np.uint8]
) -> bool:
    if end - start != contig.size:
        return False
    same = np.int64(0)
    while same < contig.size and text[start + same] == contig[same]:
        same += 1
    return bool(same == contig.size)


@njit_inlined
def _position(text: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Return a position, or a number less than all for any other text."""
    position = np.int64(0)
    for k in range(start, end):
        if not _ZERO <= text[k] <= _NINE:
            return np.int64(_MALFORMED)
        position = min(10 * position + (text[k] - _ZERO), np.int64(LAST_POSITION + 1))
    return position if position <= LAST_POSITION else np.int64(_MALFORMED)


@njit_inlined
def _are_bases(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    at = start
    while at < end and _IS_BASE[text[at]]:
        at += 1
    return bool(at == end)


@njit
def _count_alternatives(text: NDArray[np.uint8], start: Integer, end: Integer) -> int:
    """Return the number of alleles of ALT; negative if one is malformed."""
    if end - start == 1 and text[start] == _POINT:
        return 0
    count, at = 0, start
    while at <= end:
        allele = at
        while at < end and text[at] != _COMMA:
            at += 1
        if at == allele:
            return _MALFORMED
        if not _are_bases(text, allele, at) and not _has_no_sequence(text, allele, at):
            return _MALFORMED
        count += 1
        at += 1
    return count


@njit
def _has_no_sequence(text: NDArray[np.uint8], start: Integer, end: Integer) -> bool:
    """Tell whether an allele is `*`, symbolic, a breakend or missing, as `alternative_alleles`."""
    if end - start == 1 and text[start] == _STAR:
        return True
    for k in range(start, end):
        if text[k] == _OPENING or text[k] == _CLOSING:
            return True
    if text[start] == _LESS:
        return bool(text[end - 1] == _GREATER and end - start >= _MIN_SYMBOL)
    return bool(text[start] == _POINT or text[end - 1] == _POINT)
