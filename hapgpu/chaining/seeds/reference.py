"""Seeds: the minimizers of a read that occur in the reference, without most repetitive ones.

The parameters for repetitive minimizers are those of Li 2021, and of minimap2 2.23 for those that
are frequent in the read itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from hapgpu.chaining.index.reference import Hit, Index
from hapgpu.chaining.options import SeedOptions
from hapgpu.chaining.sketch.reference import Minimizer

MAX_HITS: Final = 4095
"""Hits above which a seed is never kept, if some repetitive ones are."""
MAX_KEPT: Final = 128
"""Repetitive seeds that are kept at most between two that are not."""


class Seed(NamedTuple):
    """A minimizer of a read with the places where it occurs.

    Attributes
    ----------
    minimizer, hits
        The two.
    is_tandem
        A neighbour among the minimizers of the read has the same hash.
    """

    minimizer: Minimizer
    hits: Sequence[Hit]
    is_tandem: bool


@dataclass(frozen=True, slots=True)
class ReadSeeds:
    """Seeds of a read in ascending order of position, and the bases under those dropped."""

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
        Seed(minimizer, index.hits[minimizer.hash], minimizer.hash in neighbours)
        for minimizer, *neighbours in zip(minimizers, hashes, hashes[2:], strict=False)
        if minimizer.hash in index.hits
    ]
    dropped = _repetitive_to_drop(seeds, length, cutoff, options.occurrence_distance)
    return ReadSeeds(
        kept=[seed for number, seed in enumerate(seeds) if number not in dropped],
        repeat_length=_bases_under([seeds[number].minimizer for number in sorted(dropped)]),
    )


def _without_frequent(
    minimizers: Sequence[Minimizer], cutoff: int, fraction: float
) -> Sequence[Minimizer]:
    """Drop k-mers that occur more often in the read than the cut-off and a fraction allow.

    Spans are told apart here. (minimap2's `mm_seed_mz_flt`.)
    """
    if len(minimizers) <= cutoff or fraction <= 0:
        return minimizers
    counts = Counter((minimizer.hash, minimizer.span) for minimizer in minimizers)
    share = np.float32(len(minimizers)) * np.float32(fraction)
    return [
        minimizer
        for minimizer in minimizers
        if (count := counts[minimizer.hash, minimizer.span]) <= cutoff or np.float32(count) <= share
    ]


def _repetitive_to_drop(seeds: Sequence[Seed], length: int, cutoff: int, distance: int) -> set[int]:
    """Return which seeds to drop (minimap2's `mm_seed_select`).

    Between two seeds that are not repetitive, or an end of the read, one repetitive seed per
    `distance` bases is kept: those with the fewest hits, the first ones of equals.
    """

    def is_repetitive(number: int) -> bool:
        return len(seeds[number].hits) > cutoff

    if distance == 0 or cutoff >= MAX_HITS:
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
        room = min(int((after - before) / distance + 0.499), MAX_KEPT)
        members.sort(key=lambda number: len(seeds[number].hits))
        dropped.update(members[room:])
        dropped.update(number for number in members if len(seeds[number].hits) > MAX_HITS)
    return dropped


def _bases_under(minimizers: Sequence[Minimizer]) -> int:
    """Count bases under minimizers; overlapping ones lie from the first's begin to the last's end.

    What PAF calls `rl`.
    """
    covered = begin = end = 0
    for minimizer in minimizers:
        own_end = minimizer.position + 1
        own_begin = own_end - minimizer.span
        if own_begin > end:
            covered += end - begin
            begin = own_begin
        end = own_end
    return covered + end - begin
