"""Batches of reads as plain arrays, for compiled functions."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import AnyArray
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import read_only

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


class ReadColumns(NamedTuple):
    """The columns of a `ReadBatch`, each ragged one as its data and its offsets.

    The rows of `qualities` have the offsets of `bases`.
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
        """Allocate columns for reads whose fields have these lengths, one row per read."""
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


def _frozen(column: AnyArray, dtype: type[np.generic]) -> AnyArray:
    """View a column read-only, contiguous and of a dtype."""
    return read_only(np.ascontiguousarray(column, dtype=dtype))
