"""FASTQ and FASTA in blocks of whole records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.fastx.fasta_lines import LineJoiner
from hapgpu.io.fastx.faults import record_label
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.files.byte_source import ByteSource, byte_source
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_kind import looks_like
from hapgpu.io.files.newlines import end_without_lines
from hapgpu.io.files.record_limit import MAX_RECORD, too_long

Allocate: TypeAlias = Callable[[int], NDArray[np.uint8]]
"""Gives memory for at least so many bytes."""

_HEAD_BYTES: Final = 1 << 12
_MAX_RAW_BYTES: Final = 1 << 20
_LINES: Final = 4


def _allocate(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)


def read_blocks(
    source: str | Path,
    block_bytes: int,
    allocate: Allocate = _allocate,
    threads: int = 1,
    max_record: int = MAX_RECORD,
) -> Iterator[ReadBlock]:
    """Read FASTQ of four lines a record, or FASTA, plain, gzip- or BGZF-compressed, in file order.

    Where a record ends follows from the number of lines; whether it is well-formed is for
    `parse_block` to say. What the blocks hold together does not depend on their size.

    Parameters
    ----------
    source
        A path, or `-` for standard input.
    block_bytes
        A block holds at most so many bytes, or one longer record.
    allocate
        Gives the memory of each block, at least as many bytes as asked for; what it gave for a
        block is not touched again once the block has been handed out.
    threads
        That read a plain file on disk at the same time, at least 1.
    max_record
        Bytes of the longest record that is read, less than 2**31.

    Raises
    ------
    InputError
        The file cannot be read, is cut short, is empty, is neither FASTQ nor FASTA, or has a
        record that is too long.
    """
    name = "standard input" if str(source) == "-" else str(source)
    with open_inflated(source, name) as stream:
        head = stream.peek(_HEAD_BYTES)
        is_fasta = _is_fasta(head, name)
        with byte_source(stream, name, threads) as data:
            blocks = _Blocks(data, name, min(block_bytes, max_record), allocate, max_record)
            yield from blocks.fasta() if is_fasta else blocks.fastq()


def _is_fasta(head: bytes, name: str) -> bool:
    """Tell FASTA from FASTQ; refuse what is neither."""
    if not head:
        raise InputError(f"{name} is empty: FASTQ or FASTA expected")
    kind = looks_like(head)
    if kind in {"BAM", "CRAM", "SAM"}:
        raise InputError(f"{name} looks like {kind}: FASTQ or FASTA expected; see: samtools fastq")
    if kind or not head.startswith((b"@", b">")):
        found = f"looks like {kind}" if kind else "is of an unknown kind"
        raise InputError(f"{name} {found}: FASTQ or FASTA expected")
    return head.startswith(b">")


class _Blocks:
    """The blocks of one file."""

    def __init__(
        self, data: ByteSource, name: str, block_bytes: int, allocate: Allocate, max_record: int
    ) -> None:
        self._data = data
        self._name = name
        self._block_bytes = block_bytes
        self._allocate = allocate
        self._max_record = max_record
        self._first = 1

    def fastq(self) -> Iterator[ReadBlock]:
        """Cut behind every fourth newline."""
        tail = np.empty(0, dtype=np.uint8)
        lines = 0
        is_end = False
        while not is_end:
            text, newlines, is_end = self._fill(tail, _LINES - lines)
            records, lines = divmod(lines + newlines, _LINES)
            cut = text.size if is_end else end_without_lines(read_only(text), lines)
            tail = text[cut:].copy()
            if records or text[:cut].tobytes().strip():
                yield self._block(text[:cut], records, is_fasta=False)

    def _fill(
        self, tail: NDArray[np.uint8], min_newlines: int
    ) -> tuple[NDArray[np.uint8], int, bool]:
        """Read what comes after `tail`: a buffer, or more if it holds too few newlines.

        Return all of it, the newlines in what was read, and whether the file ends there.
        """
        buffer = self._buffer(tail)
        used = tail.size
        newlines = 0
        while True:
            room = buffer.size - 1 - used  # less one for a newline that may be missing
            got, more = self._data.read_into(buffer[used : used + room])
            used += got
            newlines += more
            if got < room:
                break
            if newlines >= min_newlines:
                return buffer[:used], newlines, False
            buffer = self._larger(buffer, used)
        if used and buffer[used - 1] != ord("\n"):
            buffer[used] = ord("\n")
            used += 1
            newlines += 1
        return buffer[:used], newlines, True

    def fasta(self) -> Iterator[ReadBlock]:
        """Join lines; cut before the last record that has begun."""
        raw = np.empty(max(min(self._block_bytes // 4, _MAX_RAW_BYTES), 1), dtype=np.uint8)
        joiner = LineJoiner(self._buffer(raw[:0], raw.size))
        while got := self._data.read_into(raw)[0]:
            pending = raw[:got]
            while (pending := pending[joiner.append(pending) :]).size:
                if joiner.records < 2:
                    joiner.move(self._larger(joiner.buffer, joiner.used), 0)
                    continue
                cut = joiner.last_record
                tail = joiner.buffer[cut : joiner.used].copy()
                yield self._block(joiner.buffer[:cut], joiner.records - 1, is_fasta=True)
                joiner.move(self._buffer(tail, pending.size), cut)
        joiner.close()
        yield self._block(joiner.buffer[: joiner.used], joiner.records, is_fasta=True)

    def _block(self, text: NDArray[np.uint8], records: int, *, is_fasta: bool) -> ReadBlock:
        block = ReadBlock(text, is_fasta, self._first, self._name)
        self._first += records
        return block

    def _buffer(self, tail: NDArray[np.uint8], pending: int = 0) -> NDArray[np.uint8]:
        """Allocate for a block that begins with `tail`; `pending` bytes have been read already."""
        size = max(self._block_bytes, 2 * tail.size, 8)
        remaining = self._data.remaining
        if remaining is not None:  # joined lines may take more room, but not twice as much
            size = min(size, tail.size + 2 * (remaining + pending) + 8)
        return self._with_beginning(tail, size)

    def _larger(self, buffer: NDArray[np.uint8], used: int) -> NDArray[np.uint8]:
        """Move a buffer, filled with `used` bytes of one record, to one of twice its size."""
        if buffer.size >= self._max_record:
            marker = buffer[:1].tobytes()
            record = record_label(self._name, self._first, buffer[:used], marker)
            raise too_long(record, self._max_record)
        return self._with_beginning(buffer[:used], 2 * buffer.size)

    def _with_beginning(self, beginning: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
        size = min(size, self._max_record)
        buffer = self._allocate(size)[:size]
        buffer[: beginning.size] = beginning
        return buffer
