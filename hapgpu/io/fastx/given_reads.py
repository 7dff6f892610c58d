"""Reads in memory as blocks of FASTA, in the form in which workers take the reads of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.errors import InputError
from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.text.at_addresses import put_byte, put_copy, put_count_at
from hapgpu.runtime.jit import njit

_NEWLINE, _RETURN, _GREATER = b"\n\r>"
_ROOM: Final = 24
"""Most bytes of a record besides its name and bases: a row number, `>` and line ends."""
_WHOLE, _BROKEN_NAME, _BROKEN_BASES = range(3)
_BROKEN: Final = {_BROKEN_NAME: "name", _BROKEN_BASES: "read"}
_NO_NAMES: Final = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))


def blocks_of_reads(
    reads: Ragged, names: Ragged | None, size: int, allocate: Allocate
) -> Iterator[ReadBlock]:
    """Write reads as blocks of FASTA, whose records are numbered from 0.

    Parameters
    ----------
    reads
        uint8 text of n reads, each below 2**31 bytes with its name.
    names
        uint8 text of their names; None: the row numbers.
    size
        Bytes of a block of several reads.
    allocate
        Allocates the memory of a block.

    Raises
    ------
    InputError
        A read or a name contains a line break; the message has its row.
    """
    lengths = reads.lengths if names is None else reads.lengths + names.lengths
    ends = np.cumsum(lengths + _ROOM)
    bases, texts = view_of(reads), view_of(names if names is not None else _NO_NAMES)
    start = 0
    while start < len(reads):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + size, side="right")))
        out = allocate(max(size, int(ends[end - 1]) - before))
        fault, row, used = _put_records(bases, texts, names is not None, start, end, out)
        if fault != _WHOLE:
            raise InputError(f"{_BROKEN[fault]} {row}: contains a line break; remove it")
        yield ReadBlock(out[:used], is_fasta=True, first=start, name="reads")
        del out  # it must not stay alive while the next is made
        start = end


@njit
def _put_records(
    reads: RaggedView,
    names: RaggedView,
    has_names: Integer,
    start: Integer,
    end: Integer,
    out: NDArray[np.uint8],
) -> tuple[int, int, int]:
    """Write the records of some reads; return the first fault, its row, and the bytes written."""
    first = out.ctypes.data
    at: Integer = np.int64(first)
    for row in range(start, end):
        at = put_byte(at, _GREATER)
        if has_names:
            if _has_break(names, row):
                return _BROKEN_NAME, row, 0
            at = _put_row(at, names, row)
        else:
            at = put_count_at(at, row)
        if _has_break(reads, row):
            return _BROKEN_BASES, row, 0
        at = put_byte(_put_row(put_byte(at, _NEWLINE), reads, row), _NEWLINE)
    return _WHOLE, 0, at - first


@njit
def _put_row(at: Integer, rows: RaggedView, row: Integer) -> Integer:
    start, end = rows.offsets[row], rows.offsets[row + 1]
    return put_copy(at, rows.data.ctypes.data + start, end - start)


@njit
def _has_break(rows: RaggedView, row: Integer) -> bool:
    data, first = rows.data, np.uint64(rows.offsets[row])
    found = False
    for k in range(np.uint64(rows.offsets[row + 1] - rows.offsets[row])):
        byte = data[first + k]
        found |= (byte == _NEWLINE) | (byte == _RETURN)
    return found
