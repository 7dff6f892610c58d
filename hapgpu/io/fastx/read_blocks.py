"""Reader of FASTQ and FASTA in blocks of whole records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import copy_bytes
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.limits import NO_READS, record_label
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.files.byte_source import ByteSource, byte_source, end_without_lines
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.file_kind import guess_kind
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.runtime.jit import njit

logger = logging.getLogger(__name__)

_HEAD_BYTES: Final = 1 << 12
_MAX_RAW_BYTES: Final = 1 << 20
_LINES: Final = 4

_NEWLINE, _RETURN, _GREATER = b"\n\r>"
_USED, _LINE, _RETURN_PENDING, _LAST_RECORD, _RECORDS = range(5)
_LINE_START, _SEQUENCE, _HEADER = range(3)


def _allocate(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)


def read_blocks(
    source: str | Path | BufferedReader,
    block_bytes: int,
    allocate: Allocate = _allocate,
    threads: int = 1,
    max_record: int = MAX_RECORD,
    *,
    name: str | None = None,
) -> Iterator[ReadBlock]:
    """Read FASTQ of four lines per record, or FASTA, plain, gzip- or BGZF-compressed.

    Blocks come in file order; an empty file has none, and a warning. Records are cut by the number
    of lines; `parse_block` checks whether they are well-formed. The text of all blocks together
    does not depend on their size.

    Parameters
    ----------
    source
        A path, `-` for standard input, or a binary stream, which is left open.
    block_bytes
        Maximum size of a block, except for a block of one longer record.
    allocate
        Returns the memory of each block, at least as many bytes as requested; the memory of a
        block is not used again after the block has been yielded.
    threads
        Threads that read a plain file on disk, or help to read another, at least 1.
    max_record
        Bytes of the longest record that is read, less than 2**31.
    name
        Name of the source for messages; by default its path.

    Raises
    ------
    InputError
        The file cannot be read, is truncated, neither FASTQ nor FASTA, or has a record that is too
        long.
    """
    name = name or ("standard input" if str(source) == "-" else str(source))
    with open_inflated(source, name) as stream:
        head = stream.peek(_HEAD_BYTES)
        if not head:
            logger.warning(NO_READS, name)
            return
        is_fasta = _is_fasta(head, name)
        with byte_source(stream, name, threads) as data:
            blocks = _Blocks(data, name, min(block_bytes, max_record), allocate, max_record)
            yield from blocks.fasta() if is_fasta else blocks.fastq()


def _is_fasta(head: bytes, name: str) -> bool:
    """Tell whether a file is FASTA, not FASTQ; raise an error if it is neither."""
    kind = guess_kind(head)
    if kind in {"BAM", "CRAM", "SAM"}:
        raise InputError(f"{name}: looks like {kind}, expected FASTQ or FASTA; run: samtools fastq")
    if kind or not head.startswith((b"@", b">")):
        found = f"looks like {kind}" if kind else "unknown kind of file"
        raise InputError(f"{name}: {found}; give FASTQ or FASTA")
    return head.startswith(b">")


class _Blocks:
    """Blocks of one file."""

    def __init__(
        self, data: ByteSource, name: str, block_bytes: int, allocate: Allocate, max_record: int
    ) -> None:
        self._data = data
        self._name = name
        self._block_bytes = block_bytes
        self._allocate = allocate
        self._max_record = max_record
        self._first = 1
        self._is_first = True

    def fastq(self) -> Iterator[ReadBlock]:
        """Yield blocks that end after a multiple of four lines."""
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
        """Read a buffer of text after `tail`, or more if it has too few newlines.

        Return the text with `tail`, the newlines read, and whether the file ends.
        """
        buffer = self._buffer(tail)
        used = tail.size
        newlines = 0
        while True:
            room = buffer.size - 1 - used  # minus one, for a newline that may be missing
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
        """Yield blocks of joined lines that end before the last record read so far."""
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
        """Allocate a block that starts with `tail`; `pending` bytes have been read already."""
        size = max(self._block_bytes, 2 * tail.size, 8)
        remaining = self._data.remaining
        # Only a short file needs a smaller block: another size of pinned memory takes long to get.
        if remaining is not None and self._is_first:
            # Joined lines take less than twice the bytes read.
            size = min(size, tail.size + 2 * (remaining + pending) + 8)
        self._is_first = False
        return self._starting_with(tail, size)

    def _larger(self, buffer: NDArray[np.uint8], used: int) -> NDArray[np.uint8]:
        """Move `used` bytes of one record to a buffer of twice the size."""
        if buffer.size >= self._max_record:
            marker = buffer[:1].tobytes()
            record = record_label(self._name, self._first, buffer[:used], marker)
            raise too_long(record, self._max_record)
        return self._starting_with(buffer[:used], 2 * buffer.size)

    def _starting_with(self, start: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
        size = min(size, self._max_record)
        buffer = self._allocate(size)[:size]
        buffer[: start.size] = start
        return buffer


class LineJoiner:
    """Writer of records to a buffer: the header on one line, the sequence on the next.

    Lines of a sequence lose their carriage returns. A record without sequence gets an empty line.

    Parameters
    ----------
    buffer
        uint8.
    """

    def __init__(self, buffer: NDArray[np.uint8]) -> None:
        self.buffer = buffer
        self._state = np.zeros(5, dtype=np.int64)

    def move(self, buffer: NDArray[np.uint8], start: int) -> None:
        """Continue in a `buffer`, uint8, with a copy from `start` on: of all text, or a record."""
        self.buffer = buffer
        if start:
            self._state[_USED] -= start
            self._state[_LAST_RECORD] = 0
            self._state[_RECORDS] = 1

    @property
    def used(self) -> int:
        """Number of bytes written."""
        return int(self._state[_USED])

    @property
    def records(self) -> int:
        """Number of records started."""
        return int(self._state[_RECORDS])

    @property
    def last_record(self) -> int:
        """Offset of the last record."""
        return int(self._state[_LAST_RECORD])

    def append(self, text: NDArray[np.uint8]) -> int:
        """Write as much of a `text`, uint8, as fits; return the number of its bytes written."""
        # `>` and a newline of a record may become three bytes; one may be pending, and `close`
        # needs two.
        room = max((self.buffer.size - self.used - 3) * 2 // 3, 0)
        _join(read_only(text[:room]), self.buffer, self._state)
        return min(room, text.size)

    def close(self) -> None:
        """End the last record."""
        for _ in range(2 if self._state[_LINE] == _HEADER else 1):
            self.buffer[self.used] = _NEWLINE
            self._state[_USED] += 1


@njit
def _join(text: NDArray[np.uint8], out: NDArray[np.uint8], state: NDArray[np.int64]) -> None:
    """Copy FASTA with each sequence on one line; `state` continues over pieces of the text."""
    used, line, records = state[_USED], state[_LINE], state[_RECORDS]
    is_return_pending = state[_RETURN_PENDING]
    at = 0
    while at < text.size:
        byte = text[at]
        if byte == _NEWLINE:
            if line == _HEADER:
                out[used] = byte
                used += 1
            line = _LINE_START
            is_return_pending = 0
            at += 1
            continue
        if line == _LINE_START:
            line = _SEQUENCE
            if byte == _GREATER:
                line = _HEADER
                if records:
                    out[used] = _NEWLINE
                    used += 1
                state[_LAST_RECORD] = used
                records += 1
        elif is_return_pending:
            out[used] = _RETURN
            used += 1
        is_return_pending = line == _SEQUENCE and byte == _RETURN
        end = at + 1
        if not is_return_pending:
            while end < text.size and text[end] != _NEWLINE and text[end] != _RETURN:
                end += 1
            copy_bytes(text, at, out, used, end - at)
            used += end - at
        at = end
    state[_USED], state[_LINE], state[_RECORDS] = used, line, records
    state[_RETURN_PENDING] = is_return_pending
