"""What comes out of mapping a block of reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SamBlock:
    """Records of a block of reads as lines of SAM, and what there is to count.

    Attributes
    ----------
    text
        uint8.
    reads, mapped, hits
        How many reads there were, how many of them have a hit, and how many hits they have
        (after `best`, before `max_hits`).
    records
        How many lines were written.
    reads_over_max_hits
        Reads of which `max_hits` left hits out.
    too_short
        Reads that were not mapped because they have fewer than `MIN_READ_BASES`.
    """

    text: NDArray[np.uint8]
    reads: int
    mapped: int
    hits: int
    records: int
    reads_over_max_hits: int
    too_short: int
