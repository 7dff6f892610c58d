"""Filters of the reads used for genotyping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.read_groups import are_haplotypes
from hapgpu.runtime.jit import njit

_NO_EVIDENCE: Final = 0xF04
"""Flags: unmapped, secondary, failed vendor checks, duplicate, supplementary."""

_UNAVAILABLE: Final = 255
"""MAPQ of SAM for an unknown mapping quality."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    without_haplotypes
        Whether called haplotypes among the records are neither reads nor a sample; on the CPU only.
    """

    exclude_flags: int = _NO_EVIDENCE
    min_mapping_quality: int = 20
    margin: int = 60
    without_haplotypes: bool = False


class AnyReadFilter(Protocol):
    """Filter of reads, such as `ReadFilter`."""

    def keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool[n]: which reads are kept; count those that are `new`, bool[n]."""
        ...


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
        if not self.options.without_haplotypes:
            return self._keeps(reads, new)
        offsets = reads.tags.offsets
        are_reads = ~are_haplotypes(reads.tags.data, offsets[:-1], offsets[1:])
        return self._keeps(reads, new & are_reads) & are_reads

    def _keeps(self, reads: ReadBatch, new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        kept = np.empty(len(reads), dtype=np.bool_)
        counts = np.zeros(len(self.counts), dtype=np.int64)
        _keep(
            read_only(reads.flags),
            read_only(reads.bases.offsets),
            read_only(reads.cigars.offsets),
            read_only(reads.mapping_qualities),
            read_only(new),
            self.options.exclude_flags,
            self.options.min_mapping_quality,
            kept,
            counts,
        )
        self.add(dict(zip(self.counts, counts.tolist(), strict=True)))
        return kept

    def add(self, counts: Mapping[str, int]) -> None:
        """Add numbers of reads to the counts."""
        with self._lock:
            for name, number in counts.items():
                self.counts[name] += number

    def drain(self) -> dict[str, int]:
        """Return the counts since the last call, and count from 0 again."""
        with self._lock:
            drained, self.counts = self.counts, dict.fromkeys(self.counts, 0)
            return drained

    absorb = add


@njit
def _keep(
    flags: NDArray[np.uint16],
    base_offsets: NDArray[np.int64],
    cigar_offsets: NDArray[np.int64],
    mapping_qualities: NDArray[np.uint8],
    new: NDArray[np.bool_],
    exclude_flags: int,
    min_mapping_quality: int,
    kept: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> None:
    """Write which reads are kept; add to the counts, in the order of `ReadFilter.counts`."""
    for row in range(kept.size):
        bases = base_offsets[row + 1] - base_offsets[row]
        reason = 0
        if np.int64(flags[row]) & exclude_flags:
            reason = 1
        elif bases == 0 or cigar_offsets[row + 1] == cigar_offsets[row]:
            reason = 2
        elif mapping_qualities[row] == _UNAVAILABLE:
            reason = 3
        elif mapping_qualities[row] < min_mapping_quality:
            reason = 4
        kept[row] = reason == 0
        if new[row]:
            counts[0] += 1
            if reason > 0:
                counts[reason] += 1
