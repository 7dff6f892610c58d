"""Values of long arrays checked in chunks, by all threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.pool import Pool

CHUNK: Final = 1 << 18
"""Rows checked at a time: what the checks make in between stays in a core's cache."""


def holds_everywhere(check: Callable[[int, int], bool], rows: int) -> bool:
    """Tell whether a check holds for all rows, from `start` to before `stop` at a time."""
    starts = range(0, rows, CHUNK)
    with Pool(min(usable_cpus(), max(len(starts), 1))) as pool:
        tasks = [pool.submit(check, start, min(start + CHUNK, rows)) for start in starts]
        holds = pool.results(tasks)
    return all(holds)


def never_falls(values: NDArray[np.integer[Any]]) -> bool:
    """Tell whether each number is at least as large as that before it."""

    def rises(start: int, stop: int) -> bool:
        return bool((values[start:stop] <= values[start + 1 : stop + 1]).all())

    return holds_everywhere(rises, values.size - 1)
