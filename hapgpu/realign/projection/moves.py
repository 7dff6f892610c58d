"""Reads that get a new alignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import FNV_BASIS, FNV_PRIME, Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_memory import RaggedMemory, ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.runtime.jit import njit, njit_inlined


@dataclass(frozen=True, slots=True)
class Moves:
    """n reads with new alignments.

    Attributes
    ----------
    name_hashes
        uint64[n].
    flags
        uint16[n], as in the input; a move changes only 0x2.
    reference_ids
        int32[n]: the contig, which stays the same.
    old_positions, old_ends, positions, ends
        int32[n], 0-based, half-open: the old and the new alignment.
    scores, second_scores
        int32[n], of the best haplotype and of the second best; `NO_SCORE` for none.
    edit_distances, mismatches
        int32[n] and uint8 text: NM and MD.
    cigars
        uint32 in BAM encoding: the new CIGARs.
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
        """Return moves of no reads."""
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
        """Concatenate at least one object."""
        columns = zip(*(part.columns for part in parts), strict=True)
        return cls(*(_kind(column[0]).concatenate(column) for column in columns))

    def with_columns(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Moves:
        """Replace each array by the result of a function."""

        def changed(column: Any) -> Any:
            if isinstance(column, Ragged):
                return Ragged(change(column.data), change(column.offsets))
            return change(column)

        return Moves(*map(changed, self.columns))

    def take(self, rows: NDArray[np.int64]) -> Moves:
        """Gather moves by their numbers, `rows`, int64[r]."""
        return Moves(*(_kind(column).take(column, rows) for column in self.columns))

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns, in their order; their types differ."""
        return tuple(getattr(self, field.name) for field in fields(self))


def _kind(column: Any) -> Any:
    """Return what concatenates columns, and takes from them."""
    return Ragged if isinstance(column, Ragged) else np


def name_hashes(names: Ragged) -> NDArray[np.uint64]:
    """Return uint64[n]: the hash of each of `names`, uint8 text, as in `MoveIndex`."""
    hashes = np.empty(len(names), dtype=np.uint64)
    _hash_rows(view_of(names), hashes)
    return hashes


@njit
def _hash_rows(rows: RaggedView, out: NDArray[np.uint64]) -> None:
    names = ragged_memory_of(rows)
    for row in range(out.size):
        out[row] = name_hash(row_memory(names, row, 1))


@njit_inlined
def name_hash(name: Memory) -> Integer:
    """Return the hash of a name, uint64, with well-mixed leading bits: FNV-1a, and mixed."""
    value = FNV_BASIS
    for k in range(name.size):
        value = (value ^ np.uint64(read_u8(name, k))) * FNV_PRIME
    value ^= value >> np.uint64(32)
    return value * np.uint64(0x9E3779B97F4A7C15)


class MoveView(NamedTuple):
    """The columns of `Moves` that compiled functions write to records, read-only."""

    flags: NDArray[np.uint16]
    old_positions: NDArray[np.int32]
    old_ends: NDArray[np.int32]
    positions: NDArray[np.int32]
    ends: NDArray[np.int32]
    scores: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    edit_distances: NDArray[np.int32]
    mismatches: RaggedView
    cigars: RaggedView


class MoveMemory(NamedTuple):
    """The columns of a `MoveView`, as compiled functions get them for each record.

    Threads share the columns. Numba would count references to arrays for each record, and the
    threads would wait for the counters of each other.
    """

    flags: Memory
    old_positions: Memory
    old_ends: Memory
    positions: Memory
    ends: Memory
    scores: Memory
    second_scores: Memory
    edit_distances: Memory
    mismatches: RaggedMemory
    cigars: RaggedMemory


@njit_inlined
def move_memory_of(moves: MoveView) -> MoveMemory:
    """Return the memory of the columns of moves."""
    return MoveMemory(
        memory_of(moves.flags),
        memory_of(moves.old_positions),
        memory_of(moves.old_ends),
        memory_of(moves.positions),
        memory_of(moves.ends),
        memory_of(moves.scores),
        memory_of(moves.second_scores),
        memory_of(moves.edit_distances),
        ragged_memory_of(moves.mismatches),
        ragged_memory_of(moves.cigars),
    )
