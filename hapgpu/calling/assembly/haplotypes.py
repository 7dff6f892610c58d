"""Haplotypes of active regions, aligned with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.insertions import with_joined_insertions
from hapgpu.calling.batches import RegionHaplotypes
from hapgpu.cigar.encoding import match_cigars, reference_lengths
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.devices import Device

UNROLLED: Final = 1
"""Flag of an active region: cycles of its graph were unrolled."""
NOT_ASSEMBLED: Final = 2
"""Flag of an active region: no graph gave a result."""
AT_LIMIT: Final = 4
"""Flag of an active region: a graph has more paths than are kept."""

_MIN_REFERENCE_LENGTH: Final = 30
_FEW_GAPS: Final = Scoring(200, -400, -2000, -11)
"""Weights of haplotypes with long insertions and deletions. With GATK's, 200, -150, -260, -11, an
insertion of 100 bases beside a deletion becomes several insertions, with few bases between."""


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
    outcomes
        uint8[r]: flags of each active region.
    """

    regions: NDArray[np.int64]
    bases: Ragged
    scores: NDArray[np.float64]
    outcomes: NDArray[np.uint8]


def haplotypes_of(
    paths: AssembledPaths,
    references: Ragged,
    device: Device,
    has_junction: NDArray[np.bool_] | None = None,
) -> RegionHaplotypes:
    """Align paths end to end with the references of their active regions, and add these.

    Paths without such an alignment, or with less than 30 bases of the reference in it, are
    excluded, as in GATK.

    Parameters
    ----------
    references
        uint8 text, r rows: the padded span of each active region.
    has_junction
        bool[r]: active regions with a junction of split reads; None: there are none.
    """
    has_long = (paths.outcomes & UNROLLED) != 0
    if has_junction is not None:
        has_long |= has_junction
    cigars, is_aligned = _aligned(paths, references, has_long, device)
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


def _aligned(
    paths: AssembledPaths, references: Ragged, has_long: NDArray[np.bool_], device: Device
) -> tuple[Ragged, NDArray[np.bool_]]:
    """Return the CIGARs of paths, and whether they have one.

    `has_long` tells of each active region whether long insertions and deletions are likely.
    """
    rows = np.arange(paths.regions.size, dtype=np.int32)
    pairs = PairBatch(references, paths.bases, paths.regions.astype(np.int32), rows)
    is_long = has_long[paths.regions]
    if not is_long.any():
        return haplotype_cigars(pairs, device)
    groups = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    cigars, is_aligned = haplotype_cigars(pairs.take(groups[0]), device)
    others, are_aligned = haplotype_cigars(pairs.take(groups[1]), device, _FEW_GAPS)
    order = np.argsort(np.concatenate(groups))
    all_cigars = Ragged.concatenate([cigars, others]).take(order)
    return (
        with_joined_insertions(all_cigars, paths.regions, has_long),
        np.concatenate((is_aligned, are_aligned))[order],
    )
