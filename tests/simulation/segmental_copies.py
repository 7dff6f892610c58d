"""Sequences with changed copies of their own parts, as segmental duplications of genomes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.simulation.sequences import replace_bases

_EQUAL_DRAWS: Final = 4 / 3
"""`replace_bases` draws the same base again in one of four cases."""


def with_segmental_copies(
    bases: NDArray[np.uint8],
    copies: int,
    lengths: tuple[int, int],
    divergences: tuple[float, float],
    seed: int = 1,
) -> NDArray[np.uint8]:
    """Return a sequence followed by changed copies of random parts of it: uint8 text.

    Reads of a part may be mapped to its copy, as in segmental duplications of genomes.

    Parameters
    ----------
    bases
        uint8 text: A, C, G and T.
    copies
        Number of copies.
    lengths
        Fewest and most bases of a copy; each number is as probable.
    divergences
        Least and largest fraction of bases that differ in a copy, drawn for each.
    seed
        Seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    parts = [bases]
    for _ in range(copies):
        length = int(rng.integers(lengths[0], lengths[1] + 1))
        start = int(rng.integers(bases.size - length + 1))
        copy = bases[start : start + length].copy()
        replace_bases(copy, rng.uniform(*divergences) * _EQUAL_DRAWS, rng)
        parts.append(copy)
    return np.concatenate(parts)
