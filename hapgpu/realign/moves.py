"""Reads that get a new alignment, to be found again by name and by where they were."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import SEEK_END
from typing import IO, Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, offsets_of
from hapgpu.errors import OutputError
from hapgpu.io.byte_access import Integer, hash_of
from hapgpu.jit import njit, njit_inlined
from hapgpu.rows import Rows, read_only, rows_of

NOT_MOVED: Final = -1

_MOVES_IN_MEMORY = 1_000_000
_ALIGNMENT: Final = 8

_NEVER_ALIKE: Final = 0x900  # secondary and supplementary records are nobody's mate


@dataclass(frozen=True, slots=True)
class Moves:
    """n reads with new alignments.

    Attributes
    ----------
    name_hashes
        uint64[n].
    flags
        uint16[n], as in the input; a move changes none of them but 0x2.
    reference_ids
        int32[n]: the contig, which stays the same.
    old_positions, old_ends, positions, ends
        int32[n], 0-based and half-open: before and after.
    scores, second_scores
        int32[n], of the best haplotype and of the best other one; `NO_SCORE` for none.
    edit_distances, mismatches
        int32[n] and uint8 text: NM and MD.
    cigars
        uint32 in BAM encoding: the new ones.
    """

    name_hashes: NDArray[np.uint64]
    flags: NDArray[np.uint16]
    reference_ids: NDArray[np.int32]
    old_positions: NDArray[np.int32]
    old_ends: NDArray[np.int32]
    positions: NDArray[np.int32]
    ends: NDArray[np.int32]
    scores: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    edit_distances: NDArray[np.int32]
    mismatches: Ragged
    cigars: Ragged

    def __len__(self) -> int:
        return self.flags.size

    @classmethod
    def none(cls) -> Self:
        """No reads."""
        numbers = np.empty(0, dtype=np.int32)
        no_rows = np.zeros(1, dtype=np.int64)
        return cls(
            name_hashes=numbers.astype(np.uint64),
            flags=numbers.astype(np.uint16),
            reference_ids=numbers,
            old_positions=numbers,
            old_ends=numbers,
            positions=numbers,
            ends=numbers,
            scores=numbers,
            second_scores=numbers,
            edit_distances=numbers,
            mismatches=Ragged(numbers.astype(np.uint8), no_rows),
            cigars=Ragged(numbers.astype(np.uint32), no_rows),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Put moves, at least one, under each other."""
        return cls(
            name_hashes=np.concatenate([part.name_hashes for part in parts]),
            flags=np.concatenate([part.flags for part in parts]),
            reference_ids=np.concatenate([part.reference_ids for part in parts]),
            old_positions=np.concatenate([part.old_positions for part in parts]),
            old_ends=np.concatenate([part.old_ends for part in parts]),
            positions=np.concatenate([part.positions for part in parts]),
            ends=np.concatenate([part.ends for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            second_scores=np.concatenate([part.second_scores for part in parts]),
            edit_distances=np.concatenate([part.edit_distances for part in parts]),
            mismatches=Ragged.concatenate([part.mismatches for part in parts]),
            cigars=Ragged.concatenate([part.cigars for part in parts]),
        )

    def with_columns(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Moves:
        """Replace each array by what a function returns for it."""

        def changed(rows: Ragged) -> Ragged:
            return Ragged(change(rows.data), change(rows.offsets))

        return Moves(
            name_hashes=change(self.name_hashes),
            flags=change(self.flags),
            reference_ids=change(self.reference_ids),
            old_positions=change(self.old_positions),
            old_ends=change(self.old_ends),
            positions=change(self.positions),
            ends=change(self.ends),
            scores=change(self.scores),
            second_scores=change(self.second_scores),
            edit_distances=change(self.edit_distances),
            mismatches=changed(self.mismatches),
            cigars=changed(self.cigars),
        )

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Gather moves by their numbers."""
        return type(self)(
            name_hashes=self.name_hashes[rows],
            flags=self.flags[rows],
            reference_ids=self.reference_ids[rows],
            old_positions=self.old_positions[rows],
            old_ends=self.old_ends[rows],
            positions=self.positions[rows],
            ends=self.ends[rows],
            scores=self.scores[rows],
            second_scores=self.second_scores[rows],
            edit_distances=self.edit_distances[rows],
            mismatches=self.mismatches.take(rows),
            cigars=self.cigars.take(rows),
        )


class MoveIndex(NamedTuple):
    """The columns of a run of moves by which reads are found, for compiled code.

    Attributes
    ----------
    buckets
        int64[2 ** k + 1]: moves whose name hash has the leading bits b are rows
        `buckets[b]` to `buckets[b + 1]`.
    shift
        64 - k.
    """

    buckets: NDArray[np.int64]
    shift: np.uint64
    name_hashes: NDArray[np.uint64]
    flags: NDArray[np.uint16]
    reference_ids: NDArray[np.int32]
    old_positions: NDArray[np.int32]
    old_ends: NDArray[np.int32]

    @classmethod
    def of(cls, moves: Moves) -> Self:
        """Index moves that are sorted by the hash of the name."""
        bits = max(1, len(moves).bit_length())
        shift = np.uint64(64 - bits)
        tops = (moves.name_hashes >> shift).astype(np.int64)
        return cls(
            np.searchsorted(tops, np.arange(2**bits + 1)),
            shift,
            read_only(moves.name_hashes),
            read_only(moves.flags),
            read_only(moves.reference_ids),
            read_only(moves.old_positions),
            read_only(moves.old_ends),
        )


class MoveTable:
    """All moves of a run of the program, in runs that are sorted by the hash of the read's name.

    Attributes
    ----------
    indexes
        What the moves of each run are found by.
    starts
        int64[runs + 1]: the moves of run k have the numbers from `starts[k]` on.
    most_left
        How many bases, at most, a read starts before its old position.
    """

    def __init__(self, runs: Sequence[Moves]) -> None:
        self._runs = list(runs)
        self.indexes = [MoveIndex.of(run) for run in runs]
        self.starts = offsets_of([len(run) for run in runs])
        self.most_left = max([0, *(_most_left(run) for run in runs)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, rows: NDArray[np.int64]) -> Moves:
        """Gather moves by their numbers."""
        run = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(run, kind="stable")
        parts = [moves.take(rows[run == k] - self.starts[k]) for k, moves in enumerate(self._runs)]
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return Moves.concatenate([*parts, Moves.none()]).take(back)

    def of_name(self, hashed: np.uint64) -> Moves:
        """Return the moves of all records whose name has a hash."""
        found = [
            np.arange(*np.searchsorted(moves.name_hashes, [hashed, hashed + np.uint64(1)])) + start
            for moves, start in zip(self._runs, self.starts[:-1], strict=True)
        ]
        return self.take(np.concatenate([np.empty(0, dtype=np.int64), *found]))


class MoveCollector:
    """Collects moves as they are found, in bounded memory.

    A million moves take about 100 MB. Each further million waits in an unnamed temporary file,
    which is gone with this process, and is mapped into memory.
    """

    def __init__(self) -> None:
        self._parts: list[Moves] = []
        self._count = 0
        self._runs: list[Moves] = []

    def add(self, moves: Moves) -> None:
        """Take the moves of a batch.

        Raises
        ------
        OutputError
            There is no room for a temporary file.
        """
        self._parts.append(moves)
        self._count += len(moves)
        if self._count >= _MOVES_IN_MEMORY:
            self._runs.append(_mapped(_sorted(self._parts)))
            self._parts, self._count = [], 0

    def table(self) -> MoveTable:
        """Return all moves."""
        last = [_sorted(self._parts)] if self._count else []
        return MoveTable([*self._runs, *last])


def _sorted(parts: Sequence[Moves]) -> Moves:
    """Sort by more than the hash, so that the order does not depend on batches."""
    moves = Moves.concatenate(parts)
    keys = (moves.old_ends, moves.flags, moves.old_positions, moves.reference_ids)
    return moves.take(np.lexsort((*keys, moves.name_hashes)))


def _most_left(moves: Moves) -> int:
    return int((moves.old_positions - moves.positions).max(initial=0))


def _mapped(moves: Moves) -> Moves:
    """Move the columns of moves to a temporary file."""
    try:
        with tempfile.TemporaryFile() as file:
            return moves.with_columns(lambda column: _mapped_column(file, column))
    except OSError as error:
        raise OutputError(
            f"cannot write a temporary file to {tempfile.gettempdir()}: {error.strerror or error};"
            " set TMPDIR to a folder with more room"
        ) from error


def _mapped_column(file: IO[bytes], column: NDArray[Any]) -> NDArray[Any]:
    if not column.size:
        return column
    start = file.seek(0, SEEK_END)
    start = file.seek(-(-start // _ALIGNMENT) * _ALIGNMENT)
    column.tofile(file)
    file.flush()
    mapped = np.memmap(file, dtype=column.dtype, mode="r", offset=start, shape=column.shape)
    return np.asarray(mapped)


def name_hashes(names: Ragged) -> NDArray[np.uint64]:
    """uint64[n]: the hash of each name, by which `MoveIndex` finds it."""
    hashes = np.empty(len(names), dtype=np.uint64)
    _hash_rows(rows_of(names), hashes)
    return hashes


@njit
def _hash_rows(rows: Rows, out: NDArray[np.uint64]) -> None:
    for row in range(out.size):
        out[row] = name_hash(rows.data, rows.offsets[row], rows.offsets[row + 1])


@njit_inlined
def name_hash(data: NDArray[np.uint8], begin: Integer, end: Integer) -> Integer:
    """Return the hash of the name data[begin:end], uint64, its leading bits well mixed."""
    value = hash_of(data, begin, end)
    value ^= value >> np.uint64(32)
    return value * np.uint64(0x9E3779B97F4A7C15)


@njit_inlined
def find_own(
    index: MoveIndex, name: Integer, flag: Integer, reference: Integer, start: Integer, end: Integer
) -> Integer:
    """Return the move of a record that covers start to end, or `NOT_MOVED`."""
    bucket = np.int64(name >> index.shift)
    for row in range(index.buckets[bucket], index.buckets[bucket + 1]):
        if (
            index.name_hashes[row] == name
            and index.flags[row] == flag
            and index.old_positions[row] == start
            and index.reference_ids[row] == reference
            and index.old_ends[row] == end
        ):
            return row
    return NOT_MOVED


@njit_inlined
def find_mate(
    index: MoveIndex, name: Integer, flag: Integer, reference: Integer, start: Integer
) -> Integer:
    """Return the move of the mate of a record, which says that it starts there, or `NOT_MOVED`."""
    bucket = np.int64(name >> index.shift)
    for row in range(index.buckets[bucket], index.buckets[bucket + 1]):
        other = np.int64(index.flags[row])
        if (
            index.name_hashes[row] == name
            and (other ^ flag) & 0xC0
            and not other & _NEVER_ALIKE
            and index.old_positions[row] == start
            and index.reference_ids[row] == reference
        ):
            return row
    return NOT_MOVED


@njit_inlined
def has_sibling(index: MoveIndex, name: Integer, flag: Integer) -> bool:
    """Tell whether a record of the same read, this one or another, has moved."""
    found = False
    bucket = np.int64(name >> index.shift)
    for row in range(index.buckets[bucket], index.buckets[bucket + 1]):
        found |= index.name_hashes[row] == name and not (index.flags[row] ^ flag) & 0xC0
    return found
