"""Counts of the records of a block of reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.text_block import TextBlock


class RecordCounts(NamedTuple):
    """Counts of the reads of a block and of their records.

    Attributes
    ----------
    mapped, hits
        Reads with a hit, and the hits of all reads (after `best`, before `max_hits`).
    records
        Lines written.
    reads_over_max_hits
        Reads with more hits than `max_hits`.
    too_short
        Reads of fewer than `MIN_READ_BASES` bases, which are not mapped.
    """

    mapped: int
    hits: int
    records: int
    reads_over_max_hits: int
    too_short: int


def sam_block(text: NDArray[np.uint8], reads: int, counts: RecordCounts) -> TextBlock:
    """Return the SAM records of a block of reads, uint8 text, with their counts."""
    return TextBlock(text, {"reads": reads, **counts._asdict()})
