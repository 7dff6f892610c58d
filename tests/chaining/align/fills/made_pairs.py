"""Pairs of sequences in the arrays that the compiled functions take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint8]


def packed(pairs: Iterable[tuple[Codes, Codes]]) -> tuple[NDArray[np.generic], ...]:
    """Return the arguments of `align_fills` for pairs of a query and a target."""
    arguments: list[NDArray[np.generic]] = []
    for sequences in zip(*pairs, strict=True):
        lengths = np.array([sequence.size for sequence in sequences], np.int32)
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        arguments += [np.concatenate(sequences).astype(np.uint8), starts, lengths]
    return tuple(arguments)


def mutated(generator: np.random.Generator, target: Codes, rate: float) -> Codes:
    """Return a copy of a sequence with single-base errors, and sometimes a long gap."""
    query: list[int] = []
    for base in target:
        kind = generator.random() / rate
        if kind < 0.3:
            query.append(int(base + generator.integers(1, 4)) % 4)
        elif kind < 0.6:
            query.extend((int(base), int(generator.integers(4))))
        elif kind >= 1:
            query.append(int(base))
    if generator.random() < 0.2 and len(query) > 60:
        start = int(generator.integers(len(query) - 50))
        del query[start : start + int(generator.integers(50))]
    return np.array(query, np.uint8)
