"""Batches: many sequences, reads, pairs or alignments as arrays, one row each.

Everything between the input and the output of hapgpu is one of these. They are never
changed in place: a stage makes a new batch from the columns it keeps and those it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.jit import njit


@njit
def _copy_rows(
    data: NDArray[Any],
    starts: NDArray[np.int64],
    out: NDArray[Any],
    out_offsets: NDArray[np.int64],
) -> None:
    for row in range(starts.shape[0]):
        begin = out_offsets[row]
        length = out_offsets[row + 1] - begin
        source = starts[row]
        for k in range(length):
            out[begin + k] = data[source + k]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths, end to end in one array.

    Attributes
    ----------
    data
        Any dtype, shape [offsets[-1]].
    offsets
        int64[n + 1], from 0, never falling; row i is `data[offsets[i]:offsets[i + 1]]`.
    """

    data: NDArray[Any]
    offsets: NDArray[np.int64]

    @classmethod
    def from_sequences(cls, sequences: Iterable[bytes | str]) -> Ragged:
        """Put sequences (text is taken as ASCII) end to end as uint8."""
        rows = [s.encode("ascii") if isinstance(s, str) else bytes(s) for s in sequences]
        data = np.frombuffer(b"".join(rows), dtype=np.uint8)
        return cls(data, offsets_of([len(row) for row in rows]))

    @classmethod
    def from_lengths(cls, data: NDArray[Any], lengths: NDArray[Any] | Sequence[int]) -> Ragged:
        """Cut `data` into rows of the given lengths, whose sum is the size of `data`."""
        return cls(data, offsets_of(lengths))

    @classmethod
    def gather(cls, data: NDArray[Any], starts: NDArray[Any], lengths: NDArray[Any]) -> Ragged:
        """Copy rows that lie anywhere in `data` behind each other."""
        offsets = offsets_of(lengths)
        rows = np.empty(int(offsets[-1]), dtype=data.dtype)
        # To copy, only the size of an item matters: so there is one function for each size.
        word = np.dtype(f"u{data.itemsize}")
        words = data.view(word)
        words.flags.writeable = False
        _copy_rows(words, starts, rows.view(word), offsets)
        return cls(rows, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged]) -> Ragged:
        """Put the rows of several arrays of one dtype, at least one, under each other."""
        data = np.concatenate([part.data for part in parts])
        return cls(data, offsets_of(np.concatenate([part.lengths for part in parts])))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        if not -len(self) <= row < len(self):
            message = f"row {row} of {len(self)}"
            raise IndexError(message)
        row %= len(self)
        return self.data[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[row] for row in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each row."""
        return np.diff(self.offsets)

    def lengths_of(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """int64[r]: the lengths of some rows, repeats too."""
        lengths: NDArray[np.int64] = self.offsets[rows + 1] - self.offsets[rows]
        return lengths

    def take(self, rows: NDArray[Any]) -> Ragged:
        """Gather rows: a boolean mask of shape [n], or row numbers in any order, repeats too.

        All rows in order share memory with this array.
        """
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return Ragged.gather(self.data, self.offsets[rows], self.lengths_of(rows))

    def slice(self, start: int, stop: int) -> Ragged:
        """Rows start to stop, sharing memory with this array."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])


def offsets_of(lengths: NDArray[Any] | Sequence[int]) -> NDArray[np.int64]:
    """int64[n + 1]: where rows of these lengths begin when they lie end to end."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.asarray(lengths, dtype=np.int64), out=offsets[1:])
    return offsets


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
        int32[n], into the header's @SQ lines and 0-based; -1 where there is none.
    mapping_qualities
        uint8[n].
    cigars
        uint32 in BAM encoding (length << 4 | operation); no elements for `*`.
    mate_reference_ids, mate_positions, template_lengths
        int32[n]; -1, -1 and 0 where there is none.
    bases
        uint8 text, upper case, one of `=ACMGRSVTWYHKDBN`, as stored (mapped reverse reads are
        reverse-complemented).
    qualities
        uint8 Phred with the rows of `bases`; a read without qualities has 255 throughout.
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
        """bool[n]: whether a read has all required SAM flags, and none of the excluded ones."""
        has_all, has_none = self.flags & required == required, self.flags & excluded == 0
        wanted: NDArray[np.bool_] = has_all & has_none
        return wanted

    def take(self, rows: NDArray[Any]) -> ReadBatch:
        """Gather reads: a boolean mask of shape [n], or row numbers in any order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return ReadBatch(
            names=self.names.take(rows),
            flags=self.flags[rows],
            reference_ids=self.reference_ids[rows],
            positions=self.positions[rows],
            mapping_qualities=self.mapping_qualities[rows],
            cigars=self.cigars.take(rows),
            mate_reference_ids=self.mate_reference_ids[rows],
            mate_positions=self.mate_positions[rows],
            template_lengths=self.template_lengths[rows],
            bases=self.bases.take(rows),
            qualities=self.qualities.take(rows),
            tags=self.tags.take(rows),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[ReadBatch]) -> ReadBatch:
        """Put batches, at least one, under each other."""
        return cls(
            names=Ragged.concatenate([part.names for part in parts]),
            flags=np.concatenate([part.flags for part in parts]),
            reference_ids=np.concatenate([part.reference_ids for part in parts]),
            positions=np.concatenate([part.positions for part in parts]),
            mapping_qualities=np.concatenate([part.mapping_qualities for part in parts]),
            cigars=Ragged.concatenate([part.cigars for part in parts]),
            mate_reference_ids=np.concatenate([part.mate_reference_ids for part in parts]),
            mate_positions=np.concatenate([part.mate_positions for part in parts]),
            template_lengths=np.concatenate([part.template_lengths for part in parts]),
            bases=Ragged.concatenate([part.bases for part in parts]),
            qualities=Ragged.concatenate([part.qualities for part in parts]),
            tags=Ragged.concatenate([part.tags for part in parts]),
        )

    def split(self, size: int) -> Iterator[ReadBatch]:
        """Yield batches of at most `size` reads, in order."""
        if len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Pairs to be aligned: row i is `references[reference_index[i]]`, `queries[query_index[i]]`.

    Sequences are uint8 text; they are stored once, however many pairs they are part of.
    """

    references: Ragged
    queries: Ragged
    reference_index: NDArray[np.int32]
    query_index: NDArray[np.int32]

    def __len__(self) -> int:
        return self.reference_index.size

    @property
    def reference_lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each pair's reference."""
        return self.references.lengths_of(self.reference_index)

    @property
    def query_lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each pair's query."""
        return self.queries.lengths_of(self.query_index)

    def take(self, rows: NDArray[Any]) -> PairBatch:
        """Gather pairs; the sequences are shared."""
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

    @classmethod
    def concatenate(cls, parts: Sequence[AlignmentBatch]) -> AlignmentBatch:
        """Put batches, at least one, under each other."""
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            Ragged.concatenate([part.cigars for part in parts]),
        )
