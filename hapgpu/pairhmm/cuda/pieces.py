"""Batches split into pieces that fit a device, and the index arrays of a piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.runtime.jit import njit

_FIRST_DIVISOR = 4  # the first piece has a fourth of the cells; the next pieces grow
_GROWTH = 1.5


class Groups(Protocol):
    """Groups of reads and haplotypes: `HmmBatch`, or `DeviceHmmBatch`."""

    def __len__(self) -> int:
        """Return the number of groups."""

    @property
    def group_bases(self) -> NDArray[np.int64]:
        """int64[b]: bases of the reads of each group."""

    @property
    def group_columns(self) -> NDArray[np.int64]:
        """int64[b]: bases of the haplotypes of each group."""

    def read_lengths(self) -> NDArray[np.int64]:
        """Return int64[n]: the bases of each read."""

    def slice(self, start: int, end: int) -> Self:
        """Return groups start to end."""

    def some_reads(self, start: int, end: int) -> Self:
        """Return reads start to end of a batch of one group."""


_Batch = TypeVar("_Batch", bound=Groups)


def split_into_pieces(batch: _Batch, max_cells: int, max_bases: int) -> Iterator[_Batch]:
    """Split a batch; the likelihoods of the pieces in order are the likelihoods of the batch.

    The first pieces are smaller, so that the device starts early.

    Parameters
    ----------
    batch
        Any batch.
    max_cells, max_bases
        Matrix cells and read bases of a piece. A group with more is split between reads; a single
        read may have more.
    """
    bases = batch.group_bases
    bases_before = offsets_of(bases)
    cells_before = offsets_of(bases * batch.group_columns)
    start, cells = 0, max(max_cells // _FIRST_DIVISOR, 1)
    if cells_before[-1] <= cells and bases_before[-1] <= max_bases:
        yield batch
        return
    while start < len(batch):
        by_cells = np.searchsorted(cells_before, cells_before[start] + cells, side="right")
        by_bases = np.searchsorted(bases_before, bases_before[start] + max_bases, side="right")
        end = max(int(min(by_cells, by_bases)) - 1, start + 1)
        piece = batch.slice(start, end)
        fraction = max(
            (cells_before[end] - cells_before[start]) / max_cells,
            (bases_before[end] - bases_before[start]) / max_bases,
        )
        yield from [piece] if fraction <= 1 else _split_group(piece, int(bases[start] / fraction))
        start, cells = end, min(int(_GROWTH * cells) + 1, max_cells)


def split_in_two(batch: _Batch) -> list[_Batch]:
    """Split a batch in two; a single read of a single group stays whole."""
    groups = len(batch)
    if groups > 1:
        return [batch.slice(0, groups // 2), batch.slice(groups // 2, groups)]
    reads = batch.read_lengths().size
    if reads > 1:
        return [batch.some_reads(0, reads // 2), batch.some_reads(reads // 2, reads)]
    return [batch]


def _split_group(group: _Batch, bases: int) -> Iterator[_Batch]:
    offsets = offsets_of(group.read_lengths())
    reads = offsets.size - 1
    start = 0
    while start < reads:
        end = int(np.searchsorted(offsets, offsets[start] + bases, side="right")) - 1
        end = min(max(end, start + 1), reads)
        yield group.some_reads(start, end)
        start = end


class PieceIndices(NamedTuple):
    """Index arrays of b groups with h haplotypes to fill in; each may be longer than needed.

    Attributes
    ----------
    group_reads, group_haplotypes, group_pairs
        int32[b + 1] each: offsets of the rows and of the likelihoods of each group, from 0.
    haplotype_offsets
        int32[h + 1]: offsets of the haplotypes, from 0.
    layouts
        int32[h]: number of the layout of each haplotype.
    mask_starts
        int32[h]: offset of the masks of each haplotype.
    """

    group_reads: NDArray[np.int32]
    group_haplotypes: NDArray[np.int32]
    group_pairs: NDArray[np.int32]
    haplotype_offsets: NDArray[np.int32]
    layouts: NDArray[np.int32]
    mask_starts: NDArray[np.int32]


@njit
def fill_indices(
    read_rows: NDArray[np.int64],
    haplotype_rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    layouts: NDArray[np.int32],
    words: NDArray[np.int64],
    out: PieceIndices,
) -> None:
    """Fill in the indices of groups.

    Parameters
    ----------
    read_rows, haplotype_rows
        int64[b + 1]: the rows of each group, from any number on.
    offsets
        int64[h + 1]: offsets of the haplotypes, from any offset on.
    layouts
        int32[h]: the layout of each haplotype.
    words
        int64[layouts]: words of the masks of a haplotype of each layout.
    out
        The arrays.
    """
    pairs = 0
    for group in range(read_rows.size):
        out.group_reads[group] = read_rows[group] - read_rows[0]
        out.group_haplotypes[group] = haplotype_rows[group] - haplotype_rows[0]
        out.group_pairs[group] = pairs
        if group + 1 < read_rows.size:
            reads = read_rows[group + 1] - read_rows[group]
            pairs += reads * (haplotype_rows[group + 1] - haplotype_rows[group])
    start = 0
    for haplotype in range(layouts.size):
        out.haplotype_offsets[haplotype] = offsets[haplotype] - offsets[0]
        out.layouts[haplotype] = layouts[haplotype]
        out.mask_starts[haplotype] = start
        start += words[layouts[haplotype]]
    out.haplotype_offsets[layouts.size] = offsets[layouts.size] - offsets[0]
