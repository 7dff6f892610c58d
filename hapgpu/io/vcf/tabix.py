"""Tabix index of VCF, made of the lines as they are written.

htslib would read the whole file again, and take longer for it than a run needs for a genomic VCF.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.deflater import PAYLOAD_BYTES, Sink
from hapgpu.runtime.jit import njit, njit_inlined

_TAB, _NEWLINE, _SEMICOLON, _LESS, _ZERO = b"\t\n;<0"
_NINE: Final = 9
_END: Final = np.frombuffer(b"END=", dtype=np.uint8)
_LEN: Final = np.frombuffer(b"LEN", dtype=np.uint8)
_NON_REF: Final = np.frombuffer(b"<NON_REF>", dtype=np.uint8)
_FIELDS: Final = 8
_POS, _ID, _REF, _ALT, _QUAL, _FILTER, _INFO, _FORMAT = range(_FIELDS)
"""Fields whose ends are known; a missing one ends at the end of the line."""
_MAX_DIGITS: Final = 9

_MIN_SHIFT: Final = 14
_DEPTH: Final = 5
_MAX_END: Final = 1 << 29
_META_BIN: Final = 37450
_MIN_BIN_BYTES: Final = 1 << 16
"""Bins that span fewer bytes of the file are merged into their parent, as htslib does."""
_MAX_CONTIGS: Final = 4096
"""Contigs with lines: with more, each has few lines, and htslib is faster."""
_MIN_LINE: Final = 8
"""Bytes of a line, at least: eight columns have seven tabulators, and the line ends."""
_HEAD: Final = struct.Struct("<4s8i")
_VCF: Final = (2, 1, 2, 0, ord("#"), 0)
"""Format, columns of contig, start and end, first character of headers, and lines to skip."""

_START, _BIN, _WINDOW, _LINES = range(4)
_UNUSUAL: Final = -1


class BlockStarts:
    """Sink of BGZF blocks that notes where each starts.

    Parameters
    ----------
    output
        Receives the blocks; each call of `write` gets whole blocks.

    Attributes
    ----------
    starts
        int64: the offset of each block, the last one, without content, included.
    """

    def __init__(self, output: Sink) -> None:
        self._output = output
        self._end = 0
        self.starts = array("q")

    def write(self, data: memoryview) -> None:
        """Append blocks."""
        at = 0
        while at < len(data):
            self.starts.append(self._end + at)
            at += (data[at + 16] | data[at + 17] << 8) + 1  # BSIZE
        self._end += at
        self._output.write(data)


@dataclass(slots=True)
class _Contig:
    """Rows of a contig, in parts.

    Attributes
    ----------
    name
        The name.
    state
        int64[4]: last start and bin, end of the windows with a row, and number of lines.
    chunks
        int64[c, 2] each: bin, and offset of the line from which on lines are in it.
    windows
        int64[w, 2] each: end of a range of windows of 2**14 bases, which begins where the one
        before ends; and offset of the first line that overlaps one of them.
    """

    name: bytes
    state: NDArray[np.int64] = field(default_factory=lambda: np.array([0, -1, 0, 0]))
    chunks: list[NDArray[np.int64]] = field(default_factory=list)
    windows: list[NDArray[np.int64]] = field(default_factory=list)


class TabixIndex:
    """Index of lines of VCF.

    htslib decides about lines that it finds faulty, or whose end depends on its version: those with
    other symbolic alleles than `<NON_REF>`, or with lengths. After the first, or with more than
    `_MAX_CONTIGS` contigs, there is no index.

    Parameters
    ----------
    header_bytes
        Size of the header, which is before the lines.
    """

    def __init__(self, header_bytes: int) -> None:
        self._size = header_bytes
        self._contigs: list[_Contig] = []
        self._names: set[bytes] = set()
        self._is_usual = True

    def add(self, lines: bytes) -> None:
        """Add whole lines, sorted by contig and position."""
        self._is_usual = self._is_usual and (not lines or lines[-1] == _NEWLINE)
        text = np.frombuffer(lines, dtype=np.uint8)
        at: Integer = 0
        while self._is_usual and at < len(lines):
            contig = self._contig_at(lines, at)
            room = (len(lines) - at) // _MIN_LINE + 1
            chunks = np.empty((room, 2), dtype=np.int64)
            windows = np.empty((room, 2), dtype=np.int64)
            name = np.frombuffer(contig.name, dtype=np.uint8)
            end, count, window_count = _scan(
                read_only(text), at, self._size, name, contig.state, chunks, windows
            )
            self._is_usual = self._is_usual and bool(end > at)  # -1 after an unusual line
            contig.chunks.append(chunks[:count].copy())
            contig.windows.append(windows[:window_count].copy())
            at = end
        self._size += len(lines)
        if not self._is_usual:
            self._contigs.clear()

    def _contig_at(self, lines: bytes, at: Integer) -> _Contig:
        """Return the contig of the line at an offset: the last one, or a new one."""
        name = lines[at : max(lines.find(b"\t", at), at)]
        if not self._contigs or name != self._contigs[-1].name:
            is_name = name and name[:1] != b"#" and b"\n" not in name
            is_new = name not in self._names and len(self._names) < _MAX_CONTIGS
            self._is_usual = bool(is_name) and is_new
            self._names.add(name)
            self._contigs.append(_Contig(name))
        return self._contigs[-1]

    def content(self, block_starts: array[int]) -> bytes | None:
        """Return the index, not deflated; None if htslib has to make it.

        Parameters
        ----------
        block_starts
            int64: the offset of each block of the file, the last one, without content, included.
        """
        if not self._contigs:
            return None
        names = b"".join(contig.name + b"\0" for contig in self._contigs)
        parts = [_HEAD.pack(b"TBI\1", len(self._contigs), *_VCF, len(names)), names]
        starts = np.array(block_starts, dtype=np.int64)
        firsts = [int(contig.chunks[0][0, 1]) for contig in self._contigs]
        ends = _virtual(np.array([*firsts[1:], self._size]), self._size, starts)
        for contig, end in zip(self._contigs, ends.tolist(), strict=True):
            chunks, windows = np.concatenate(contig.chunks), np.concatenate(contig.windows)
            chunks[:, 1] = _virtual(chunks[:, 1], self._size, starts)
            windows[:, 1] = _virtual(windows[:, 1], self._size, starts)
            parts += [_bins_content(chunks, end, int(contig.state[_LINES]))]
            parts += [_linear_content(windows)]
        return b"".join([*parts, struct.pack("<Q", 0)])


def _virtual(
    offsets: NDArray[np.int64], size: int, block_starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return virtual offsets of offsets in the inflated file; its end is the start of a block."""
    blocks, within = np.divmod(offsets, PAYLOAD_BYTES)
    is_end = offsets == size
    blocks[is_end], within[is_end] = block_starts.size - 1, 0
    found: NDArray[np.int64] = block_starts[blocks] << 16 | within
    return found


def _bins_content(chunks: NDArray[np.int64], end: int, lines: int) -> bytes:
    """Return the bins of a contig; each chunk ends where the next one starts."""
    bins: dict[int, list[tuple[int, int]]] = {}
    rows = [*chunks.tolist(), [0, end]]
    for (number, start), (_, stop) in pairwise(rows):
        bins.setdefault(number, []).append((start, stop))
    for level in range(_DEPTH, 0, -1):
        for number in [number for number in bins if number >= (8**level - 1) // 7]:
            own, parent = sorted(bins[number]), (number - 1) >> 3
            if (own[-1][1] >> 16) - (own[0][0] >> 16) < _MIN_BIN_BYTES and parent in bins:
                bins[parent] += bins.pop(number)
    bins = {number: _joined(sorted(bins[number])) for number in sorted(bins)}
    bins[_META_BIN] = [(rows[0][1], end), (lines, 0)]
    parts = [struct.pack("<i", len(bins))]
    for number, own in bins.items():
        parts += [struct.pack("<Ii", number, len(own)), np.array(own, dtype="<u8").tobytes()]
    return b"".join(parts)


def _joined(chunks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join sorted chunks of which one starts in the block in which the one before ends."""
    found = chunks[:1]
    for start, end in chunks[1:]:
        if found[-1][1] >> 16 >= start >> 16:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _linear_content(windows: NDArray[np.int64]) -> bytes:
    """Return the offset of the first line in each window, or else in the next window with one."""
    rows = np.searchsorted(windows[:, 0], np.arange(windows[-1, 0]), side="right")
    offsets: bytes = windows[rows, 1].astype("<u8").tobytes()
    return struct.pack("<i", rows.size) + offsets


@njit
def _scan(
    lines: NDArray[np.uint8],
    at: Integer,
    origin: Integer,
    name: NDArray[np.uint8],
    state: NDArray[np.int64],
    chunks: NDArray[np.int64],
    windows: NDArray[np.int64],
) -> tuple[Integer, Integer, Integer]:
    """Write the rows of the lines of a contig; return their end, or -1, and the numbers of rows.

    `origin` is the offset of the first line in the file. The last line ends with a newline.
    """
    text, contig, size = memory_of(lines), memory_of(name), lines.size
    tabs = np.empty(_FIELDS, dtype=np.int64)
    at, made, made_windows = np.int64(at), np.int64(0), np.int64(0)
    while at < size and _is(text, at, size, contig) and read_u8(text, at + name.size) == _TAB:
        line_end = _find_tabs(text, at + name.size + 1, tabs)
        start, end = _span_of(text, at + name.size + 1, line_end, tabs)
        if end < 0 or start < state[_START] or end > _MAX_END:
            return np.int64(_UNUSUAL), made, made_windows
        state[_START] = start
        number = _bin_of(start, end)
        if number != state[_BIN]:
            state[_BIN] = number
            chunks[made, 0], chunks[made, 1] = number, origin + at
            made += 1
        first, last = max(start >> _MIN_SHIFT, state[_WINDOW]), ((end - 1) >> _MIN_SHIFT) + 1
        if first < last:
            windows[made_windows, 0], windows[made_windows, 1] = last, origin + at
            state[_WINDOW] = last
            made_windows += 1
        state[_LINES] += 1
        at = line_end + 1
    return at, made, made_windows


@njit_inlined
def _is(text: Memory, at: Integer, end: Integer, wanted: Memory) -> bool:
    """Tell whether bytes are followed by at least one more before `end`, and are as wanted."""
    if at + wanted.size >= end:
        return False
    equal = np.int64(0)
    while equal < wanted.size and read_u8(text, at + equal) == read_u8(wanted, equal):
        equal += 1
    return bool(equal == wanted.size)


@njit_inlined
def _find_tabs(text: Memory, at: Integer, tabs: NDArray[np.int64]) -> Integer:
    """Write the ends of the fields from POS on; return the end of the line."""
    count = np.int64(0)
    while count < _FIELDS:
        byte = read_u8(text, at)
        if byte == _NEWLINE:
            break
        if byte == _TAB:
            tabs[count] = at
            count += 1
        at += 1
    for k in range(count, _FIELDS):
        tabs[k] = at
    while read_u8(text, at) != _NEWLINE:
        at += 1
    return at


@njit_inlined
def _number(text: Memory, at: Integer, end: Integer) -> Integer:
    """Return the number in some bytes; -1 if they are not one of at most nine digits."""
    if not 0 < end - at <= _MAX_DIGITS:
        return np.int64(-1)
    value = np.int64(0)
    for k in range(at, end):
        digit = read_u8(text, k) - _ZERO
        if not 0 <= digit <= _NINE:
            return np.int64(-1)
        value = 10 * value + digit
    return value


@njit
def _span_of(
    text: Memory, at: Integer, line_end: Integer, tabs: NDArray[np.int64]
) -> tuple[Integer, Integer]:
    """Return start and end of the REF or block of a line; the end is -1 if htslib has to decide.

    `at` is the offset of POS.
    """
    position = _number(text, at, tabs[_POS])
    if position < 1 or tabs[_FILTER] == line_end:
        return np.int64(0), np.int64(-1)
    end = position - 1 + tabs[_REF] - tabs[_ID] - 1
    is_block = False
    for k in range(tabs[_REF] + 1, tabs[_ALT]):
        if read_u8(text, k) == _LESS:
            if not _is(text, k, line_end, memory_of(_NON_REF)):
                return np.int64(0), np.int64(-1)
            is_block = True
    if is_block and _has_lengths(text, tabs):
        return np.int64(0), np.int64(-1)
    field = tabs[_FILTER] + 1
    for k in range(field, tabs[_INFO] + 1):
        if k == tabs[_INFO] or read_u8(text, k) == _SEMICOLON:
            if _is(text, field, k + 1, memory_of(_END)):
                found = _number(text, field + _END.size, k)
                if found < end:
                    return np.int64(0), np.int64(-1)
                end = found
            field = k + 1
    return position - 1, end


@njit
def _has_lengths(text: Memory, tabs: NDArray[np.int64]) -> bool:
    """Tell whether INFO or FORMAT may have lengths of alleles."""
    for k in range(tabs[_FILTER] + 1, tabs[_FORMAT]):
        if _is(text, k, tabs[_FORMAT] + 1, memory_of(_LEN)):
            return True
    return False


@njit_inlined
def _bin_of(start: Integer, end: Integer) -> Integer:
    """Return the smallest bin that holds an interval."""
    last = end - 1
    for level in range(_DEPTH, 0, -1):
        shift = _MIN_SHIFT + 3 * (_DEPTH - level)
        if start >> shift == last >> shift:
            return ((1 << 3 * level) - 1) // 7 + (start >> shift)
    return np.int64(0)
