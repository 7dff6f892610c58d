"""Input in shared memory, pinned for the GPU of this process."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.processes.blocks import known_blocks

_pinned: Final[set[int]] = set()
_lock: Final = threading.Lock()


def pin_shared(array: NDArray[np.uint8]) -> None:
    """Pin the shared block of `array`, uint8, contiguous, if it is in one that is not pinned.

    Copies from it run beside kernels, at the full rate of the bus. Without effect for other arrays,
    and if the system does not let this process pin as much.
    """
    blocks = known_blocks()
    part = blocks.part_of(array) if blocks is not None else None
    if blocks is None or part is None:
        return
    with _lock:
        if part.block.start in _pinned:
            return
        _pinned.add(part.block.start)
    with suppress(cupy.cuda.runtime.CUDARuntimeError):
        cupy.cuda.runtime.hostRegister(
            blocks.address + part.block.start,
            part.block.size,
            cupy.cuda.runtime.hostAllocPortable,
        )
