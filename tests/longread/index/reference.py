"""Reference implementation of the minimizer index and its repeat cutoff."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from hapgpu.longread.options import SeedOptions, SketchOptions
from tests.longread.sketch.reference import minimizers_of

UNLIMITED: Final = 2**31 - 1


class Occurrence(NamedTuple):
    """Position of a k-mer in a reference sequence, and the strand on which it is smaller."""

    sequence: int
    position: int
    strand: int


@dataclass(frozen=True, slots=True)
class Index:
    """The minimizers of a reference.

    Attributes
    ----------
    names, lengths
        Names and lengths of the sequences.
    sketch
        Options of the minimizers.
    occurrences
        Occurrences by hash, ascending; k-mers of one hash and different spans are one.
    """

    names: Sequence[str]
    lengths: Sequence[int]
    sketch: SketchOptions
    occurrences: Mapping[int, Sequence[Occurrence]]


def index_of(sequences: Sequence[tuple[str, bytes]], options: SketchOptions) -> Index:
    """Index the (name, sequence) pairs of a reference."""
    occurrences: defaultdict[int, list[Occurrence]] = defaultdict(list)
    for number, (_, sequence) in enumerate(sequences):
        for minimizer in minimizers_of(sequence, options):
            occurrences[minimizer.hash].append(
                Occurrence(number, minimizer.position, minimizer.strand)
            )
    return Index(
        names=[name for name, _ in sequences],
        lengths=[len(sequence) for _, sequence in sequences],
        sketch=options,
        occurrences={hashed: sorted(unsorted) for hashed, unsorted in occurrences.items()},
    )


def cutoff_of(index: Index, options: SeedOptions) -> int:
    """Return the cutoff: minimizers with more occurrences are repetitive.

    It is a number that only a fraction of the distinct minimizers reaches, within bounds, or the
    number that the user gave (minimap2's `mm_mapopt_update`).
    """
    if options.repetitive >= 1:
        return int(options.repetitive + 0.499)
    fraction = float(np.float32(options.repetitive))
    counts = sorted(map(len, index.occurrences.values()))
    cutoff = UNLIMITED
    if fraction > 0 and counts:
        cutoff = counts[min(int((1 - fraction) * len(counts)), len(counts) - 1)] + 1
    cutoff = max(cutoff, options.min_cutoff)
    if options.max_cutoff > options.min_cutoff:
        cutoff = min(cutoff, options.max_cutoff)
    return cutoff
