"""Filters of the reads used for genotyping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch

_NO_EVIDENCE: Final = 0xF04
"""Flags: unmapped, secondary, failed vendor checks, duplicate, supplementary."""

_UNAVAILABLE: Final = 255
"""MAPQ of SAM for an unknown mapping quality."""


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """Options of the filters; the defaults are those of GATK's HaplotypeCaller.

    Attributes
    ----------
    exclude_flags
        Reads with any of these SAM flags are excluded.
    min_mapping_quality
        Reads with a lower MAPQ are excluded; 0 to 255.
    margin
        Bases on either side of a locus in which reads belong to it: clipped bases may overlap it.
    """

    exclude_flags: int = _NO_EVIDENCE
    min_mapping_quality: int = 20
    margin: int = 60


class ReadFilter:
    """Filter of reads, with counts; safe to use from several threads.

    Attributes
    ----------
    options
        Options of the filters.
    counts
        Number of `reads`, and of reads excluded by the first filter that applies, in this order:
        `excluded_by_flags`, `without_alignment` (no bases or no CIGAR), `without_mapping_quality`
        (255), `low_mapping_quality`.
    """

    def __init__(self, options: FilterOptions) -> None:
        self.options = options
        self._lock = Lock()
        self.counts = {
            "reads": 0,
            "excluded_by_flags": 0,
            "without_alignment": 0,
            "without_mapping_quality": 0,
            "low_mapping_quality": 0,
        }

    def keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[n]: which reads are kept; count those that are `new`, bool[n]."""
        kept = np.ones(len(reads), dtype=np.bool_)
        counts = {"reads": int(np.count_nonzero(new))}
        for reason, passes in self._passes(reads).items():
            counts[reason] = int(np.count_nonzero(kept & ~passes & new))
            kept &= passes
        self.add(counts)
        return kept

    def add(self, counts: Mapping[str, int]) -> None:
        """Add numbers of reads to the counts."""
        with self._lock:
            for name, number in counts.items():
                self.counts[name] += number

    def _passes(self, reads: ReadBatch) -> dict[str, NDArray[np.bool_]]:
        return {
            "excluded_by_flags": reads.has_flags(0, self.options.exclude_flags),
            "without_alignment": (reads.bases.lengths > 0) & (reads.cigars.lengths > 0),
            "without_mapping_quality": reads.mapping_qualities != _UNAVAILABLE,
            "low_mapping_quality": reads.mapping_qualities >= self.options.min_mapping_quality,
        }
