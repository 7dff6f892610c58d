"""Spans of the parts of reads in a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ReadSpans:
    """Spans of names, bases and qualities of n reads in a text of less than 2**31 bytes.

    Attributes
    ----------
    name_starts, name_lengths
        int32[n]: the names, up to the first blank and without a trailing /1 or /2.
    base_starts
        int32[n]: starts of the bases.
    quality_starts
        int32[n]: starts of the qualities; undefined if the reads have none.
    lengths
        int32[n]: number of bases, and of qualities.
    has_qualities
        Whether the reads have qualities: all or none.
    """

    name_starts: NDArray[np.int32]
    name_lengths: NDArray[np.int32]
    base_starts: NDArray[np.int32]
    quality_starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    has_qualities: bool

    def __len__(self) -> int:
        return self.lengths.size
