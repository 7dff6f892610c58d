"""Where the parts of reads lie in a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ReadSpans:
    """Names, bases and qualities of n reads within a text of less than 2**31 bytes.

    Attributes
    ----------
    name_starts, name_lengths
        int32[n]: the names, without what follows the first blank and without a closing /1 or /2.
    base_starts
        int32[n].
    quality_starts
        int32[n]; without meaning where the reads have no qualities.
    lengths
        int32[n]: how many bases, and how many qualities.
    has_qualities
        Of all reads, or of none.
    """

    name_starts: NDArray[np.int32]
    name_lengths: NDArray[np.int32]
    base_starts: NDArray[np.int32]
    quality_starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    has_qualities: bool

    def __len__(self) -> int:
        return self.lengths.size
