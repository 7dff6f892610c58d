"""Reads that get a new alignment, to be found again by name and by where they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged
from hapgpu.io.byte_access import Integer, hash_of
from hapgpu.jit import njit, njit_inlined
from hapgpu.rows import Rows, read_only, rows_of

NOT_MOVED: Final = -1

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
    """The columns of a `MoveTable` by which reads are found, for compiled code.

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


class MoveTable:
    """All moves of a run, sorted by the hash of the read's name.

    Takes about 100 bytes per move.

    Attributes
    ----------
    moves
        The moves, sorted.
    index
        What they are found by.
    most_left
        How many bases, at most, a read starts before its old position.
    """

    def __init__(self, parts: Sequence[Moves]) -> None:
        moves = Moves.concatenate([*parts, Moves.none()])
        # By more than the hash, so that the table does not depend on batches.
        keys = (moves.flags, moves.old_positions, moves.reference_ids, moves.name_hashes)
        self.moves = moves.take(np.lexsort(keys))
        bits = max(1, len(moves).bit_length())
        shift = np.uint64(64 - bits)
        tops = (self.moves.name_hashes >> shift).astype(np.int64)
        self.index = MoveIndex(
            np.searchsorted(tops, np.arange(2**bits + 1)),
            shift,
            read_only(self.moves.name_hashes),
            read_only(self.moves.flags),
            read_only(self.moves.reference_ids),
            read_only(self.moves.old_positions),
            read_only(self.moves.old_ends),
        )
        shifts = self.moves.old_positions - self.moves.positions
        self.most_left = max(0, int(shifts.max(initial=0)))

    def __len__(self) -> int:
        return len(self.moves)


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
