"""Reads with their qualities as arguments of compiled functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.pairhmm.batches import HmmReads


class ReadArrays(NamedTuple):
    """The columns of `HmmReads`, read-only."""

    bases: NDArray[np.uint8]
    base_qualities: NDArray[np.uint8]
    insertion_qualities: NDArray[np.uint8]
    deletion_qualities: NDArray[np.uint8]
    gap_continuations: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def read_arrays_of(reads: HmmReads) -> ReadArrays:
    """Return reads as an argument of compiled functions."""
    columns = (reads.bases.data, *reads.qualities, reads.bases.offsets)
    return ReadArrays(*(read_only(np.ascontiguousarray(column)) for column in columns))
