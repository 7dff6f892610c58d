"""Haplotypes of active regions, aligned with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.batches import RegionHaplotypes
from hapgpu.cigar.encoding import INSERTION, MATCH, match_cigars, reference_lengths
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS
from hapgpu.realign.projection.haplotype_cigars import haplotype_cigars
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.devices import Device
from hapgpu.runtime.jit import njit

_MIN_LENGTH: Final = 20
"""Shorter insertions stay."""

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


def with_joined_insertions(
    cigars: Ragged, regions: NDArray[np.int64], is_chosen: NDArray[np.bool_]
) -> Ragged:
    """Move insertions to the first insertion of the same length that is within their length.

    The bases between become matches or mismatches. An insertion stays if it is at an end of its
    haplotype, or if there is another insertion, or a deletion, between.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, h rows: M, I and D, from end to end of the padded span.
    regions
        int64[h], ascending: the active region of each.
    is_chosen
        bool[r]: active regions whose insertions are moved.
    """
    if not is_chosen.any():
        return cigars
    moved = cigars.data.copy()
    starts = np.searchsorted(regions, np.arange(is_chosen.size + 1))
    _join(moved, read_only(cigars.offsets), read_only(starts), read_only(is_chosen))
    return Ragged(moved, cigars.offsets)


@njit
def _join(
    cigars: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    is_chosen: NDArray[np.bool_],
) -> None:
    for region in range(is_chosen.size):
        if not is_chosen[region]:
            continue
        positions = _positions(cigars, offsets, starts[region], starts[region + 1])
        first, elements = offsets[starts[region]], positions.size
        for row in range(starts[region], starts[region + 1]):
            for at in range(offsets[row] + 1, offsets[row + 1] - 1):
                length = np.int64(cigars[at] >> 4)
                if (cigars[at] & 15) != INSERTION or length < _MIN_LENGTH:
                    continue
                position = positions[at - first]
                to = position
                for other in range(elements):
                    if (
                        cigars[first + other] == cigars[at]
                        and position - length <= positions[other]
                    ):
                        to = min(to, positions[other])
                shift = np.uint32((position - to) << 4)
                is_between = (cigars[at - 1] & 15) == MATCH and (cigars[at + 1] & 15) == MATCH
                if is_between and cigars[at - 1] > shift + 15:
                    cigars[at - 1] -= shift
                    cigars[at + 1] += shift


@njit
def _positions(
    cigars: NDArray[np.uint32], offsets: NDArray[np.int64], first: Integer, end: Integer
) -> NDArray[np.int64]:
    """Return the offset on the reference of each element of the rows first to end."""
    positions = np.empty(offsets[end] - offsets[first], np.int64)
    for row in range(first, end):
        position = np.int64(0)
        for at in range(offsets[row], offsets[row + 1]):
            positions[at - offsets[first]] = position
            if REFERENCE_OPERATIONS >> (cigars[at] & 15) & 1:
                position += np.int64(cigars[at] >> 4)
    return positions
