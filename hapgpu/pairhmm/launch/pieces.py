"""Batches cut into pieces that a device holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hapgpu.arrays.ragged import offsets_of
from hapgpu.pairhmm.batches import HmmBatch

_FIRST_SHARE = 3  # the first piece has this share of the cells, the next ones grow
_GROWTH = 2


def pieces_of(batch: HmmBatch, max_cells: int, max_bases: int) -> Iterator[HmmBatch]:
    """Cut a batch; the likelihoods of the pieces, one after the other, are those of the batch.

    The first pieces are smaller, so that the device has something to do early.

    Parameters
    ----------
    batch
        Any batch.
    max_cells, max_bases
        Matrix cells and read bases of a piece. A region with more is cut between its reads, and
        a single read may have more.
    """
    bases = np.diff(batch.reads.bases.offsets[batch.read_offsets])
    columns = np.diff(batch.haplotypes.offsets[batch.haplotype_offsets])
    bases_before = offsets_of(bases)
    cells_before = offsets_of(bases * columns)
    start, cells = 0, max(max_cells // _FIRST_SHARE, 1)
    while start < len(batch):
        by_cells = np.searchsorted(cells_before, cells_before[start] + cells, side="right")
        by_bases = np.searchsorted(bases_before, bases_before[start] + max_bases, side="right")
        stop = max(int(min(by_cells, by_bases)) - 1, start + 1)
        piece = batch.slice(start, stop)
        share = max(
            (cells_before[stop] - cells_before[start]) / max_cells,
            (bases_before[stop] - bases_before[start]) / max_bases,
        )
        yield from [piece] if share <= 1 else _cut_region(piece, int(bases[start] / share))
        start, cells = stop, min(_GROWTH * cells, max_cells)


def halves_of(batch: HmmBatch) -> list[HmmBatch]:
    """Cut a batch in two; only a single read of a single region stays whole."""
    regions, reads = len(batch), len(batch.reads)
    if regions > 1:
        return [batch.slice(0, regions // 2), batch.slice(regions // 2, regions)]
    if reads > 1:
        return [_some_reads(batch, 0, reads // 2), _some_reads(batch, reads // 2, reads)]
    return [batch]


def _cut_region(region: HmmBatch, bases: int) -> Iterator[HmmBatch]:
    offsets = region.reads.bases.offsets
    start = 0
    while start < len(region.reads):
        stop = int(np.searchsorted(offsets, offsets[start] + bases, side="right")) - 1
        stop = min(max(stop, start + 1), len(region.reads))
        yield _some_reads(region, start, stop)
        start = stop


def _some_reads(region: HmmBatch, start: int, stop: int) -> HmmBatch:
    """Take reads start to stop of a batch of one region."""
    return HmmBatch(
        region.reads.slice(start, stop),
        region.haplotypes,
        np.array([0, stop - start], dtype=np.int64),
        region.haplotype_offsets,
    )
