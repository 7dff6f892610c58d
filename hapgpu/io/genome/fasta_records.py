"""Whole records of FASTA found in one call, where they hold only letters and newlines."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit

_NEWLINE, _MARK = b"\n>"
_CASE: Final = 32  # the bit in which letters of the two cases differ
_FIRST_LETTER: Final = ord("a")
_LETTERS: Final = 26


class PlainRecords(NamedTuple):
    """n records of a text, end to end.

    Attributes
    ----------
    headers
        The header lines, without `>`.
    lengths
        int64[n]: bases of each record.
    bases
        uint8 text: all bases, end to end.
    lines
        Number of lines.
    end
        Offset of the first byte after the `>` that follows the last record.
    """

    headers: list[bytes]
    lengths: NDArray[np.int64]
    bases: NDArray[np.uint8]
    lines: int
    end: int


def plain_records(text: bytes, at: int) -> PlainRecords:
    r"""Return the records from `at`, the offset after a `>`, to the first that is not plain.

    A record is plain if another one follows it, and if its sequence has only letters and newlines;
    `\n` is the only line end.
    """
    most = text.count(b">", at)
    data = read_only(np.frombuffer(text, dtype=np.uint8))
    spans = np.empty((3, most), dtype=np.int64)
    bases = np.empty(len(text) - at if most else 0, dtype=np.uint8)
    count, lines, end = _find(data, at, spans, bases) if most else (0, 0, at)
    starts, ends, lengths = spans[:, :count]
    headers = [text[start:stop] for start, stop in zip(starts.tolist(), ends.tolist(), strict=True)]
    return PlainRecords(headers, lengths, bases[: lengths.sum()], int(lines), int(end))


@njit
def _find(
    data: NDArray[np.uint8], at: Integer, spans: NDArray[np.int64], out: NDArray[np.uint8]
) -> tuple[Integer, Integer, Integer]:
    """Set start and end of headers and the lengths of sequences; return count, lines and end."""
    end: Integer = at
    count, lines = 0, 0
    filled: Integer = 0
    width: Integer = 0  # of the line before: most lines of a file have the same
    while count < spans.shape[1]:
        here = end
        while here < data.size and data[here] != _NEWLINE:
            here += 1
        spans[0, count], spans[1, count] = end, here
        bases: Integer = filled
        newlines = 0
        while here < data.size and data[here] == _NEWLINE:
            newlines += 1
            here += 1
            if here == data.size or data[here] == _MARK:
                break
            width = _line_width(data, here, width)
            if not _copy_letters(data, here, out, bases, width):
                return count, lines, end
            here += width
            bases += width
        if here == data.size:
            return count, lines, end
        spans[2, count] = bases - filled
        filled = bases
        lines += newlines
        end = here + 1
        count += 1
    return count, lines, end


@njit
def _line_width(data: NDArray[np.uint8], at: Integer, guess: Integer) -> Integer:
    """Return the bytes to the next newline; the caller checks that a guess holds only letters."""
    if at + guess < data.size and data[at + guess] == _NEWLINE:
        return guess
    width = 0
    while at + width < data.size and data[at + width] != _NEWLINE:
        width += 1
    return width


@njit
def _copy_letters(
    data: NDArray[np.uint8],
    source: Integer,
    out: NDArray[np.uint8],
    target: Integer,
    count: Integer,
) -> bool:
    """Copy bytes; return whether all are letters."""
    start, to = np.uint64(source), np.uint64(target)
    others: Integer = 0
    for k in range(np.uint64(count)):
        byte = data[start + k]
        out[to + k] = byte
        others += np.uint8((byte | _CASE) - _FIRST_LETTER) >= _LETTERS
    return others == 0
