"""Reads that may move, their haplotypes, and the scores of these pairs, on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of, rows_of
from hapgpu.cigar.clips import Clips
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.io.bam.cuda.device_records import DeviceRecords


def pairs_of(pairs: DeviceReadPairs, mask: Any) -> DeviceReadPairs:
    """Keep the pairs of the reads of a mask, bool[n], and renumber the reads."""
    return DeviceReadPairs(offsets_of(pairs.counts[mask]), pairs.haplotypes[mask[pairs.reads]])


@dataclass(frozen=True, slots=True)
class DeviceMovableReads:
    """n reads that may move, on the current GPU.

    Attributes
    ----------
    records
        The records, n rows.
    bases
        uint8 text, n rows.
    cigars
        uint32 in BAM encoding, n rows: the old CIGARs.
    spans
        int64[n]: bases of the reference that the old CIGARs span.
    clips
        Clips of the old CIGARs, in CuPy arrays.
    scores, costs
        int64[n], of the old alignments, as in `AlignmentCosts`.
    """

    records: DeviceRecords
    bases: DeviceRagged
    cigars: DeviceRagged
    spans: Any
    clips: Clips
    scores: Any
    costs: Any

    def take(self, mask: Any) -> DeviceMovableReads:
        """Keep the reads of a mask, bool[n]."""
        rows = cupy.flatnonzero(mask)
        return DeviceMovableReads(
            self.records.take(rows),
            self.bases.take(rows),
            self.cigars.take(rows),
            self.spans[rows],
            self.clips.take(rows),
            self.scores[rows],
            self.costs[rows],
        )


@dataclass(frozen=True, slots=True)
class DeviceVariants:
    """The columns of `ClipVariants` on the current GPU."""

    offsets: Any
    leading: Any
    trailing: Any
    bases: DeviceRagged

    @classmethod
    def whole(cls, bases: DeviceRagged) -> Self:
        """Return one variant per read, with all clipped bases."""
        none = cupy.zeros(len(bases), dtype=np.int32)
        return cls(cupy.arange(len(bases) + 1), none, none, bases)

    @classmethod
    def of(cls, bases: DeviceRagged, clips: Clips) -> Self:
        """Return all variants, as `ClipVariants.of`."""
        has_trailing = clips.trailing > 0
        counts = (1 + (clips.leading > 0)) * (1 + has_trailing)
        offsets = offsets_of(counts)
        total = int(offsets[-1])
        read = rows_of(offsets, total)
        number = counts[read] - 1 - (cupy.arange(total) - offsets[read])
        has_two = has_trailing[read]
        keeps_trailing = has_two & (number & 1 > 0)
        keeps_leading = cupy.where(has_two, number >> 1, number) > 0
        leading = cupy.where(keeps_leading, clips.leading[read], 0).astype(np.int32)
        trailing = cupy.where(keeps_trailing, clips.trailing[read], 0).astype(np.int32)
        lengths = bases.lengths[read] - leading - trailing
        kept = cupy.flatnonzero(lengths > 0)
        read, leading = read[kept], leading[kept]
        return cls(
            offsets_of(cupy.bincount(read, minlength=counts.size)),
            leading,
            trailing[kept],
            DeviceRagged.gather(bases.data, bases.offsets[read] + leading, lengths[kept]),
        )


@dataclass(frozen=True, slots=True)
class DevicePairScores:
    """Scores and clip variants of p pairs, int32[p] and int64[p]."""

    scores: Any
    variants: Any

    def take(self, kept: Any) -> DevicePairScores:
        """Keep the pairs of a mask, bool[p]."""
        return DevicePairScores(self.scores[kept], self.variants[kept])


@dataclass(frozen=True, slots=True)
class DeviceBestPairs:
    """The best extended haplotype of n reads, its clip variant, and the second-best score."""

    rows: Any
    variants: Any
    second_scores: Any
