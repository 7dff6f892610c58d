"""Reads in one orientation or in both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.runtime.jit import njit

_UNMAPPED = 4


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
        Reverse-complemented and reversed in the rows from n on.
    reversed_row
        int64[n], the row of the reversed read; -1 for a read with one orientation.
    """

    bases: Ragged
    qualities: Ragged
    reversed_row: NDArray[np.int64]


def queries_of(reads: ReadBatch) -> Queries:
    """Return mapped reads in the orientation of the BAM, unmapped reads in both."""
    unmapped = np.flatnonzero(reads.flags & _UNMAPPED)
    reversed_row = np.full(len(reads), -1, dtype=np.int64)
    if not unmapped.size:
        return Queries(reads.bases, reads.qualities, reversed_row)
    reversed_row[unmapped] = len(reads) + np.arange(unmapped.size)
    bases = _reversed(reads.bases.take(unmapped), _COMPLEMENTS)
    qualities = _reversed(reads.qualities.take(unmapped), np.arange(256, dtype=np.uint8))
    return Queries(
        Ragged.concatenate([reads.bases, bases]),
        Ragged.concatenate([reads.qualities, qualities]),
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
