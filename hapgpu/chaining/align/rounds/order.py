"""Order of the mappings of each read, as linked, and their operations end to end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.chaining.align.batches import AlignedMappings
from hapgpu.runtime.jit import njit


@njit
def _listed_rows(
    following: NDArray[np.int32],
    heads: NDArray[np.int64],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """List the rows of each read, from its first row on; count them."""
    at = 0
    for read in range(heads.size):
        row, first = heads[read], at
        while row >= 0:
            rows[at] = row
            at += 1
            row = np.int64(following[row])
        counts[read] = at - first


def in_order(
    mappings: NDArray[np.void],
    initial: int,
    operations: NDArray[np.uint32],
    reads: int,
) -> AlignedMappings:
    """Return mappings in the order in which `next` links them.

    Parameters
    ----------
    mappings
        MAPPING[r]: the initial rows sorted by read, each read's linked from its first row on;
        behind them rows that were inserted.
    initial
        Number of initial rows.
    operations
        uint32[c]: operations of the mappings, anywhere.
    reads
        Number of reads.
    """
    own = mappings["read"][:initial]
    heads = np.searchsorted(own, np.arange(reads + 1))
    is_mapped = heads[1:] > heads[:-1]
    rows = np.empty(mappings.size, dtype=np.int64)
    counts = np.empty(reads, dtype=np.int64)
    _listed_rows(
        np.ascontiguousarray(mappings["next"]),
        np.where(is_mapped, heads[:-1], -1),
        rows,
        counts,
    )
    ordered, offsets = mappings[rows], offsets_of(counts)
    gathered = Ragged.gather(operations, ordered["first_operation"], ordered["operations"])
    ordered["first_operation"] = gathered.offsets[:-1]
    ordered["next"] = np.arange(1, rows.size + 1)
    ordered["next"][offsets[1:][counts > 0] - 1] = -1
    return AlignedMappings(ordered, gathered.data, offsets)
