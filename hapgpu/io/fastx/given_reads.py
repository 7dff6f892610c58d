"""Reads in memory as blocks of FASTA, in the form in which workers take the reads of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.errors import InputError
from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.text.builder import SLACK, has_room, put_byte, put_bytes, put_count
from hapgpu.runtime.jit import njit, njit_inlined

_NEWLINE, _RETURN, _GREATER = b"\n\r>"
_WHOLE, _BROKEN_NAME, _BROKEN_BASES = range(3)
_BROKEN: Final = {_BROKEN_NAME: "name", _BROKEN_BASES: "read"}
_NO_NAMES: Final = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))


def blocks_of_reads(
    reads: Ragged, names: Ragged | None, size: int, allocate: Allocate, first: int = 0
) -> Iterator[ReadBlock]:
    """Write reads as blocks of FASTA, whose records are numbered.

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
    first
        Number of the first read.

    Raises
    ------
    InputError
        A read or a name contains a line break; the message has its row.
    """
    bases, texts = view_of(reads), view_of(names if names is not None else _NO_NAMES)
    start, room = 0, size
    while start < len(reads):
        out = allocate(room)
        written = _put_records(bases, texts, names is not None, start, first, out)
        if written.fault != _WHOLE:
            fault = _BROKEN[int(written.fault)]
            raise InputError(f"{fault} {first + written.end}: contains a line break; remove it")
        room = max(size, int(written.needed) + SLACK)
        if written.end > start:
            yield ReadBlock(out[: written.used], is_fasta=True, first=first + start, name="reads")
            start, room = int(written.end), size
        del out  # it must not stay alive while the next is made


class _Written(NamedTuple):
    """Records written to a block.

    Attributes
    ----------
    fault, end
        What is broken, and its row; else `_WHOLE`, and the row after the last record.
    used, needed
        Bytes of the records; bytes with the next one, if there is no room for it.
    """

    fault: Integer
    end: Integer
    used: Integer
    needed: Integer


@njit
def _put_records(
    reads: RaggedView,
    names: RaggedView,
    has_names: Integer,
    start: Integer,
    first: Integer,
    out: NDArray[np.uint8],
) -> _Written:
    """Write the records of reads, from `start` on, that `out`, uint8 with `SLACK`, has room for."""
    text, bases, name_text = memory_of(out), memory_of(reads.data), memory_of(names.data)
    at: Integer = np.int64(0)
    used: Integer = np.int64(0)
    for row in range(start, reads.offsets.size - 1):
        at = put_byte(text, at, _GREATER)
        if has_names:
            if _has_break(names, row):
                return _Written(_BROKEN_NAME, row, np.int64(0), np.int64(0))
            at = _put_row(text, at, name_text, names.offsets, row)
        else:
            at = put_count(text, at, first + row)
        if _has_break(reads, row):
            return _Written(_BROKEN_BASES, row, np.int64(0), np.int64(0))
        at = _put_row(text, put_byte(text, at, _NEWLINE), bases, reads.offsets, row)
        at = put_byte(text, at, _NEWLINE)
        if not has_room(text, at):
            return _Written(_WHOLE, row, used, at)
        used = at
    return _Written(_WHOLE, reads.offsets.size - 1, used, np.int64(0))


@njit_inlined
def _put_row(
    text: Memory, at: Integer, rows: Memory, offsets: NDArray[np.int64], row: Integer
) -> Integer:
    return put_bytes(text, at, rows, offsets[row], offsets[row + 1] - offsets[row])


@njit
def _has_break(rows: RaggedView, row: Integer) -> bool:
    data, first = rows.data, np.uint64(rows.offsets[row])
    found = False
    for k in range(np.uint64(rows.offsets[row + 1] - rows.offsets[row])):
        byte = data[first + k]
        found |= (byte == _NEWLINE) | (byte == _RETURN)
    return found
