"""Parser of plain FASTA files in windows, whose stretches several threads read and parse.

A record is plain if its sequence has only letters and line ends. Files with anything else are left
to `FastaText`, which names the line of an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.files.byte_source import is_regular_file
from hapgpu.io.genome.fasta_text import FastaText
from hapgpu.runtime.inputs import note_position
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.runtime.pool import Pool

STRETCH_BYTES: Final = 1 << 20
"""Bytes per thread and window: few enough to be in the cache when bases are copied."""
_MIN_STRETCH: Final = 1 << 18
"""Bytes that are worth a thread."""

_NEWLINE, _RETURN, _MARK = b"\n\r>"
_CASE: Final = 32  # the bit in which letters of the two cases differ
_FIRST_LETTER: Final = ord("a")
_LETTERS: Final = 26
_BLOCK: Final = 128  # counts of a block fit 8 bits: a vector holds many


class NotPlainError(Exception):
    """A file has other records than plain ones, or one that `FastaText` refuses."""


class PlainFile(NamedTuple):
    """Bytes `start` to `end` of an open file."""

    descriptor: int
    start: int
    end: int


def plain_file(stream: BufferedReader) -> PlainFile | None:
    """Return the rest of a file on disk that is not inflated; None for another stream."""
    if not is_regular_file(stream):
        return None
    descriptor = stream.fileno()
    return PlainFile(descriptor, stream.tell(), os.fstat(descriptor).st_size)


@dataclass(slots=True)
class _Stretch:
    """Part of a window, which may start and end within a line.

    Attributes
    ----------
    text
        The bytes.
    spans
        int64[1 + n, 3]: of the line that began before the stretch, and of n header lines: start
        (without `>`), end, and the number of bases from there to the next header line.
    has_letters
        Whether the line that began before has only letters.
    headers
        The n header lines, joined by newlines.
    """

    text: NDArray[np.uint8]
    spans: NDArray[np.int64]
    has_letters: bool
    headers: bytes


class FastaWindows:
    """Plain records of a file.

    Parameters
    ----------
    file
        The file. The position of its descriptor is not used and does not change.
    text
        Receives the names and lengths of all records, but not the bases; empty before.
    pool
        Threads that read and parse.
    stretch_bytes
        Bytes per thread and window; the records do not depend on it.
    keeps_bases
        Whether bases are stored, or only counted.

    Attributes
    ----------
    bases
        uint8 text: all sequences, end to end.
    """

    def __init__(
        self,
        file: PlainFile,
        text: FastaText,
        pool: Pool,
        stretch_bytes: int = STRETCH_BYTES,
        *,
        keeps_bases: bool = True,
    ) -> None:
        self._file = file
        self._text = text
        self._pool = pool
        self._stretch_bytes = stretch_bytes
        # Pages of the memory that no base is written to are never allocated.
        size = max(file.end - file.start, 0)
        self._memory = np.empty(size, dtype=np.uint8) if keeps_bases else None
        self.bases = np.empty(0, dtype=np.uint8)
        self._total = 0
        self._headers = bytearray()  # of the records that have ended, with newlines
        self._lengths: list[int] = []
        self._header = bytearray()
        self._length = -1  # of the record that may go on; -1 before the first
        self._in_header = False
        self._at_line_start = True

    def windows(self) -> Iterator[int]:
        """Parse the file; yield, after each window, the bases of its longest record.

        Raises
        ------
        NotPlainError
            There are other records than plain ones, none, or one that is too long or has no name
            of its own.
        OSError
            The file cannot be read.
        """
        at, end = self._file.start, self._file.end
        size = max(min(self._pool.threads * self._stretch_bytes, end - at), 0)
        buffer = np.empty(size, dtype=np.uint8)
        while at < end:
            window = buffer[: end - at]
            yield self._parse(window, at)
            at += window.size
            note_position(self._text.name, at)
        self._end_record()
        self._add_ended()
        if self._memory is not None:
            self.bases = self._memory[: self._total]

    def _parse(self, window: NDArray[np.uint8], at: int) -> int:
        even = max(-(-window.size // self._pool.threads), _MIN_STRETCH)
        size = min(even, self._stretch_bytes)
        tasks = [
            self._pool.submit(self._scan, window[start : start + size], at + start)
            for start in range(0, window.size, size)
        ]
        # All tasks end before an error is raised: they use the file and the window.
        stretches = [found for found in self._pool.results(tasks) if found is not None]
        if len(stretches) < len(tasks):
            raise NotPlainError
        targets = [self._join(stretch) for stretch in stretches]
        if self._memory is not None:
            copy = partial(_copy, self._memory)
            pairs = zip(stretches, targets, strict=True)
            self._pool.results([self._pool.submit(copy, *pair) for pair in pairs])
        longest = max(self._length, max(self._lengths, default=0))
        self._add_ended()
        if not self._text.allows(len(self._header), self._length):
            raise NotPlainError
        return longest

    def _scan(self, text: NDArray[np.uint8], at: int) -> _Stretch | None:
        """Read and scan a stretch; return None if it is not plain."""
        done = 0
        while done < text.size:
            got = os.preadv(self._file.descriptor, [text[done:].data], at + done)
            if not got:  # the file became shorter
                return None
            done += got
        spans, count, has_letters = _find_headers(read_only(text))
        if not count:
            return None
        spans = spans[:count]
        headers = _join_headers(read_only(text), read_only(spans)).tobytes()
        return _Stretch(text, spans, bool(has_letters), headers)

    def _join(self, stretch: _Stretch) -> int:
        """Append a stretch to those before; return the number of their bases."""
        self._join_line(stretch)
        counts = stretch.spans[:, 2].tolist()
        self._length += counts[0]
        if len(counts) > 1:
            self._end_record()
            *others, last = stretch.headers.rsplit(b"\n", 1)
            for ended in others:
                self._headers += ended + b"\n"
            self._lengths += counts[1:-1]
            self._header, self._length = bytearray(last), counts[-1]
            self._in_header = int(stretch.spans[-1, 1]) == stretch.text.size
        self._at_line_start = int(stretch.text[-1]) in b"\n\r"
        before = self._total
        self._total += sum(counts)
        return before

    def _join_line(self, stretch: _Stretch) -> None:
        """Append the line that began before a stretch; if it has bases, add them to `spans`."""
        text = stretch.text.data
        end = int(stretch.spans[0, 1])
        if self._at_line_start and text[0] == _MARK:
            self._end_record()
            self._header, self._length = bytearray(text[1:end]), 0
            self._in_header = True
        elif self._in_header:
            self._header += text[:end]
        elif stretch.has_letters and self._length >= 0:
            stretch.spans[0, 1] = 0
            stretch.spans[0, 2] += end
        else:
            raise NotPlainError
        self._in_header &= end == len(text)

    def _end_record(self) -> None:
        """End the record that might have gone on, if there is one."""
        if self._length >= 0:
            self._headers += self._header + b"\n"
            self._lengths.append(self._length)

    def _add_ended(self) -> None:
        """Move the records that have ended to the text."""
        if not self._text.add(self._headers[:-1], self._lengths):
            raise NotPlainError
        self._headers.clear()
        self._lengths.clear()


def _copy(out: NDArray[np.uint8], stretch: _Stretch, target: int) -> None:
    _copy_bases(read_only(stretch.text), read_only(stretch.spans), out, target)


@njit
def _find_headers(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Integer, bool]:
    """Return `spans` of a stretch, its number of rows, and `has_letters`.

    The number is 0 if a byte of a sequence is not a letter.
    """
    marks = _count_marks(data)
    spans = np.empty((marks + 1, 3), dtype=np.int64)
    end, has_letters = _line_end(data, np.int64(0))
    spans[0, 0], spans[0, 1] = 0, end
    for row in range(marks + 1):
        end, spans[row, 2] = _sequence_end(data, end)
        if end == data.size:
            return spans, row + 1, has_letters
        if data[end] != _MARK or not _is_line_end(data[np.uint64(end - 1)]):
            break
        spans[row + 1, 0] = end + 1
        end, _ = _line_end(data, end + 1)
        spans[row + 1, 1] = end
    return spans, 0, has_letters


@njit
def _join_headers(data: NDArray[np.uint8], spans: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the header lines of a stretch, joined by newlines."""
    size = max(np.sum(spans[1:, 1] - spans[1:, 0]) + spans.shape[0] - 2, 0)
    out = np.empty(size, dtype=np.uint8)
    filled = 0
    for row in range(1, spans.shape[0]):
        if row > 1:
            out[filled] = _NEWLINE
            filled += 1
        width = spans[row, 1] - spans[row, 0]
        copy_bytes(data, spans[row, 0], out, filled, width)
        filled += width
    return out


@njit
def _count_marks(data: NDArray[np.uint8]) -> Integer:
    """Count all `>`, those within lines included."""
    count = np.int64(0)
    for start in range(0, data.size, _BLOCK):
        found = np.uint8(0)
        for k in range(np.uint64(start), np.uint64(min(start + _BLOCK, data.size))):
            found = np.uint8(found + (data[k] == _MARK))
        count += np.int64(found)
    return count


@njit_inlined
def _is_line_end(byte: Integer) -> bool:
    return bool((byte == _NEWLINE) | (byte == _RETURN))


@njit_inlined
def _is_letter(byte: Integer) -> bool:
    return bool(np.uint8((byte | _CASE) - _FIRST_LETTER) < _LETTERS)


@njit
def _count_block(data: NDArray[np.uint8], at: Integer) -> tuple[Integer, Integer]:
    """Count the letters and the line ends of a block."""
    start = np.uint64(at)
    letters, line_ends = np.uint8(0), np.uint8(0)
    for k in range(np.uint64(_BLOCK)):
        byte = data[start + k]
        letters = np.uint8(letters + _is_letter(byte))
        line_ends = np.uint8(line_ends + _is_line_end(byte))
    return np.int64(letters), np.int64(line_ends)


@njit
def _line_end(data: NDArray[np.uint8], at: Integer) -> tuple[Integer, bool]:
    """Return the offset of the next line end, and whether all bytes before it are letters."""
    while at + _BLOCK <= data.size and _count_block(data, at)[0] == _BLOCK:
        at += _BLOCK
    has_letters = True
    while at < data.size and not _is_line_end(data[at]):
        has_letters &= _is_letter(data[at])
        at += 1
    return at, has_letters


@njit
def _sequence_end(data: NDArray[np.uint8], at: Integer) -> tuple[Integer, Integer]:
    """Return the offset of the next byte that is neither letter nor line end, and the letters."""
    count = np.int64(0)
    while at < data.size:
        end = at + _BLOCK
        if end <= data.size:
            letters, line_ends = _count_block(data, at)
            if letters + line_ends == _BLOCK:
                count += letters
                at = end
                continue
        end = min(end, data.size)
        while at < end and (_is_letter(data[at]) or _is_line_end(data[at])):
            count += _is_letter(data[at])
            at += 1
        if at < end:
            break
    return at, count


@njit
def _copy_bases(
    data: NDArray[np.uint8], spans: NDArray[np.int64], out: NDArray[np.uint8], target: Integer
) -> None:
    """Copy the bases of a stretch, to row `target` of `out` on."""
    rows = spans.shape[0]
    for row in range(rows):
        end = spans[row + 1, 0] - 1 if row + 1 < rows else data.size
        _copy_lines(data, spans[row, 1], end, out, target)
        target += spans[row, 2]


@njit
def _copy_lines(
    data: NDArray[np.uint8], at: Integer, end: Integer, out: NDArray[np.uint8], target: Integer
) -> None:
    """Copy the lines between two offsets without their line ends."""
    usual: Integer = 0  # most lines of a file have the same width
    while at < end:
        width: Integer = usual
        if at + usual >= end or not _is_line(data, at, usual):
            width = min(_line_end(data, at)[0], end) - at
            usual = max(width, 1)
        copy_bytes(data, at, out, target, width)
        at += width + 1
        target += width


@njit
def _is_line(data: NDArray[np.uint8], at: Integer, width: Integer) -> bool:
    """Tell whether the first line end from `at` is after `width` bytes."""
    start = np.uint64(at)
    if not _is_line_end(data[np.uint64(at + width)]):
        return False
    line_ends = np.uint8(0)
    for k in range(np.uint64(width)):
        line_ends |= np.uint8(_is_line_end(data[start + k]))
    return bool(line_ends == 0)
