"""Batches of reads as plain arrays, for compiled functions; reads of several batches gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import AnyArray, Integer
from hapgpu.arrays.memory import copy_memory, memory_of
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_memory import RaggedMemory
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit, njit_inlined

_FIXED: Final[dict[str, type[np.generic]]] = {
    "flags": np.uint16,
    "reference_ids": np.int32,
    "positions": np.int32,
    "mapping_qualities": np.uint8,
    "mate_reference_ids": np.int32,
    "mate_positions": np.int32,
    "template_lengths": np.int32,
}
"""The columns of one number per read."""

_CIGAR_BYTES = 4


class ReadColumns(NamedTuple):
    """The columns of a `ReadBatch`, each ragged one as its data and its offsets.

    `name_offsets`, `cigar_offsets`, `base_offsets` and `tag_offsets` are int64[n + 1]. The rows of
    `qualities` have the offsets of `bases`.
    """

    flags: NDArray[np.uint16]
    reference_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    mapping_qualities: NDArray[np.uint8]
    mate_reference_ids: NDArray[np.int32]
    mate_positions: NDArray[np.int32]
    template_lengths: NDArray[np.int32]
    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    cigars: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    base_offsets: NDArray[np.int64]
    qualities: NDArray[np.uint8]
    tags: NDArray[np.uint8]
    tag_offsets: NDArray[np.int64]

    @classmethod
    def empty(
        cls,
        name_lengths: NDArray[np.int32],
        cigar_lengths: NDArray[np.int32],
        base_counts: NDArray[np.int32],
        tag_lengths: NDArray[np.int32],
    ) -> ReadColumns:
        """Allocate columns for n reads, one row per read.

        Parameters
        ----------
        name_lengths, cigar_lengths, base_counts, tag_lengths
            int32[n] each: the lengths of the fields of each read.
        """
        rows = name_lengths.size
        names, cigars = offsets_of(name_lengths), offsets_of(cigar_lengths)
        bases, tags = offsets_of(base_counts), offsets_of(tag_lengths)
        return cls(
            **{name: np.empty(rows, dtype=dtype) for name, dtype in _FIXED.items()},
            names=np.empty(int(names[-1]), dtype=np.uint8),
            name_offsets=names,
            cigars=np.empty(int(cigars[-1]), dtype=np.uint32),
            cigar_offsets=cigars,
            bases=np.empty(int(bases[-1]), dtype=np.uint8),
            base_offsets=bases,
            qualities=np.empty(int(bases[-1]), dtype=np.uint8),
            tags=np.empty(int(tags[-1]), dtype=np.uint8),
            tag_offsets=tags,
        )

    @classmethod
    def from_batch(cls, batch: ReadBatch) -> ReadColumns:
        """View the columns of a batch, read-only, after checking their numbers of rows.

        Raises
        ------
        ValueError
            Columns differ in their number of rows, or bases and qualities in their row lengths.
        """
        if not np.array_equal(batch.bases.offsets, batch.qualities.offsets):
            raise ValueError("the rows of bases and qualities differ in length")
        columns = cls(
            **{name: _frozen(getattr(batch, name), dtype) for name, dtype in _FIXED.items()},
            names=_frozen(batch.names.data, np.uint8),
            name_offsets=_frozen(batch.names.offsets, np.int64),
            cigars=_frozen(batch.cigars.data, np.uint32),
            cigar_offsets=_frozen(batch.cigars.offsets, np.int64),
            bases=_frozen(batch.bases.data, np.uint8),
            base_offsets=_frozen(batch.bases.offsets, np.int64),
            qualities=_frozen(batch.qualities.data, np.uint8),
            tags=_frozen(batch.tags.data, np.uint8),
            tag_offsets=_frozen(batch.tags.offsets, np.int64),
        )
        offsets = (
            columns.name_offsets,
            columns.cigar_offsets,
            columns.base_offsets,
            columns.tag_offsets,
        )
        rows = [
            *(getattr(columns, name).size for name in _FIXED),
            *(each.size - 1 for each in offsets),
        ]
        if set(rows) != {len(batch)}:
            raise ValueError("the columns of a batch differ in their number of rows")
        return columns

    def to_batch(self) -> ReadBatch:
        """Return the columns as a batch, without a copy."""
        return ReadBatch(
            **{name: getattr(self, name) for name in _FIXED},
            names=Ragged(self.names, self.name_offsets),
            cigars=Ragged(self.cigars, self.cigar_offsets),
            bases=Ragged(self.bases, self.base_offsets),
            qualities=Ragged(self.qualities, self.base_offsets),
            tags=Ragged(self.tags, self.tag_offsets),
        )


class ReadMemory(NamedTuple):
    """The memory of the ragged columns of `ReadColumns`."""

    names: RaggedMemory
    cigars: RaggedMemory
    bases: RaggedMemory
    qualities: RaggedMemory
    tags: RaggedMemory


@njit_inlined
def read_memory_of(columns: ReadColumns) -> ReadMemory:
    """Return the memory of ragged columns; the caller holds them."""
    base_offsets = memory_of(columns.base_offsets)
    return ReadMemory(
        RaggedMemory(memory_of(columns.names), memory_of(columns.name_offsets)),
        RaggedMemory(memory_of(columns.cigars), memory_of(columns.cigar_offsets)),
        RaggedMemory(memory_of(columns.bases), base_offsets),
        RaggedMemory(memory_of(columns.qualities), base_offsets),
        RaggedMemory(memory_of(columns.tags), memory_of(columns.tag_offsets)),
    )


def _frozen(column: AnyArray, dtype: type[np.generic]) -> AnyArray:
    """View a column read-only, contiguous and of a dtype."""
    return read_only(np.ascontiguousarray(column, dtype=dtype))


def gathered_reads(parts: Sequence[tuple[ReadBatch, NDArray[np.int64]]]) -> ReadBatch:
    """Copy reads of batches, end to end.

    Parameters
    ----------
    parts
        Batches, each with the rows of its reads in any order, int64.
    """
    columns = [ReadColumns.from_batch(reads) for reads, _ in parts]
    rows = [part_rows for _, part_rows in parts]
    counts = [part_rows.size for part_rows in rows]
    lengths = np.empty((4, sum(counts)), dtype=np.int32)
    at = 0
    for part, part_rows, count in zip(columns, rows, counts, strict=True):
        _measure(part, part_rows, lengths, at)
        at += count
    out = ReadColumns.empty(*lengths)
    at = 0
    for part, part_rows, count in zip(columns, rows, counts, strict=True):
        _copy(part, part_rows, out, at)
        at += count
    return out.to_batch()


@njit
def _measure(
    reads: ReadColumns, rows: NDArray[np.int64], out: NDArray[np.int32], first: Integer
) -> None:
    """Write the lengths of names, CIGARs, bases and tags; raise for a row that does not exist."""
    for k in range(rows.size):
        row, to = rows[k], first + k
        if not 0 <= row < reads.flags.size:
            raise IndexError("row of no read")
        out[0, to] = reads.name_offsets[row + 1] - reads.name_offsets[row]
        out[1, to] = reads.cigar_offsets[row + 1] - reads.cigar_offsets[row]
        out[2, to] = reads.base_offsets[row + 1] - reads.base_offsets[row]
        out[3, to] = reads.tag_offsets[row + 1] - reads.tag_offsets[row]


@njit
def _copy(reads: ReadColumns, rows: NDArray[np.int64], out: ReadColumns, first: int) -> None:
    for k in range(rows.size):
        row, to = rows[k], first + k
        out.flags[to] = reads.flags[row]
        out.reference_ids[to] = reads.reference_ids[row]
        out.positions[to] = reads.positions[row]
        out.mapping_qualities[to] = reads.mapping_qualities[row]
        out.mate_reference_ids[to] = reads.mate_reference_ids[row]
        out.mate_positions[to] = reads.mate_positions[row]
        out.template_lengths[to] = reads.template_lengths[row]
    _copy_rows(reads.names, reads.name_offsets, rows, out.names, out.name_offsets, first, 1)
    cigars = out.cigars, out.cigar_offsets
    _copy_rows(reads.cigars, reads.cigar_offsets, rows, *cigars, first, _CIGAR_BYTES)
    _copy_rows(reads.bases, reads.base_offsets, rows, out.bases, out.base_offsets, first, 1)
    _copy_rows(reads.qualities, reads.base_offsets, rows, out.qualities, out.base_offsets, first, 1)
    _copy_rows(reads.tags, reads.tag_offsets, rows, out.tags, out.tag_offsets, first, 1)


@njit_inlined
def _copy_rows(
    data: AnyArray,
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    out: AnyArray,
    out_offsets: NDArray[np.int64],
    first: Integer,
    item: int,
) -> None:
    source, target = memory_of(data), memory_of(out)
    for k in range(rows.size):
        start, end = np.int64(offsets[rows[k]]), np.int64(offsets[rows[k] + 1])
        to = np.int64(out_offsets[first + k])
        copy_memory(target, item * to, source, item * start, item * (end - start))
