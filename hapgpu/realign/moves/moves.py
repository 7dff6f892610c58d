"""Reads that get a new alignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import FNV_BASIS, FNV_PRIME, Integer
from hapgpu.arrays.memory import load_u8_at
from hapgpu.arrays.ragged import Ragged
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
        """Replace each array by the result of a function."""

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


def name_hashes(names: Ragged) -> NDArray[np.uint64]:
    """Return uint64[n]: the hash of each name, as in `MoveIndex`."""
    hashes = np.empty(len(names), dtype=np.uint64)
    _hash_rows(view_of(names), hashes)
    return hashes


@njit
def _hash_rows(rows: RaggedView, out: NDArray[np.uint64]) -> None:
    for row in range(out.size):
        out[row] = name_hash(rows.data, rows.offsets[row], rows.offsets[row + 1])


@njit_inlined
def name_hash(data: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Return the hash of the name data[start:end], uint64, with well-mixed leading bits."""
    return name_hash_at(data.ctypes.data + start, end - start)


@njit_inlined
def name_hash_at(name: Integer, size: Integer) -> Integer:
    """Return the hash of the name of `size` bytes at an address: FNV-1a, and mixed."""
    value = FNV_BASIS
    for k in range(size):
        value = (value ^ np.uint64(load_u8_at(name + k))) * FNV_PRIME
    value ^= value >> np.uint64(32)
    return value * np.uint64(0x9E3779B97F4A7C15)
