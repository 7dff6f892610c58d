"""Input of the pair-HMM: reads with qualities, haplotypes, and which of them form pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.runtime.output import Output

TextOutput: TypeAlias = Output[Iterable[NDArray[np.uint8]]]
"""Lines of a table, in parts of uint8 text that may be made as they are iterated over."""


def is_uniform(column: NDArray[np.uint8]) -> bool:
    """Tell whether a column, uint8[n], is one value, broadcast."""
    return column.size > 0 and column.strides == (0,)


def uniform_column(column: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a column, uint8[n]: as one value, broadcast, if all are equal, else as it is."""
    if not column.size or is_uniform(column) or (column != column[0]).any():
        return column
    return np.broadcast_to(column[:1].copy(), column.shape)


def _joined(columns: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Concatenate columns; equal values that are broadcast stay so."""
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
        call, of opening an insertion that starts with it, of opening a deletion after it, and of
        continuing either. A column of equal values may be one value, broadcast (`uniform_column`):
        the GPU has a faster kernel for gap continuations of this kind.
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
        """The four qualities, uint8 Phred each, in the order of the text format and of the API."""
        return (
            self.base_qualities,
            self.insertion_qualities,
            self.deletion_qualities,
            self.gap_continuations,
        )

    @property
    def uniform_continuation(self) -> int | None:
        """The gap continuation, if all bases have the same one."""
        column = self.gap_continuations
        return int(column[0]) if is_uniform(column) else None

    def take(self, rows: NDArray[np.int64]) -> HmmReads:
        """Gather reads by their rows, int64[k], in any order, with repeats."""
        return self.gather(self.bases.offsets[rows], self.bases.lengths_of(rows))

    def gather(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> HmmReads:
        """Copy k reads or parts, by `starts` and `lengths` in the columns, int64[k] each."""
        bases = Ragged.gather(self.bases.data, starts, lengths)
        columns = (
            np.broadcast_to(column[:1], bases.data.shape)
            if is_uniform(column) and bases.data.size
            else Ragged.gather(np.ascontiguousarray(column), starts, lengths).data
            for column in self.qualities
        )
        return HmmReads(bases, *columns)

    def slice(self, start: int, end: int) -> HmmReads:
        """Return reads start to end, sharing memory with these."""
        first, last = self.bases.offsets[[start, end]]
        return HmmReads(self.bases[start:end], *(column[first:last] for column in self.qualities))


@dataclass(frozen=True, slots=True)
class HmmBatch:
    """b groups; each read of a group forms a pair with each haplotype of the group.

    A group is the reads and haplotypes of a locus, or of a text batch. Likelihoods of a batch
    are float64[pairs], group by group, read by read, haplotype by haplotype.

    Attributes
    ----------
    reads
        n reads, group by group.
    haplotypes
        uint8 text, h rows, group by group.
    read_offsets, haplotype_offsets
        int64[b + 1]: group k has reads `read_offsets[k]` to `read_offsets[k + 1]`, and haplotypes
        `haplotype_offsets[k]` to `haplotype_offsets[k + 1]`. Both ranges may be empty.
    """

    reads: HmmReads
    haplotypes: Ragged
    read_offsets: NDArray[np.int64]
    haplotype_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.read_offsets.size - 1

    @property
    def pair_offsets(self) -> NDArray[np.int64]:
        """int64[b + 1]: offsets of the likelihoods of each group."""
        return offsets_of(lengths_of(self.read_offsets) * lengths_of(self.haplotype_offsets))

    @property
    def pairs(self) -> int:
        """Number of likelihoods."""
        return int(lengths_of(self.read_offsets) @ lengths_of(self.haplotype_offsets))

    @property
    def cells(self) -> int:
        """Matrix cells of all pairs: the sum of read length times haplotype length."""
        return int((self.group_bases * self.group_columns).sum())

    @property
    def group_bases(self) -> NDArray[np.int64]:
        """int64[b]: bases of the reads of each group."""
        return lengths_of(self.reads.bases.offsets[self.read_offsets])

    @property
    def group_columns(self) -> NDArray[np.int64]:
        """int64[b]: bases of the haplotypes of each group."""
        return lengths_of(self.haplotypes.offsets[self.haplotype_offsets])

    @property
    def column_offsets(self) -> NDArray[np.int64]:
        """int64[h + 1]: where the haplotypes start."""
        return self.haplotypes.offsets

    @property
    def haplotype_lengths(self) -> NDArray[np.int64]:
        """int64[h]: bases of each haplotype."""
        return self.haplotypes.lengths

    def read_lengths(self) -> NDArray[np.int64]:
        """Return int64[n]: the bases of each read."""
        return self.reads.bases.lengths

    def slice(self, start: int, end: int) -> HmmBatch:
        """Return groups start to end, sharing memory with this batch."""
        first_read, last_read = self.read_offsets[[start, end]]
        first_haplotype, last_haplotype = self.haplotype_offsets[[start, end]]
        return HmmBatch(
            self.reads.slice(first_read, last_read),
            self.haplotypes[first_haplotype:last_haplotype],
            self.read_offsets[start : end + 1] - first_read,
            self.haplotype_offsets[start : end + 1] - first_haplotype,
        )

    def some_reads(self, start: int, end: int) -> HmmBatch:
        """Return reads start to end of a batch of one group, sharing memory with this batch."""
        return HmmBatch(
            self.reads.slice(start, end),
            self.haplotypes,
            np.array([0, end - start], dtype=np.int64),
            self.haplotype_offsets,
        )

    @classmethod
    def concatenate(cls, batches: Sequence[HmmBatch]) -> HmmBatch:
        """Concatenate the groups of at least one batch."""
        if len(batches) == 1:
            return batches[0]
        columns = zip(*(batch.reads.qualities for batch in batches), strict=True)
        return cls(
            HmmReads(
                Ragged.concatenate([batch.reads.bases for batch in batches]),
                *(_joined(column) for column in columns),
            ),
            Ragged.concatenate([batch.haplotypes for batch in batches]),
            offsets_of(np.concatenate([lengths_of(batch.read_offsets) for batch in batches])),
            offsets_of(np.concatenate([lengths_of(batch.haplotype_offsets) for batch in batches])),
        )
