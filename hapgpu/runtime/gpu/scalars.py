"""Single numbers copied from a GPU, as sizes of arrays to allocate."""

from __future__ import annotations

import threading
from typing import Final

import cupy
import numpy as np

from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu_array import GpuArray

_MAX_VALUES: Final = 8
_thread = threading.local()


def last_values(*arrays: GpuArray) -> tuple[int, ...]:
    """Return the last element of integer arrays on the current GPU; waits for the current stream.

    The copies go to pinned memory. A copy to other memory locks the driver until the stream is
    done, so that other threads launch nothing in the meantime.

    Parameters
    ----------
    arrays
        One to 8 arrays, each of any integer dtype, with at least one element.
    """
    if not hasattr(_thread, "values"):
        _thread.values = pinned_array(_MAX_VALUES, np.int64)
    stream = cupy.cuda.get_current_stream()
    copies = []
    for row, array in enumerate(arrays):
        out = _thread.values[row : row + 1].view(array.dtype)[:1]
        array[-1:].get(stream=stream, out=out, blocking=False)
        copies.append(out)
    stream.synchronize()
    return tuple(int(out[0]) for out in copies)
