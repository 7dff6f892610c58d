"""Which reads may speak for a genotype."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch

_NO_EVIDENCE: Final = 0xF04
"""Unmapped, secondary, failed by the vendor's checks, duplicate or supplementary."""

_UNAVAILABLE: Final = 255
"""What SAM has for a mapping quality that is not known."""


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """Which reads are looked at; the standard is that of GATK's HaplotypeCaller.

    Attributes
    ----------
    exclude_flags
        SAM flags of which a read may have none.
    min_mapping_quality
        Phred, 0 to 255.
    margin
        Bases around a locus in which a read counts as one of the locus: clipped bases may reach it.
    """

    exclude_flags: int = _NO_EVIDENCE
    min_mapping_quality: int = 20
    margin: int = 60


class ReadFilter:
    """Tells which reads are kept, and counts; safe to use from several threads.

    Attributes
    ----------
    counts
        `reads` that were read, and how many of them were left out: `excluded_by_flags`, of the
        others `without_alignment` (no bases or no CIGAR), of the others
        `without_mapping_quality` (255), of the others `low_mapping_quality`.
    """

    def __init__(self, rules: FilterOptions) -> None:
        self._rules = rules
        self._lock = Lock()
        self.counts = {
            "reads": 0,
            "excluded_by_flags": 0,
            "without_alignment": 0,
            "without_mapping_quality": 0,
            "low_mapping_quality": 0,
        }

    def keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[n]: which reads are kept; those that are `new`, bool[n], are counted."""
        kept = np.ones(len(reads), dtype=np.bool_)
        met = {"reads": int(np.count_nonzero(new))}
        for reason, passes in self._passes(reads).items():
            met[reason] = int(np.count_nonzero(kept & ~passes & new))
            kept &= passes
        with self._lock:
            for what, number in met.items():
                self.counts[what] += number
        return kept

    def _passes(self, reads: ReadBatch) -> dict[str, NDArray[np.bool_]]:
        return {
            "excluded_by_flags": reads.has_flags(0, self._rules.exclude_flags),
            "without_alignment": (reads.bases.lengths > 0) & (reads.cigars.lengths > 0),
            "without_mapping_quality": reads.mapping_qualities != _UNAVAILABLE,
            "low_mapping_quality": reads.mapping_qualities >= self._rules.min_mapping_quality,
        }
