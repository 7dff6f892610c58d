"""Reference implementation of seeds: the minimizers of a read that occur in the reference.

Repetitive minimizers are dropped as in Li 2021, k-mers that are frequent within the read as in
minimap2 2.23.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from hapgpu.longread.options import SeedOptions
from tests.longread.index.reference import Index, Occurrence
from tests.longread.sketch.reference import Minimizer

MAX_OCCURRENCES: Final = 4095
"""Largest number of occurrences of a seed that can be kept."""
MAX_KEPT: Final = 128
"""Most repetitive seeds to keep between two other seeds."""


class Seed(NamedTuple):
    """A minimizer of a read with its occurrences in the reference.

    Attributes
    ----------
    minimizer, occurrences
        Minimizer of the read and its occurrences in the reference.
    is_tandem
        A neighbouring minimizer of the read has the same hash.
    """

    minimizer: Minimizer
    occurrences: Sequence[Occurrence]
    is_tandem: bool


@dataclass(frozen=True, slots=True)
class ReadSeeds:
    """Seeds of a read in ascending order of position, and the bases covered by dropped seeds."""

    kept: list[Seed]
    repeat_length: int


def seeds_of(
    minimizers: Sequence[Minimizer],
    length: int,
    index: Index,
    cutoff: int,
    options: SeedOptions,
) -> ReadSeeds:
    """Find the seeds of a read of `length` bases from its minimizers."""
    minimizers = _without_frequent(minimizers, cutoff, options.read_fraction)
    hashes = [None, *(minimizer.hash for minimizer in minimizers), None]
    seeds = [
        Seed(minimizer, index.occurrences[minimizer.hash], minimizer.hash in neighbours)
        for minimizer, *neighbours in zip(minimizers, hashes, hashes[2:], strict=False)
        if minimizer.hash in index.occurrences
    ]
    dropped = _repetitive_to_drop(seeds, length, cutoff, options.occurrence_distance)
    return ReadSeeds(
        kept=[seed for number, seed in enumerate(seeds) if number not in dropped],
        repeat_length=_bases_under([seeds[number].minimizer for number in sorted(dropped)]),
    )


def _without_frequent(
    minimizers: Sequence[Minimizer], cutoff: int, fraction: float
) -> Sequence[Minimizer]:
    """Drop k-mers that occur in the read more often than the cutoff and a fraction allow.

    K-mers of one hash and different spans count separately (minimap2's `mm_seed_mz_flt`).
    """
    if len(minimizers) <= cutoff or fraction <= 0:
        return minimizers
    counts = Counter((minimizer.hash, minimizer.span) for minimizer in minimizers)
    limit = np.float32(len(minimizers)) * np.float32(fraction)
    return [
        minimizer
        for minimizer in minimizers
        if (count := counts[minimizer.hash, minimizer.span]) <= cutoff or np.float32(count) <= limit
    ]


def _repetitive_to_drop(seeds: Sequence[Seed], length: int, cutoff: int, distance: int) -> set[int]:
    """Return which seeds to drop (minimap2's `mm_seed_select`).

    Between two seeds that are not repetitive, or an end of the read, one repetitive seed per
    `distance` bases is kept: the seeds with the fewest occurrences, the first of ties.
    """

    def is_repetitive(number: int) -> bool:
        return len(seeds[number].occurrences) > cutoff

    if distance == 0 or cutoff >= MAX_OCCURRENCES:
        return set(filter(is_repetitive, range(len(seeds))))
    dropped: set[int] = set()
    if len(seeds) <= 1:
        return dropped
    for repetitive, run in groupby(range(len(seeds)), is_repetitive):
        if not repetitive:
            continue
        members = list(run)
        first, last = members[0], members[-1]
        before = seeds[first - 1].minimizer.position if first > 0 else 0
        after = seeds[last + 1].minimizer.position if last + 1 < len(seeds) else length
        max_kept = min(int((after - before) / distance + 0.499), MAX_KEPT)
        members.sort(key=lambda number: len(seeds[number].occurrences))
        dropped.update(members[max_kept:])
        dropped.update(
            number for number in members if len(seeds[number].occurrences) > MAX_OCCURRENCES
        )
    return dropped


def _bases_under(minimizers: Sequence[Minimizer]) -> int:
    """Count the bases covered by minimizers (PAF's tag `rl`).

    Overlapping minimizers cover the bases from the start of the first to the end of the last.
    """
    covered = start = end = 0
    for minimizer in minimizers:
        own_end = minimizer.position + 1
        own_start = own_end - minimizer.span
        if own_start > end:
            covered += end - start
            start = own_start
        end = own_end
    return covered + end - start
