"""Batches split into pieces that fit a device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hapgpu.arrays.ragged import offsets_of
from hapgpu.pairhmm.batches import HmmBatch

_FIRST_DIVISOR = 3  # the first piece has a third of the cells; the next pieces grow
_GROWTH = 2


def split_into_pieces(batch: HmmBatch, max_cells: int, max_bases: int) -> Iterator[HmmBatch]:
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
    bases = np.diff(batch.reads.bases.offsets[batch.read_offsets])
    columns = np.diff(batch.haplotypes.offsets[batch.haplotype_offsets])
    bases_before = offsets_of(bases)
    cells_before = offsets_of(bases * columns)
    start, cells = 0, max(max_cells // _FIRST_DIVISOR, 1)
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
        start, cells = end, min(_GROWTH * cells, max_cells)


def split_in_two(batch: HmmBatch) -> list[HmmBatch]:
    """Split a batch in two; a single read of a single group stays whole."""
    groups, reads = len(batch), len(batch.reads)
    if groups > 1:
        return [batch.slice(0, groups // 2), batch.slice(groups // 2, groups)]
    if reads > 1:
        return [_some_reads(batch, 0, reads // 2), _some_reads(batch, reads // 2, reads)]
    return [batch]


def _split_group(group: HmmBatch, bases: int) -> Iterator[HmmBatch]:
    offsets = group.reads.bases.offsets
    start = 0
    while start < len(group.reads):
        end = int(np.searchsorted(offsets, offsets[start] + bases, side="right")) - 1
        end = min(max(end, start + 1), len(group.reads))
        yield _some_reads(group, start, end)
        start = end


def _some_reads(group: HmmBatch, start: int, end: int) -> HmmBatch:
    """Return reads start to end of a batch of one group."""
    return HmmBatch(
        group.reads.slice(start, end),
        group.haplotypes,
        np.array([0, end - start], dtype=np.int64),
        group.haplotype_offsets,
    )
