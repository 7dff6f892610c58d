"""Table of moves, looked up by the name and the old position of a read."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from os import SEEK_END
from typing import IO, Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_64, read_i32, read_u16
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import OutputError
from hapgpu.realign.projection.moves import Moves
from hapgpu.runtime.jit import njit_inlined

NOT_MOVED: Final = -1

_MOVES_IN_MEMORY = 1_000_000
_ALIGNMENT: Final = 8
_NOT_PRIMARY: Final = 0x900  # secondary and supplementary records are not mates


class MoveIndex(NamedTuple):
    """The columns of a sorted run of moves that are searched, read-only.

    Attributes
    ----------
    shift
        64 - k.
    buckets
        int64[2 ** k + 1]: moves whose name hash starts with bits b are rows `buckets[b]` to
        `buckets[b + 1]`.
    name_hashes, flags, reference_ids, old_positions, old_ends
        Columns of the run, as in `Moves`.
    """

    shift: int
    buckets: NDArray[np.int64]
    name_hashes: NDArray[np.uint64]
    flags: NDArray[np.uint16]
    reference_ids: NDArray[np.int32]
    old_positions: NDArray[np.int32]
    old_ends: NDArray[np.int32]

    @classmethod
    def of(cls, moves: Moves) -> Self:
        """Index moves that are sorted by the hash of the name."""
        bits = max(1, len(moves).bit_length())
        shift = 64 - bits
        tops = (moves.name_hashes >> np.uint64(shift)).astype(np.int64)
        buckets = np.searchsorted(tops, np.arange(2**bits + 1))
        columns = [getattr(moves, name) for name in cls._fields[2:]]
        return cls(shift, *map(read_only, (buckets, *columns)))


class IndexMemory(NamedTuple):
    """The columns of a `MoveIndex`, as compiled functions get them for each record.

    They are memory for the same reason as in `MoveMemory`.
    """

    shift: Integer
    buckets: Memory
    name_hashes: Memory
    flags: Memory
    reference_ids: Memory
    old_positions: Memory
    old_ends: Memory


@njit_inlined
def index_memory_of(index: MoveIndex) -> IndexMemory:
    """Return the memory of the columns of an index."""
    return IndexMemory(
        np.int64(index.shift),
        memory_of(index.buckets),
        memory_of(index.name_hashes),
        memory_of(index.flags),
        memory_of(index.reference_ids),
        memory_of(index.old_positions),
        memory_of(index.old_ends),
    )


class GatheredMoves(NamedTuple):
    """Moves of n records and of their mates.

    Attributes
    ----------
    moves
        The moves.
    own, mates
        int64[n]: the rows of the moves of the records, and of their mates; or `NOT_MOVED`.
    """

    moves: Moves
    own: NDArray[np.int64]
    mates: NDArray[np.int64]


class MoveTable:
    """All moves, in runs that are sorted by the hash of the read's name.

    Attributes
    ----------
    indexes
        The index of each run.
    starts
        int64[runs + 1]: the number of the first move of each run.
    max_left_shift
        Maximum number of bases that a read moves to the left.
    """

    def __init__(self, runs: Sequence[Moves]) -> None:
        self._runs = list(runs)
        self.indexes = [MoveIndex.of(run) for run in runs]
        self.starts = offsets_of([len(run) for run in runs])
        self.max_left_shift = max([0, *(_max_left_shift(run) for run in runs)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, rows: NDArray[np.int64]) -> Moves:
        """Gather moves by their numbers, `rows`, int64[r]."""
        run = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(run, kind="stable")
        by_run = [moves.take(rows[run == k] - self.starts[k]) for k, moves in enumerate(self._runs)]
        inverse = np.empty_like(order)
        inverse[order] = np.arange(order.size)
        return Moves.concatenate([*by_run, Moves.none()]).take(inverse)

    def gathered(self, own: NDArray[np.int64], mates: NDArray[np.int64]) -> GatheredMoves:
        """Return moves given by `own` and `mates`, int64[n] each: their numbers, or `NOT_MOVED`."""
        if len(self._runs) == 1:
            return GatheredMoves(self._runs[0], own, mates)
        has_own, has_mate = own != NOT_MOVED, mates != NOT_MOVED
        own_rows = np.where(has_own, np.cumsum(has_own) - 1, NOT_MOVED)
        mate_rows = np.where(has_mate, np.cumsum(has_mate) - 1 + has_own.sum(), NOT_MOVED)
        moves = self.take(np.concatenate([own[has_own], mates[has_mate]]))
        return GatheredMoves(moves, own_rows, mate_rows)

    def of_name(self, hashed: np.uint64) -> Moves:
        """Return the moves of all records whose name has this hash."""
        found = [
            np.arange(*np.searchsorted(moves.name_hashes, [hashed, hashed + np.uint64(1)])) + start
            for moves, start in zip(self._runs, self.starts[:-1], strict=True)
        ]
        return self.take(np.concatenate([np.empty(0, dtype=np.int64), *found]))


class MoveCollector:
    """Collector of moves in bounded memory.

    A million moves need about 100 MB. Each million is kept in an unnamed temporary file, mapped
    into memory; the file is deleted when the process ends.
    """

    def __init__(self) -> None:
        self._parts: list[Moves] = []
        self._count = 0
        self._runs: list[Moves] = []

    def add(self, moves: Moves) -> None:
        """Add the moves of a batch.

        Raises
        ------
        OutputError
            A temporary file cannot be written.
        """
        self._parts.append(moves)
        self._count += len(moves)
        if self._count >= _MOVES_IN_MEMORY:
            self._runs.append(_memory_mapped(_sorted(self._parts)))
            self._parts, self._count = [], 0

    def table(self) -> MoveTable:
        """Return all moves."""
        last = [_sorted(self._parts)] if self._count else []
        return MoveTable([*self._runs, *last])


def _sorted(parts: Sequence[Moves]) -> Moves:
    """Concatenate and sort moves; by more than the hash, so that batches do not matter."""
    moves = Moves.concatenate(parts)
    keys = (moves.old_ends, moves.flags, moves.old_positions, moves.reference_ids)
    return moves.take(np.lexsort((*keys, moves.name_hashes)))


def _max_left_shift(moves: Moves) -> int:
    return int((moves.old_positions - moves.positions).max(initial=0))


def _memory_mapped(moves: Moves) -> Moves:
    """Write the columns of moves to a temporary file, and map it into memory."""
    try:
        with tempfile.TemporaryFile() as file:
            return moves.with_columns(lambda column: _memory_mapped_column(file, column))
    except OSError as error:
        raise OutputError(
            f"{tempfile.gettempdir()}: cannot be written ({error.strerror or error});"
            " set TMPDIR to a directory with more space"
        ) from error


def _memory_mapped_column(file: IO[bytes], column: NDArray[Any]) -> NDArray[Any]:
    if not column.size:
        return column
    start = file.seek(0, SEEK_END)
    start = file.seek(-(-start // _ALIGNMENT) * _ALIGNMENT)
    column.tofile(file)
    file.flush()
    mapped = np.memmap(file, dtype=column.dtype, mode="r", offset=start, shape=column.shape)
    return np.asarray(mapped)


@njit_inlined
def rows_of_name(index: IndexMemory, name: Integer) -> tuple[Integer, Integer]:
    """Return start and end of the rows of the bucket of a name hash; an empty range if it has none.

    The rows may be of other names too.
    """
    bucket = np.int64(name >> np.uint64(index.shift))
    start, end = read_64(index.buckets, 8 * bucket), read_64(index.buckets, 8 * (bucket + 1))
    for row in range(start, end):
        if _is_name(index, row, name):
            return row, end
    return end, end


@njit_inlined
def _is_name(index: IndexMemory, row: Integer, name: Integer) -> bool:
    return bool(np.uint64(read_64(index.name_hashes, 8 * row)) == name)


@njit_inlined
def find_move(
    index: IndexMemory,
    rows: tuple[Integer, Integer],
    name: Integer,
    flag: Integer,
    place: tuple[Integer, Integer, Integer],
) -> Integer:
    """Return the row of the move of a record aligned to `place`, or `NOT_MOVED`.

    Parameters
    ----------
    index
        The moves.
    rows
        Start and end of the rows to search.
    name, flag
        The hash of the name, and the flags of the record.
    place
        Contig, start and end.
    """
    for row in range(rows[0], rows[1]):
        if (
            _is_name(index, row, name)
            and read_u16(index.flags, 2 * row) == flag
            and read_i32(index.old_positions, 4 * row) == place[1]
            and read_i32(index.reference_ids, 4 * row) == place[0]
            and read_i32(index.old_ends, 4 * row) == place[2]
        ):
            return row
    return np.int64(NOT_MOVED)


@njit_inlined
def find_mate_move(
    index: IndexMemory,
    rows: tuple[Integer, Integer],
    name: Integer,
    flag: Integer,
    place: tuple[Integer, Integer],
) -> Integer:
    """Return the row of the move of a mate with this contig and start, or `NOT_MOVED`."""
    for row in range(rows[0], rows[1]):
        other = read_u16(index.flags, 2 * row)
        if (
            _is_name(index, row, name)
            and (other ^ flag) & 0xC0
            and not other & _NOT_PRIMARY
            and read_i32(index.old_positions, 4 * row) == place[1]
            and read_i32(index.reference_ids, 4 * row) == place[0]
        ):
            return row
    return np.int64(NOT_MOVED)


@njit_inlined
def has_moved_record(
    index: IndexMemory, rows: tuple[Integer, Integer], name: Integer, flag: Integer
) -> bool:
    """Return whether this record or another one of the same read has moved."""
    found = False
    for row in range(rows[0], rows[1]):
        other = read_u16(index.flags, 2 * row)
        found |= _is_name(index, row, name) and not (other ^ flag) & 0xC0
    return found
