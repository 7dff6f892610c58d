"""Made activities: probabilities and soft clips of loci, and their profiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.regions.cutting import Profile, band_pass, gaussian_kernel
from tests.calling.regions.reference import Locus


def profile_of(
    loci: Sequence[Locus], start: int, contig_length: int, *, has_filter: bool = True
) -> Profile:
    """Return the profile of consecutive loci; without the filter, states are probabilities."""
    kernel = gaussian_kernel() if has_filter else np.ones(1)
    probabilities = np.array([locus.probability for locus in loci])
    counts = [
        sum(
            0 <= start + at + i < contig_length
            for i in range(-min(locus.clip, 100), min(locus.clip, 100) + 1)
        )
        for at, locus in enumerate(loci)
    ]
    repeats = np.array(counts, dtype=np.int64)
    states = band_pass(probabilities, repeats, kernel)
    return Profile(start, *map(read_only, (probabilities, repeats, kernel, states)))


def random_loci(rng: np.random.Generator, count: int) -> list[Locus]:
    """Return loci with stretches of high and of low activity."""
    loci: list[Locus] = []
    while len(loci) < count:
        length = int(rng.integers(20, 700))
        density = rng.choice([0.0, 0.005, 0.02, 0.1, 0.5, 1.0])
        grid = int(rng.choice([1, 1, 2, 10]))  # equal distances make ties
        for at in range(length):
            if at % grid == 0 and rng.random() < density:
                value = float(rng.choice([1.0, 1.0, 0.3, 0.01, 1e-6]))
                clip = int(rng.choice([0, 0, 0, 0, 7, 40, 150]))
                loci.append(Locus(value, clip))
            else:
                loci.append(Locus(0.0, int(rng.choice([0, 0, 0, 9]))))
    return loci[:count]
