"""Pieces of a BGZF file: blocks as they are stored, with the ranges of their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.bgzf.block_table import (
    MAX_BLOCK_BYTES,
    BlockTable,
    damaged_block,
    may_start_block,
    scan_blocks,
)
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.marks import EOF_BLOCK, missing_eof_block
from hapgpu.runtime.inputs import expect, note_position

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


Allocate: TypeAlias = Callable[[int], NDArray[np.uint8]]
"""Returns an array of at least so many bytes, of any content."""

_MIN_ROOM: Final = 2 * MAX_BLOCK_BYTES
_FOOTER_BYTES: Final = 8


class Readable(Protocol):
    """What is read of a stream of bytes: of files, pipes and standard input."""

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        """Read bytes to the start of a buffer; return their number, 0 at the end."""
        ...

    def seek(self, offset: int, /) -> int:
        """Move to an offset."""
        ...


@dataclass(frozen=True, slots=True)
class VirtualRange:
    """Range of the inflated file between two virtual offsets (block << 16 | byte in it)."""

    start: int
    end: int

    @property
    def packed_bytes(self) -> int:
        """Bytes of the file between the blocks of both offsets, and at least one."""
        return max((self.end >> 16) - (self.start >> 16), 1)


@dataclass(frozen=True, slots=True)
class PackedPiece:
    """Some BGZF blocks, and k stretches of their content, in file order.

    The content of the blocks is the inflated bytes of all of them, end to end; the stretches are
    half-open ranges of it. A stretch starts where a record (or the file) starts and ends where one
    ends, except at a cut between pieces: `continues` and `goes_on` tell of these.

    Attributes
    ----------
    raw
        uint8: bytes of the file. The blocks are at ascending positions in it, perhaps with other
        bytes between them, before and after: pieces may share one array.
    table
        The blocks, at least one.
    starts, ends
        int64[k]: the stretches, ascending and disjoint, k at least 1.
    continues
        Whether the first stretch continues the last stretch of the piece before. It starts at 0
        then, perhaps within a record.
    goes_on
        Whether the last stretch may go on in the next piece, so its last record may be incomplete.
    """

    raw: NDArray[np.uint8]
    table: BlockTable
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    continues: bool
    goes_on: bool

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return int(self.table.sizes.sum())


def trailing_bytes(name: str) -> InputError:
    """Return the error for a file with other bytes after the compressed data.

    They may be a block whose start is damaged: skipping them could lose data.
    """
    return InputError(
        f"{name}: bytes that are not gzip follow the compressed data; remove them or copy it again"
    )


class PieceReader:
    """Reader of a BGZF stream in pieces; every fault that their headers show is an error.

    Pieces before a fault are yielded before it is raised.

    Parameters
    ----------
    stream
        Open at the start of a block; must be seekable only to read ranges.
    name
        The file's name for messages.
    packed_bytes
        Bytes that are read at a time, at least two blocks.
    inflated_bytes
        Bytes of the content of a piece: at most so many, and one block more.
    allocate
        Allocates the arrays into which the file is read, each of `packed_bytes`.
    """

    def __init__(
        self,
        stream: Readable,
        name: str,
        *,
        packed_bytes: int,
        inflated_bytes: int,
        allocate: Allocate = lambda size: np.empty(size, dtype=np.uint8),
    ) -> None:
        self._stream = stream
        self._name = name
        self._packed_bytes = max(packed_bytes, _MIN_ROOM)
        self._inflated_bytes = inflated_bytes
        self._allocate = allocate

    def pieces(self) -> Iterator[PackedPiece]:
        """Read to the end of the stream: pieces of one stretch each, all their content.

        Every piece but the first continues the piece before, and every piece may go on: after
        the last one, an incomplete record is a fault.

        Raises
        ------
        InputError
            A block is damaged or truncated, or the closing empty block is missing.
        """
        offset = 0
        rest = np.empty(0, dtype=np.uint8)
        closing = b""
        is_end = continues = False
        while not is_end or rest.size:
            raw = self._allocate(self._packed_bytes)
            raw[: rest.size] = rest
            filled = rest.size + self._read_into(raw[rest.size :])
            is_end = filled < raw.size
            table, used = scan_blocks(raw[:filled], offset, self._name)
            note_position(self._name, offset + used)
            for part in _split(table, self._inflated_bytes):
                size = int(part.sizes.sum())
                yield PackedPiece(raw, part, *_stretch(0, size), continues, goes_on=True)
                continues = True
            closing = (closing + raw[max(used - len(EOF_BLOCK), 0) : used].tobytes())[
                -len(EOF_BLOCK) :
            ]
            offset += used
            rest = raw[used:filled]
            if closing == EOF_BLOCK and not may_start_block(rest):
                self._skip_zeros(rest)
                return
            if is_end and not used:
                break
        if rest.size:
            raise InputError(f"{self._name}: truncated (within its last block); copy it again")
        if closing != EOF_BLOCK:
            raise missing_eof_block(self._name)

    def pieces_of(self, ranges: Sequence[VirtualRange]) -> Iterator[PackedPiece]:
        """Read ranges in order; a piece has the blocks of as many ranges as fit into it.

        A range is a stretch, cut where it does not fit into one piece. Each must start where a
        record starts and end where one ends.

        Raises
        ------
        InputError
            A range is not within blocks of the file, or a block is damaged.
        """
        gathered = _Gathered(self._allocate(self._packed_bytes), self._inflated_bytes)
        expect(self._name, sum(part.packed_bytes for part in ranges))
        done = 0
        for part in ranges:
            offset, skip = part.start >> 16, part.start & 0xFFFF
            last, end = part.end >> 16, part.end & 0xFFFF
            limit = last + MAX_BLOCK_BYTES if end else last
            is_start = True
            while offset < last + (end > 0):
                if gathered.room < min(_MIN_ROOM, limit - offset):
                    yield from gathered.flush(goes_on=not is_start)
                    gathered.raw, gathered.filled = self._allocate(self._packed_bytes), 0
                table = self._read_blocks(gathered, offset, last + (end > 0), limit)
                ends_here = bool(table.offsets[-1] == last and end)
                cut = int(table.sizes[-1]) - end if ends_here else 0
                if cut < 0 or (is_start and skip > table.sizes[0]):
                    raise self._foreign_index()
                yield from gathered.add(table, skip if is_start else 0, cut, is_start=is_start)
                is_start = False
                taken = gathered.take(table)
                offset += taken
                done += taken
                note_position(self._name, done)
        yield from gathered.flush(goes_on=False)

    def _read_blocks(self, gathered: _Gathered, offset: int, stop: int, limit: int) -> BlockTable:
        """Read blocks from an offset, at least one, of those that start before `stop`."""
        self._stream.seek(offset)
        filled = gathered.filled
        end = min(filled + limit - offset, gathered.raw.size)
        count = self._read_into(gathered.raw[filled:end])
        table, _ = scan_blocks(gathered.raw[filled : filled + count], offset, self._name)
        within = int(np.searchsorted(table.offsets, stop))
        if not within:
            raise InputError(
                f"{self._name}: truncated, or does not match its index; run: samtools index"
                f" {self._name}"
            )
        table = table.slice(0, within)
        return table._replace(starts=table.starts + filled, ends=table.ends + filled)

    def _foreign_index(self) -> InputError:
        return InputError(
            f"{self._name}: does not match its index; run: samtools index {self._name}"
        )

    def _skip_zeros(self, rest: NDArray[np.uint8]) -> None:
        """Read the rest of the stream after the closing block, which may be zeros, as on tapes."""
        while rest.size:
            if rest.any():
                raise trailing_bytes(self._name)
            rest = np.empty(self._packed_bytes, dtype=np.uint8)
            rest = rest[: self._read_into(rest)]

    def _read_into(self, target: NDArray[np.uint8]) -> int:
        """Fill an array; return the bytes that were read, fewer only at the end of the stream."""
        done = 0
        try:
            while done < target.size and (count := self._stream.readinto(target[done:].data)):
                done += count
        except OSError as error:
            raise InputError(f"{self._name}: cannot be read ({error.strerror or error})") from error
        return done


class _Gathered:
    """Blocks of ranges for the next piece."""

    def __init__(self, raw: NDArray[np.uint8], inflated_bytes: int) -> None:
        self.raw = raw
        self.filled = 0
        self._inflated_bytes = inflated_bytes
        self._clear(continues=False)

    def _clear(self, *, continues: bool) -> None:
        self._tables: list[BlockTable] = []
        self._stretches: list[tuple[int, int]] = []
        self._size = 0
        self._continues = continues

    @property
    def room(self) -> int:
        """Bytes of the array that may be read into it."""
        return self.raw.size - self.filled

    def take(self, table: BlockTable) -> int:
        """Keep the bytes of the blocks that were read last; return their number."""
        before = self.filled
        self.filled = int(table.ends[-1]) + _FOOTER_BYTES
        return self.filled - before

    def add(
        self, table: BlockTable, skip: int, cut: int, *, is_start: bool
    ) -> Iterator[PackedPiece]:
        """Add blocks of a range, without `skip` bytes at their start and `cut` at their end."""
        at, count = 0, table.starts.size
        ends = np.cumsum(table.sizes)
        while at < count:
            done = int(ends[at - 1]) if at else 0
            fitting = np.searchsorted(ends, done + self._inflated_bytes - self._size, side="right")
            end = int(fitting)
            if end <= at:
                if self._tables:
                    yield from self.flush(goes_on=bool(at) or not is_start)
                    continue
                end = at + 1
            start = self._size + (0 if at else skip)
            self._size += int(ends[end - 1]) - done
            self._tables.append(table.slice(at, end))
            stop = self._size - (cut if end == count else 0)
            if self._stretches and (at or not is_start):
                start = self._stretches.pop()[0]
            self._stretches.append((start, stop))
            at = end

    def flush(self, *, goes_on: bool) -> Iterator[PackedPiece]:
        """Yield the piece, if it has blocks."""
        if self._tables:
            table = BlockTable._make(map(np.concatenate, zip(*self._tables, strict=True)))
            starts, ends = np.array(self._stretches, dtype=np.int64).T.copy()
            yield PackedPiece(self.raw, table, starts, ends, self._continues, goes_on)
        self._clear(continues=goes_on)


def _stretch(start: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.array([start], dtype=np.int64), np.array([end], dtype=np.int64)


def _split(table: BlockTable, inflated_bytes: int) -> Iterator[BlockTable]:
    """Split blocks into parts of about equal content, at most so many bytes and one block more."""
    ends = np.cumsum(table.sizes)
    total = int(ends[-1]) if ends.size else 0
    size = max(1, -(-total // max(1, -(-total // inflated_bytes))))
    start = done = 0
    while start < ends.size:
        end = min(int(np.searchsorted(ends, done + size)) + 1, ends.size)
        yield table.slice(start, end)
        start, done = end, int(ends[end - 1])


def inflated_blocks(pieces: Iterable[PackedPiece], name: str) -> Iterator[bytes]:
    """Inflate the blocks of pieces, each when it is requested.

    Parameters
    ----------
    pieces
        The pieces.
    name
        The file's name for messages.

    Raises
    ------
    InputError
        A block is damaged.
    """
    inflate = inflate_library().new_inflater()
    content = np.empty(MAX_BLOCK_BYTES, dtype=np.uint8)
    for piece in pieces:
        for row in range(piece.table.sizes.size):
            table = piece.table.slice(row, row + 1)
            if inflate(piece.raw, table, content) >= 0:
                raise damaged_block(name, int(table.offsets[0]))
            yield content[: int(table.sizes[0])].tobytes()
