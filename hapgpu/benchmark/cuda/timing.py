"""Timing of work on the current stream of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import cupy
import numpy as np

_Result = TypeVar("_Result")


def timed_on_gpu(run: Callable[[], _Result], repeats: int) -> tuple[_Result, float]:
    """Return the result of a run, and the median of the seconds; the first run is not timed."""
    result = run()
    seconds = []
    for _ in range(repeats):
        del result  # frees its memory for the next run
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        result = run()
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return result, float(np.median(seconds))
