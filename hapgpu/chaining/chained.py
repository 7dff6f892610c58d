"""What comes out of chaining a block of reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ChainedBlock:
    """Lines of PAF of a block of reads, and what there is to count.

    Attributes
    ----------
    text
        uint8.
    reads, bases
        How many reads there were, and of how many bases.
    anchors
        How many k-mers they share with the reference, as far as these were looked at.
    mapped
        How many reads have a region.
    lines, secondary
        How many regions were written, and how many of these are not primary.
    """

    text: NDArray[np.uint8]
    reads: int
    bases: int
    anchors: int
    mapped: int
    lines: int
    secondary: int

    def counts(self) -> dict[str, int]:
        """Return what is told of a run: the counts by name."""
        return {
            "reads": self.reads,
            "bases": self.bases,
            "anchors": self.anchors,
            "mapped": self.mapped,
            "lines": self.lines,
            "secondary": self.secondary,
        }
