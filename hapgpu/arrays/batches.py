"""Batches of reads, pairs and alignments: columns of arrays, one row each.

Batches are never changed in place: a stage makes a new batch from the columns that it keeps and
the columns that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import AnyArray
from hapgpu.arrays.ragged import Ragged


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Reads as the columns of SAM, n rows each.

    Attributes
    ----------
    names
        uint8 text, without the closing NUL.
    flags
        uint16[n], SAM flags.
    reference_ids, positions
        int32[n], index of the @SQ line and position, both 0-based; -1 if missing.
    mapping_qualities
        uint8[n].
    cigars
        uint32 in BAM encoding (length << 4 | operation); no elements for `*`.
    mate_reference_ids, mate_positions, template_lengths
        int32[n]; -1, -1 and 0 if missing.
    bases
        uint8 text, upper case, one of `=ACMGRSVTWYHKDBN`, as stored (mapped reverse reads are
        reverse-complemented).
    qualities
        uint8 Phred, with the row lengths of `bases`; all 255 for a read without qualities.
    tags
        uint8, the optional fields in BAM encoding.
    """

    names: Ragged
    flags: NDArray[np.uint16]
    reference_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    mapping_qualities: NDArray[np.uint8]
    cigars: Ragged
    mate_reference_ids: NDArray[np.int32]
    mate_positions: NDArray[np.int32]
    template_lengths: NDArray[np.int32]
    bases: Ragged
    qualities: Ragged
    tags: Ragged

    def __len__(self) -> int:
        return self.flags.size

    def has_flags(self, required: int, excluded: int) -> NDArray[np.bool_]:
        """Return bool[n]: the read has all required SAM flags and none of the excluded ones."""
        has_all, has_none = self.flags & required == required, self.flags & excluded == 0
        has_both: NDArray[np.bool_] = has_all & has_none
        return has_both

    def take(self, rows: AnyArray) -> ReadBatch:
        """Gather reads by `rows`: bool[n], or numbers of any integer dtype, in any order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return ReadBatch(*[_taken(column, rows) for column in _columns_of(self)])

    @classmethod
    def concatenate(cls, parts: Sequence[ReadBatch]) -> ReadBatch:
        """Concatenate batches, at least one."""
        columns = zip(*map(_columns_of, parts), strict=True)
        return cls(*map(_concatenated, columns))

    def split(self, size: int) -> Iterator[ReadBatch]:
        """Yield batches of at most `size` reads, in order."""
        if len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))


def _columns_of(batch: ReadBatch) -> list[Any]:
    return [getattr(batch, column.name) for column in fields(batch)]


def _taken(column: Any, rows: AnyArray) -> Any:
    return column.take(rows) if isinstance(column, Ragged) else column[rows]


def _concatenated(column: Sequence[Any]) -> Any:
    """Concatenate the parts of a column."""
    is_ragged = isinstance(column[0], Ragged)
    return Ragged.concatenate(column) if is_ragged else np.concatenate(column)


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Pairs to be aligned: row i is `references[reference_index[i]]`, `queries[query_index[i]]`.

    Each sequence is stored once, however many pairs use it.

    Attributes
    ----------
    references, queries
        uint8 text.
    reference_index, query_index
        int32[p]: rows of the sequences.
    """

    references: Ragged
    queries: Ragged
    reference_index: NDArray[np.int32]
    query_index: NDArray[np.int32]

    def __len__(self) -> int:
        return self.reference_index.size

    @property
    def reference_lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of the reference of each pair."""
        return self.references.lengths_of(self.reference_index)

    @property
    def query_lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of the query of each pair."""
        return self.queries.lengths_of(self.query_index)

    def take(self, rows: AnyArray) -> PairBatch:
        """Gather pairs by `rows`, bool[p] or of any integer dtype; the sequences share memory."""
        return PairBatch(
            self.references, self.queries, self.reference_index[rows], self.query_index[rows]
        )

    def compact(self) -> PairBatch:
        """Drop the sequences that no pair uses."""
        references, reference_index = np.unique(self.reference_index, return_inverse=True)
        queries, query_index = np.unique(self.query_index, return_inverse=True)
        return PairBatch(
            self.references.take(references),
            self.queries.take(queries),
            reference_index.astype(np.int32),
            query_index.astype(np.int32),
        )


@dataclass(frozen=True, slots=True)
class AlignmentBatch:
    """Alignments of n pairs.

    Attributes
    ----------
    scores
        int32[n].
    offsets
        int32[n], 0-based start in the reference (negative only under `ignore`).
    cigars
        uint32 in BAM encoding.
    """

    scores: NDArray[np.int32]
    offsets: NDArray[np.int32]
    cigars: Ragged

    def __len__(self) -> int:
        return self.scores.size

    def take(self, rows: AnyArray) -> AlignmentBatch:
        """Gather alignments by `rows`, bool[n] or of any integer dtype, in any order."""
        return AlignmentBatch(self.scores[rows], self.offsets[rows], self.cigars.take(rows))

    @classmethod
    def concatenate(cls, parts: Sequence[AlignmentBatch]) -> AlignmentBatch:
        """Concatenate batches, at least one; a single batch is returned as it is."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            Ragged.concatenate([part.cigars for part in parts]),
        )


def split_batches(batches: Iterable[ReadBatch], reads: int) -> Iterator[ReadBatch]:
    """Split batches into batches of at most `reads` reads."""
    for batch in batches:
        yield from batch.split(reads)
