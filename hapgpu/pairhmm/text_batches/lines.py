"""Lines of text batches, located and copied by compiled functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit

HEADER_FIELDS: Final = 2
READ_FIELDS: Final = 5
HAPLOTYPE_FIELDS: Final = 1
MAX_ROWS: Final = 2**31 - 1
PHRED_OFFSET: Final = 33
MAX_QUALITY: Final = 126 - PHRED_OFFSET

_MAX_DIGITS: Final = 10
_TAB, _NEWLINE, _RETURN, _BLANK, _ZERO, _NINE = b"\t\n\r 09"
_WHOLE, _CUT, _BAD = range(3)


@dataclass(frozen=True, slots=True)
class TextBatchLines:
    """Offsets of the lines of whole text batches in a text.

    Attributes
    ----------
    counts
        int64[2, text batches]: numbers of reads and of haplotypes.
    reads
        int64[6, reads]: the offsets of the five fields of each read, and their common length.
    haplotypes
        int64[2, haplotypes]: the offset and the length of each haplotype.
    end
        Offset after the text batches and the blank lines after them.
    fault
        Offset of the first malformed line after the whole text batches, -1 if there is none.
    fields
        The number of fields that the malformed line should have.
    """

    counts: NDArray[np.int64]
    reads: NDArray[np.int64]
    haplotypes: NDArray[np.int64]
    end: int
    fault: int
    fields: int

    @classmethod
    def measure(cls, text: NDArray[np.uint8]) -> TextBatchLines:
        """Locate the lines of a uint8 text that starts with a text batch; the last is complete."""
        lines = np.count_nonzero(text == _NEWLINE)
        counts = np.empty((HEADER_FIELDS, lines), dtype=np.int64)
        reads = np.empty((READ_FIELDS + 1, lines), dtype=np.int64)
        haplotypes = np.empty((HAPLOTYPE_FIELDS + 1, lines), dtype=np.int64)
        text_batches, end, fault, fields = _measure_text_batches(text, counts, reads, haplotypes)
        counts = counts[:, :text_batches]
        n, h = counts.sum(axis=1)
        return cls(counts, reads[:, :n], haplotypes[:, :h], end, fault, fields)


@njit
def _measure_text_batches(
    text: NDArray[np.uint8],
    counts: NDArray[np.int64],
    reads: NDArray[np.int64],
    haplotypes: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Fill the tables, which have a column per line; return text batches, end, fault, fields."""
    spans = np.empty((READ_FIELDS, 2), dtype=np.int64)
    text_batches = first_read = first_haplotype = start = 0
    while start < text.size:
        found, at = _split(text, start, spans)
        if found == 0:
            start = at
            continue
        if found != HEADER_FIELDS:
            return text_batches, start, start, HEADER_FIELDS
        n, h = _number(text, spans[0, 0], spans[0, 1]), _number(text, spans[1, 0], spans[1, 1])
        if n < 0 or h < 0:
            return text_batches, start, start, HEADER_FIELDS
        at, state = _measure_rows(text, at, n, reads, first_read, spans)
        fields = READ_FIELDS
        if state == _WHOLE:
            at, state = _measure_rows(text, at, h, haplotypes, first_haplotype, spans)
            fields = HAPLOTYPE_FIELDS
        if state != _WHOLE:
            return text_batches, start, at if state == _BAD else -1, fields
        counts[0, text_batches] = n
        counts[1, text_batches] = h
        text_batches += 1
        first_read += n
        first_haplotype += h
        start = at
    return text_batches, start, -1, HEADER_FIELDS


@njit
def _measure_rows(
    text: NDArray[np.uint8],
    at: int,
    rows: int,
    table: NDArray[np.int64],
    first: int,
    spans: NDArray[np.int64],
) -> tuple[int, int]:
    """Fill columns of a table from lines; return the offset of the next line, or of a bad one."""
    fields = table.shape[0] - 1
    for row in range(first, first + rows):
        if at == text.size:
            return at, _CUT
        found, next_line = _split(text, at, spans)
        if found != fields:
            return at, _BAD
        length = spans[0, 1] - spans[0, 0]
        for k in range(fields):
            table[k, row] = spans[k, 0]
            if spans[k, 1] - spans[k, 0] != length:
                return at, _BAD
        table[fields, row] = length
        at = next_line
    return at, _WHOLE


@njit
def _split(text: NDArray[np.uint8], at: int, spans: NDArray[np.int64]) -> tuple[int, int]:
    """Find the spans of a line's first fields; return its number of fields and the next line."""
    found = 0
    while True:
        while _is_blank(text[at]):
            at += 1
        if text[at] == _NEWLINE:
            return found, at + 1
        start = at
        while text[at] > _BLANK or not (_is_blank(text[at]) or text[at] == _NEWLINE):
            at += 1
        if found < spans.shape[0]:
            spans[found, 0] = start
            spans[found, 1] = at
        found += 1


@njit
def last_header(text: NDArray[np.uint8]) -> int:
    """Return the offset of the last line of two fields that ends in `text`, uint8; 0 without any.

    In a file without faults, only the first lines of text batches have two fields.
    """
    spans = np.empty((HEADER_FIELDS, 2), dtype=np.int64)
    end = text.size
    while end > 0 and text[end - 1] != _NEWLINE:
        end -= 1
    while end > 0:
        start = end - 1
        while start > 0 and text[start - 1] != _NEWLINE:
            start -= 1
        if _split(text, start, spans)[0] == HEADER_FIELDS:
            return start
        end = start
    return 0


@njit
def line_end(text: NDArray[np.uint8], start: int) -> int:
    """Return the offset after the newline of a line; `start` if `text`, uint8, ends before."""
    for at in range(start, text.size):
        if text[at] == _NEWLINE:
            return at + 1
    return start


@njit
def _is_blank(character: Integer) -> bool:
    return bool(character in (_BLANK, _TAB, _RETURN))


@njit
def _number(text: NDArray[np.uint8], start: Integer, end: Integer) -> int:
    """Parse a number of rows; return -1 if it is not a number, or too large."""
    if end - start > _MAX_DIGITS:
        return -1
    number = 0
    for at in range(start, end):
        if text[at] < _ZERO or text[at] > _NINE:
            return -1
        number = 10 * number + text[at] - _ZERO
    return number if number <= MAX_ROWS else -1


@njit
def copy_fields(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    base: np.uint8,
    out: NDArray[np.uint8],
) -> int:
    """Copy fields, less 33 plus `base`; return the first row with a byte not printable, or -1.

    Parameters
    ----------
    text, starts
        uint8 and int64[n]: the text, and the start of each field.
    offsets
        int64[n + 1]: offsets of the fields in `out`.
    base
        Added to each byte.
    out
        uint8: receives the fields.
    """
    offset = np.uint8(PHRED_OFFSET)
    for row in range(starts.size):
        source, target = np.uint64(starts[row]), np.uint64(offsets[row])
        highest = np.uint8(0)
        for k in range(np.uint64(offsets[row + 1]) - target):
            quality = np.uint8(text[source + k] - offset)
            highest = max(highest, quality)
            out[target + k] = np.uint8(quality + base)
        if highest > MAX_QUALITY:
            return row
    return -1
