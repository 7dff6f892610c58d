"""Keys to sort, in kinds of values and of ties."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

KEYS: dict[str, Callable[[np.random.Generator, int], NDArray[np.uint64]]] = {
    "random": lambda random, size: random.integers(0, 2**64, size, dtype=np.uint64),
    "few": lambda random, size: random.integers(0, 40, size, dtype=np.uint64),
    "equal": lambda _, size: np.full(size, 7, dtype=np.uint64),
    "two": lambda random, size: random.integers(0, 2, size, dtype=np.uint64) << np.uint64(63),
    "anchors": lambda random, size: (
        random.integers(0, 2, size, dtype=np.uint64) << np.uint64(63)
        | random.integers(0, 24, size, dtype=np.uint64) << np.uint64(32)
        | random.integers(0, 5_000, size, dtype=np.uint64)
    ),
    "scores": lambda random, size: (40 + random.exponential(200, size)).astype(np.uint64),
}
