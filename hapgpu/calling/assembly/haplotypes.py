"""Haplotypes of active regions, aligned with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import RegionHaplotypes
from hapgpu.cigar.encoding import match_cigars, reference_lengths
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.runtime.devices import Device

_MIN_REFERENCE_LENGTH: Final = 30


@dataclass(frozen=True, slots=True)
class AssembledPaths:
    """The different strings of p paths other than the reference, of r active regions.

    Attributes
    ----------
    regions
        int64[p], ascending.
    bases
        uint8 text, p rows; best first for each graph, smaller k-mers first.
    scores
        float64[p]: log10 scores.
    """

    regions: NDArray[np.int64]
    bases: Ragged
    scores: NDArray[np.float64]


def haplotypes_of(paths: AssembledPaths, references: Ragged, device: Device) -> RegionHaplotypes:
    """Align paths end to end with the references of their active regions, and add these.

    Paths without such an alignment, or with less than 30 bases of the reference in it, are
    excluded, as in GATK.

    Parameters
    ----------
    references
        uint8 text, r rows: the padded span of each active region.
    """
    rows = np.arange(paths.regions.size, dtype=np.int32)
    pairs = PairBatch(references, paths.bases, paths.regions.astype(np.int32), rows)
    cigars, is_aligned = haplotype_cigars(pairs, device)
    lengths = reference_lengths(cigars)
    is_aligned &= lengths >= _MIN_REFERENCE_LENGTH
    is_aligned &= lengths == references.lengths[paths.regions]
    kept = np.flatnonzero(is_aligned)
    regions = np.concatenate((paths.regions[kept], np.arange(len(references))))
    order = np.argsort(regions, kind="stable")  # so the reference is the last of its region
    all_bases = Ragged.concatenate([paths.bases.take(kept), references])
    all_cigars = Ragged.concatenate([cigars.take(kept), match_cigars(references.lengths)])
    scores = np.concatenate((paths.scores[kept], np.full(len(references), np.nan)))
    return RegionHaplotypes(
        np.searchsorted(regions[order], np.arange(len(references) + 1)),
        all_bases.take(order),
        all_cigars.take(order),
        order >= kept.size,
        scores[order],
    )
