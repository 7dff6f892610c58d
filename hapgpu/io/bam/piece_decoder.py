"""Decoder of pieces of a BAM file: BGZF blocks to records, each piece by one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_i32, read_u8, read_u16
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_layout import (
    INCOMPLETE,
    SOUND,
    RecordBlock,
    RecordLayout,
    measure_records,
    walk_records,
)
from hapgpu.io.bgzf.block_table import MAX_BLOCK_BYTES, BlockTable, damaged_block
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece
from hapgpu.runtime.jit import njit, njit_inlined

Part = TypeVar("Part")


_CACHED_BLOCKS: Final = 16
"""Blocks whose content, up to 1 MiB, stays in the cache of a core."""

_LONGEST: Final = 1 << 24
"""Bytes of a record that is guessed; a longer one is found by the records before it."""
_FIRST_PRINTABLE: Final = ord("!")
_LAST_PRINTABLE: Final = ord("~")


class DecodeWorkspace:
    """Memory for the content of a piece and the layout of its records, and an inflater."""

    def __init__(self) -> None:
        self._inflate = inflate_library().new_inflater()
        self._content = np.empty(0, dtype=np.uint8)
        self._layout = RecordLayout.empty(np.empty(0, dtype=np.int64))
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return self._size

    def clear(self) -> None:
        """Forget the content; arrays of it become invalid."""
        self._size = 0

    def reserve(self, size: int) -> RecordLayout:
        """Make room for so much content; return room for the layout of its records."""
        if size > self._content.size:
            content = np.empty(size, dtype=np.uint8)
            content[: self._size] = self._content[: self._size]
            self._content = content
        if size // FIXED_BYTES >= self._layout.starts.size:
            self._layout = RecordLayout.empty(np.empty(size // FIXED_BYTES + 1, dtype=np.int64))
        return self._layout

    def append(self, raw: NDArray[np.uint8], table: BlockTable, name: str) -> None:
        """Inflate blocks of `raw`, uint8, to the end of the content; arrays of it become invalid.

        Raises
        ------
        InputError
            A block is damaged.
        """
        end = self._size + int(table.sizes.sum())
        if end > self._content.size:
            self.reserve(end + end // 2)
        row = self._inflate(raw, table, self._content[self._size : end])
        if row >= 0:
            raise damaged_block(name, int(table.offsets[row]))
        self._size = end

    def content(self, end: int) -> NDArray[np.uint8]:
        """Return uint8[end]: the content up to an offset, read-only."""
        return read_only(self._content[:end])


@dataclass(frozen=True, slots=True)
class PieceRecords(Generic[Part]):
    """The records that start in a piece.

    Attributes
    ----------
    first, end
        Offsets of the first record in the content of the piece, -1 if none was found, and of the
        end of the last one, which may lie in the next pieces.
    count
        Sound records, with those that overlap no region.
    fault
        Fault of the record after them; `SOUND` without one.
    missing
        Of an incomplete record: bytes at least that it needs of the next pieces; 0 if its stretch
        does not go on in more than were given.
    parts
        The records that are kept.
    """

    first: int
    end: int
    count: int
    fault: int
    missing: int
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class PieceDecoder(Generic[Part]):
    """Decoder of the pieces of one file, for any number of threads.

    Parameters
    ----------
    name
        The file's name for messages.
    references
        Number of contigs in the header.
    max_record
        Bytes of the longest record.
    intervals
        Keep only records that overlap one of these intervals.
    batch_bases
        A part ends with the read that reaches this number of bases, or earlier.
    convert
        Converts the records of a part; the result must not share memory with them.
    """

    name: str
    references: int
    max_record: int
    intervals: Intervals | None
    batch_bases: int
    convert: Callable[[RecordBlock], Part]
    _spare: list[DecodeWorkspace] = field(default_factory=list)

    def __call__(
        self, piece: PackedPiece, start: int | None, following: Sequence[PackedPiece]
    ) -> PieceRecords[Part]:
        """Decode the records that start in a piece.

        Parameters
        ----------
        piece
            The piece.
        start
            Offset of its first record; None to guess it.
        following
            The pieces after it, as many as its last record may need.

        Raises
        ------
        InputError
            A block is damaged.
        """
        workspace = self._workspace()
        walk = _Walk(workspace, piece, start, self)
        walk.inflate()
        if walk.fault == INCOMPLETE and piece.goes_on:
            walk.complete(following)
        layout = RecordLayout._make(column[: walk.count] for column in walk.layout)
        block = RecordBlock(workspace.content(workspace.size), layout)
        parts = [self.convert(part) for part in self._parts(block)]
        self._spare.append(workspace)
        return PieceRecords(walk.first, walk.end, walk.count, walk.fault, walk.missing, parts)

    def _workspace(self) -> DecodeWorkspace:
        try:
            return self._spare.pop()
        except IndexError:
            return DecodeWorkspace()

    def _parts(self, block: RecordBlock) -> Iterator[RecordBlock]:
        """Split the kept records at the reads that reach `batch_bases`."""
        if self.intervals is not None:
            block = block.take(self.intervals.overlapped(block.data, block.layout))
        if not len(block):
            return
        ends = np.cumsum(block.layout.base_counts, dtype=np.int64)
        start = done = 0
        while int(ends[-1]) - done >= self.batch_bases:
            end = int(np.searchsorted(ends, done + self.batch_bases)) + 1
            if end == len(block):
                break
            yield block.take(np.arange(start, end))
            start, done = end, int(ends[end - 1])
        yield block.take(np.arange(start, len(block))) if start else block


class _Walk:
    """Walk over the records that start in a piece.

    Parameters
    ----------
    workspace
        Gets the content of the piece.
    piece
        The piece.
    start
        Offset of its first record; None to guess it.
    decoder
        Has the settings.

    Attributes
    ----------
    layout
        Room for the layout of the records; `count` rows are filled.
    first, end, count, fault, missing
        See `PieceRecords`.
    """

    def __init__(
        self,
        workspace: DecodeWorkspace,
        piece: PackedPiece,
        start: int | None,
        decoder: PieceDecoder[Part],
    ) -> None:
        workspace.clear()
        self.layout = workspace.reserve(piece.size + 2 * MAX_BLOCK_BYTES)  # for the last record
        self.first = self.end = -1 if start is None else start
        self.count = 0
        self.fault = SOUND
        self.missing = 0
        self._workspace = workspace
        self._piece = piece
        self._name = decoder.name
        self._references = decoder.references
        self._max_record = decoder.max_record

    def inflate(self) -> None:
        """Inflate the piece and find its records, a few blocks at a time while they are cached."""
        piece = self._piece
        rows = piece.table.sizes.size
        step = _CACHED_BLOCKS if piece.starts.size == 1 else rows
        for row in range(0, rows, step):
            searched = max(self._workspace.size - FIXED_BYTES, 0)
            self._workspace.append(piece.raw, piece.table.slice(row, row + step), self._name)
            limit = min(self._workspace.size, int(piece.ends[-1]))
            if self.first < 0:
                content = self._workspace.content(min(limit, int(piece.ends[0])))
                guess = guess_first_record(content, searched, self._references)
                self.first = self.end = int(guess)
            if self.first >= 0 and self.fault in {SOUND, INCOMPLETE}:
                starts, ends = piece.starts.copy(), piece.ends.copy()
                starts[0] = self.end
                ends[-1] = limit
                self._walk(starts, ends)

    def complete(self, following: Sequence[PackedPiece]) -> None:
        """Find the last record, of which the next pieces have the rest."""
        if self.end < self._piece.starts[-1]:
            return  # it is in a stretch that ends here
        size = self._workspace.size
        tail = _Tail(self._workspace, following, self._name)
        while self.fault == INCOMPLETE:
            needed = _missing(self._workspace.content(tail.limit), self.end)
            missing = tail.limit - size + needed
            if not tail.extend(needed):
                self.missing = missing if tail.goes_on else 0
                return
            content, last = (
                self._workspace.content(tail.limit),
                self.layout.starts[self.count :][:1],
            )
            walked = walk_records(content, self.end, self._max_record, last)
            found, _, self.end, fault = map(int, walked)
            self._keep(found, INCOMPLETE if fault == SOUND and not found else fault)

    def _walk(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Find the records of stretches."""
        content = self._workspace.content(self._workspace.size)
        found = self.layout.starts[self.count :]
        walked = _walk_stretches(content, starts, ends, self._max_record, found)
        count, self.end, fault = map(int, walked)
        self._keep(count, fault)

    def _keep(self, found: int, fault: int) -> None:
        """Measure and check the records found last, before the fault of the next."""
        content = self._workspace.content(self._workspace.size)
        rows = self.count, self.count + found
        row, earlier = measure_records(content, self.layout, *rows, self._references)
        self.count = rows[1] if earlier == SOUND else int(row)
        self.fault = fault if earlier == SOUND else int(earlier)


class _Tail:
    """Content of the next pieces, as far as the stretch that a piece ends with goes on in them.

    Parameters
    ----------
    workspace
        Holds the content of the piece, and gets that of the next ones.
    following
        The next pieces.
    name
        The file's name for messages.

    Attributes
    ----------
    limit
        End of the stretch in the content of the workspace, as far as it is inflated.
    goes_on
        Whether it may go on after the last of the pieces.
    """

    def __init__(
        self, workspace: DecodeWorkspace, following: Sequence[PackedPiece], name: str
    ) -> None:
        self.limit = workspace.size
        self.goes_on = True
        self._workspace = workspace
        self._name = name
        self._following = iter(following)
        self._raw = np.empty(0, dtype=np.uint8)
        self._table = BlockTable._make(np.empty(0, dtype=np.int64) for _ in BlockTable._fields)
        self._left = 0  # bytes of the stretch in the blocks of this table

    def extend(self, missing: int) -> bool:
        """Inflate at least so many bytes; return False if that is not possible."""
        while missing > 0:
            if not self._left and not self._next_piece():
                return False
            rows = int(np.searchsorted(np.cumsum(self._table.sizes), missing)) + 1
            before = self._workspace.size
            self._workspace.append(self._raw, self._table.slice(0, rows), self._name)
            self._table = self._table.slice(rows, self._table.sizes.size)
            gained = min(self._workspace.size - before, self._left)
            self._left -= gained
            self.limit += gained
            missing -= gained
        return True

    def _next_piece(self) -> bool:
        piece = next(self._following, None) if self.goes_on else None
        if piece is None:
            return False
        self._raw, self._table, self._left = piece.raw, piece.table, int(piece.ends[0])
        self.goes_on = piece.goes_on and piece.starts.size == 1
        return True


def _missing(content: NDArray[np.uint8], start: int) -> int:
    """Return the bytes at least that the record at an offset needs after the content."""
    end = start + FIXED_BYTES
    if end <= content.size:
        end = start + 4 + int.from_bytes(content[start : start + 4].tobytes(), "little")
    return end - content.size


@njit
def _walk_stretches(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    max_record: Integer,
    found: NDArray[np.int64],
) -> tuple[Integer, Integer, Integer]:
    """Find the records of stretches; return their number, the end of the last, and a fault."""
    count: Integer = 0
    at: Integer = starts[0]
    for k in range(starts.size):
        stretch = data[: ends[k]]
        walked = walk_records(stretch, starts[k], max_record, found[count:])
        count += walked[0]
        at = walked[2]
        if walked[3] != SOUND:
            return count, at, walked[3]
        if at < ends[k]:
            return count, at, INCOMPLETE
    return count, at, SOUND


@njit_inlined
def _may_start(memory: Memory, at: Integer, references: Integer) -> bool:
    """Tell whether a record may start at an offset; all its fixed fields are in the memory."""
    record = part_of(memory, at, FIXED_BYTES)
    size = read_i32(record, 0)
    if not FIXED_BYTES - 4 < size <= _LONGEST:
        return False
    for offset in (4, 24):
        reference = read_i32(record, offset)
        if reference < -1 or reference >= references or read_i32(record, offset + 4) < -1:
            return False
    name_bytes = read_u8(record, 12)
    bases = read_i32(record, 20)
    if name_bytes < 2 or bases < 0:
        return False
    parts = name_bytes + 4 * read_u16(record, 16) + (bases + 1) // 2 + bases
    if FIXED_BYTES - 4 + parts > size:
        return False
    name = at + FIXED_BYTES
    if name + name_bytes > memory.size:
        return True
    first = read_u8(memory, name)
    is_printable = _FIRST_PRINTABLE <= first <= _LAST_PRINTABLE
    return bool(is_printable and read_u8(memory, name + name_bytes - 1) == 0)


@njit
def guess_first_record(data: NDArray[np.uint8], start: Integer, references: Integer) -> Integer:
    """Return the offset of the first record from `start`, as far as can be told; -1 without one.

    It is the first offset where a record may start, and after it another one. The guess is for
    work ahead: whoever uses it must check that the records before it end there.

    Parameters
    ----------
    data
        uint8: bytes of the records of a BAM file, the first of which may be within a record.
    start
        Offset before which no record starts.
    references
        Number of contigs in the header.
    """
    memory = memory_of(data)
    for at in range(start, memory.size - FIXED_BYTES + 1):
        if _may_start(memory, at, references):
            following = at + 4 + read_i32(memory, at)
            is_cut = following + FIXED_BYTES > memory.size
            if is_cut or _may_start(memory, following, references):
                return at
    return -1
