"""Reads in one orientation or in both, and with and without their soft-clipped ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.kinds import AnyArray, ArrayKind, Rows
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.cigar.clips import Clips
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.runtime.jit import njit


def _complements() -> NDArray[np.uint8]:
    table = np.arange(256, dtype=np.uint8)
    table[list(b"ACGTMRWSYKVHDBN")] = list(b"TGCAKYWSRMBDHVN")
    return table


_COMPLEMENTS = _complements()


@dataclass(frozen=True, slots=True)
class Queries:
    """The n reads as stored in the BAM, then the reversed reads that are also aligned.

    Attributes
    ----------
    bases, qualities
        uint8 text, and uint8 Phred; reverse-complemented and reversed in the rows from n on.
    reads
        int64: the read of each row.
    reversed_row
        int64[n], the row of the reversed read; -1 for a read with one orientation.
    """

    bases: Ragged
    qualities: Ragged
    reads: NDArray[np.int64]
    reversed_row: NDArray[np.int64]

    @property
    def has_reversed(self) -> bool:
        """Whether any read has two orientations."""
        return self.reads.size > self.reversed_row.size


def queries_of(reads: ReadBatch) -> Queries:
    """Return mapped reads in the orientation of the BAM, unmapped reads in both."""
    rows, unmapped = np.arange(len(reads)), np.flatnonzero(reads.flags & UNMAPPED)
    reversed_row = np.full(len(reads), -1, dtype=np.int64)
    if not unmapped.size:
        return Queries(reads.bases, reads.qualities, rows, reversed_row)
    reversed_row[unmapped] = len(reads) + np.arange(unmapped.size)
    bases = _reversed(reads.bases.take(unmapped), _COMPLEMENTS)
    qualities = _reversed(reads.qualities.take(unmapped), np.arange(256, dtype=np.uint8))
    return Queries(
        Ragged.concatenate([reads.bases, bases]),
        Ragged.concatenate([reads.qualities, qualities]),
        np.concatenate([rows, unmapped]),
        reversed_row,
    )


def _reversed(rows: Ragged, translation: NDArray[np.uint8]) -> Ragged:
    data = np.empty_like(rows.data)
    _write_reversed(view_of(rows), translation, data)
    return Ragged(data, rows.offsets)


@njit
def _write_reversed(
    rows: RaggedView, translation: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    """Write each row reversed, with translated bytes."""
    for row in range(rows.offsets.size - 1):
        first, last = rows.offsets[row], rows.offsets[row + 1] - 1
        for k in range(first, last + 1):
            out[k] = translation[rows.data[first + last - k]]


@dataclass(frozen=True, slots=True)
class ClipVariants(Generic[Rows]):
    """v variants of n reads, read by read, the variant with the fewest bases first.

    Attributes
    ----------
    offsets
        int64[n + 1]: the variants of read i are rows `offsets[i]` to `offsets[i + 1]`.
    leading, trailing
        int32[v]: soft-clipped bases that stay clipped.
    bases
        uint8 text, v rows: the bases that are not clipped.
    """

    offsets: AnyArray
    leading: AnyArray
    trailing: AnyArray
    bases: Rows

    @classmethod
    def whole(cls, bases: Rows, arrays: ArrayKind[Rows]) -> ClipVariants[Rows]:
        """Return one variant per read, with all clipped bases."""
        none = arrays.module.zeros(len(bases), dtype=np.int32)
        return ClipVariants(arrays.module.arange(len(bases) + 1), none, none, bases)

    @classmethod
    def of(cls, bases: Rows, clips: Clips, arrays: ArrayKind[Rows]) -> ClipVariants[Rows]:
        """Return all variants: each clipped end of each read with and without its bases."""
        xp = arrays.module
        has_trailing = clips.trailing > 0
        counts = (1 + (clips.leading > 0)) * (1 + has_trailing)
        offsets = arrays.offsets_of(counts)
        total = int(offsets[-1])
        read = arrays.rows_of(offsets, total)
        number = counts[read] - 1 - (xp.arange(total) - offsets[read])
        # Of four variants, 0 is without clips, 1 keeps the end clipped, 2 the start, 3 both.
        has_two = has_trailing[read]
        keeps_trailing = has_two & (number & 1 > 0)
        keeps_leading = xp.where(has_two, number >> 1, number) > 0
        leading = xp.where(keeps_leading, clips.leading[read], 0).astype(np.int32)
        trailing = xp.where(keeps_trailing, clips.trailing[read], 0).astype(np.int32)
        lengths = bases.lengths[read] - leading - trailing
        # A read with all bases clipped has no variant that keeps all clips.
        kept = xp.flatnonzero(lengths > 0)
        read, leading = read[kept], leading[kept]
        return ClipVariants(
            arrays.offsets_of(xp.bincount(read, minlength=counts.size)),
            leading,
            trailing[kept],
            arrays.gather(bases.data, bases.offsets[read] + leading, lengths[kept]),
        )

    def __len__(self) -> int:
        return int(self.leading.size)
