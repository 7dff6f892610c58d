"""Checks of the values of long arrays, in chunks and with all threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.pool import Pool

CHUNK: Final = 1 << 18
"""Rows per check: temporary arrays of a chunk stay in the cache of a core."""


def holds_everywhere(check: Callable[[int, int], bool], rows: int) -> bool:
    """Tell whether `check(start, end)` holds for every chunk of the rows."""
    starts = range(0, rows, CHUNK)
    with Pool(min(usable_cpus(), max(len(starts), 1))) as pool:
        tasks = [pool.submit(check, start, min(start + CHUNK, rows)) for start in starts]
        holds = pool.results(tasks)
    return all(holds)


def never_decreases(values: NDArray[np.integer[Any]]) -> bool:
    """Tell whether each value is at least the value before it."""

    def rises(start: int, end: int) -> bool:
        return bool((values[start:end] <= values[start + 1 : end + 1]).all())

    return holds_everywhere(rises, values.size - 1)
