"""What the pair-HMM is given: reads with qualities, haplotypes, and who meets whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of


def uniform_column(column: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a column of equal values as one value, broadcast, and any other as it is."""
    if not column.size or (column != column[0]).any():
        return column
    return np.broadcast_to(column[:1].copy(), column.shape)


def is_uniform(column: NDArray[np.uint8]) -> bool:
    """Tell whether a column is one value, broadcast."""
    return column.size > 0 and column.strides == (0,)


def _joined(columns: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Put columns behind each other; one value, broadcast, stays one."""
    size = sum(column.size for column in columns)
    filled = [column for column in columns if column.size]
    if filled and all(is_uniform(column) and column[0] == filled[0][0] for column in filled):
        return np.broadcast_to(filled[0][:1], (size,))
    return np.concatenate(columns)


@dataclass(frozen=True, slots=True)
class HmmReads:
    """n reads with four Phred qualities per base.

    Attributes
    ----------
    bases
        uint8 text, n rows.
    base_qualities, insertion_qualities, deletion_qualities, gap_continuations
        uint8 Phred with the rows of `bases`, one value per element of `bases.data`: of the base
        call, of opening an insertion or a deletion there, and of continuing either. A column of
        equal values may be one value, broadcast (`uniform_column`): a GPU makes use of that with
        gap continuations.
    """

    bases: Ragged
    base_qualities: NDArray[np.uint8]
    insertion_qualities: NDArray[np.uint8]
    deletion_qualities: NDArray[np.uint8]
    gap_continuations: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.bases)

    @property
    def qualities(self) -> tuple[NDArray[np.uint8], ...]:
        """The four qualities, in the order of the text format and of the API."""
        return (
            self.base_qualities,
            self.insertion_qualities,
            self.deletion_qualities,
            self.gap_continuations,
        )

    def take(self, rows: NDArray[np.int64]) -> HmmReads:
        """Gather reads, in any order, repeats too."""
        return self.gather(self.bases.offsets[rows], self.bases.lengths_of(rows))

    def gather(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> HmmReads:
        """Copy reads, or parts of them, that begin at elements `starts` of the columns."""
        bases = Ragged.gather(self.bases.data, starts, lengths)
        columns = (
            np.broadcast_to(column[:1], bases.data.shape)
            if is_uniform(column) and bases.data.size
            else Ragged.gather(np.ascontiguousarray(column), starts, lengths).data
            for column in self.qualities
        )
        return HmmReads(bases, *columns)

    def slice(self, start: int, stop: int) -> HmmReads:
        """Return reads start to stop, sharing memory with these."""
        begin, end = self.bases.offsets[[start, stop]]
        return HmmReads(
            self.bases.slice(start, stop), *(column[begin:end] for column in self.qualities)
        )


@dataclass(frozen=True, slots=True)
class HmmBatch:
    """b regions: each read of a region meets each haplotype of that region.

    Likelihoods of a batch are float64[pairs], region by region, read by read, the haplotypes of
    a read side by side.

    Attributes
    ----------
    reads
        n reads, those of a region next to each other.
    haplotypes
        uint8 text, h rows, likewise.
    read_offsets, haplotype_offsets
        int64[b + 1]: region k has the reads `read_offsets[k]` to `read_offsets[k + 1]`, and its
        haplotypes likewise. Either may be none.
    """

    reads: HmmReads
    haplotypes: Ragged
    read_offsets: NDArray[np.int64]
    haplotype_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.read_offsets.size - 1

    @property
    def pair_offsets(self) -> NDArray[np.int64]:
        """int64[b + 1]: where the likelihoods of each region begin."""
        return offsets_of(np.diff(self.read_offsets) * np.diff(self.haplotype_offsets))

    @property
    def pairs(self) -> int:
        """Number of likelihoods."""
        return int(self.pair_offsets[-1])

    @property
    def cells(self) -> int:
        """Matrix cells of all pairs: read length times haplotype length."""
        bases = self.reads.bases.offsets[self.read_offsets]
        columns = self.haplotypes.offsets[self.haplotype_offsets]
        return int((np.diff(bases) * np.diff(columns)).sum())

    def slice(self, start: int, stop: int) -> HmmBatch:
        """Regions start to stop, sharing memory with this batch."""
        first_read, last_read = self.read_offsets[[start, stop]]
        first_haplotype, last_haplotype = self.haplotype_offsets[[start, stop]]
        return HmmBatch(
            self.reads.slice(first_read, last_read),
            self.haplotypes.slice(first_haplotype, last_haplotype),
            self.read_offsets[start : stop + 1] - first_read,
            self.haplotype_offsets[start : stop + 1] - first_haplotype,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[HmmBatch]) -> HmmBatch:
        """Put the regions of batches, at least one, behind each other."""
        columns = zip(*(part.reads.qualities for part in parts), strict=True)
        return cls(
            HmmReads(
                Ragged.concatenate([part.reads.bases for part in parts]),
                *(_joined(column) for column in columns),
            ),
            Ragged.concatenate([part.haplotypes for part in parts]),
            offsets_of(np.concatenate([np.diff(part.read_offsets) for part in parts])),
            offsets_of(np.concatenate([np.diff(part.haplotype_offsets) for part in parts])),
        )
