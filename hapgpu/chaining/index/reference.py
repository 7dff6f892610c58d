"""Where the minimizers of a reference occur, and from how many places on one is repetitive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from hapgpu.chaining.options import SeedOptions, SketchOptions
from hapgpu.chaining.sketch.reference import minimizers_of

UNLIMITED: Final = 2**31 - 1


class Hit(NamedTuple):
    """Where a k-mer ends in a reference sequence, and on which strand it is the smaller one."""

    sequence: int
    position: int
    strand: int


@dataclass(frozen=True, slots=True)
class Index:
    """The minimizers of a reference.

    Attributes
    ----------
    names, lengths
        Of the sequences.
    sketch
        What the minimizers were made with.
    hits
        By hash, ascending; k-mers of one hash and several spans are not told apart.
    """

    names: Sequence[str]
    lengths: Sequence[int]
    sketch: SketchOptions
    hits: Mapping[int, Sequence[Hit]]


def index_of(sequences: Sequence[tuple[str, bytes]], options: SketchOptions) -> Index:
    """Index the (name, sequence) pairs of a reference."""
    hits: defaultdict[int, list[Hit]] = defaultdict(list)
    for number, (_, sequence) in enumerate(sequences):
        for minimizer in minimizers_of(sequence, options):
            hits[minimizer.hash].append(Hit(number, minimizer.position, minimizer.strand))
    return Index(
        names=[name for name, _ in sequences],
        lengths=[len(sequence) for _, sequence in sequences],
        sketch=options,
        hits={hashed: sorted(places) for hashed, places in hits.items()},
    )


def cutoff_of(index: Index, options: SeedOptions) -> int:
    """Return the number of hits above which a minimizer is repetitive.

    The number that only a fraction of the distinct minimizers reach, within bounds, or the number
    that the user gave (minimap2's `mm_mapopt_update`).
    """
    if options.repetitive >= 1:
        return int(options.repetitive + 0.499)
    fraction = float(np.float32(options.repetitive))
    counts = sorted(map(len, index.hits.values()))
    cutoff = UNLIMITED
    if fraction > 0 and counts:
        cutoff = counts[min(int((1 - fraction) * len(counts)), len(counts) - 1)] + 1
    cutoff = max(cutoff, options.min_cutoff)
    if options.max_cutoff > options.min_cutoff:
        cutoff = min(cutoff, options.max_cutoff)
    return cutoff
