"""What all GPU code asks CuPy for: streams of a thread, pinned memory, facts of a device."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice

OUT_OF_MEMORY: Final = MemoryError
"""What CuPy raises where memory does not suffice: its own error is one, its sorts raise this."""

_URGENT, _USUAL = -1, 0  # priorities of CUDA: the lower number comes first
_thread = threading.local()


def thread_streams(device: int, count: int, *, urgent: bool = False) -> list[Any]:
    """Return streams of the calling thread on a device, the same ones at each call.

    Threads with streams of their own do not wait for each other. What is launched on `urgent`
    ones gets free multiprocessors before what waits on others.
    """
    streams: dict[tuple[int, bool], list[Any]] = _thread.__dict__.setdefault("streams", {})
    own = streams.setdefault((device, urgent), [])
    while len(own) < count:
        priority = _URGENT if urgent else _USUAL
        own.append(cupy.cuda.Stream(non_blocking=True, priority=priority))
    return own[:count]


def pinned_array(size: int, dtype: Any) -> NDArray[Any]:
    """Return uninitialised pinned memory, one dimension, which goes back to CuPy's pool.

    From there and to there copies run beside everything else, at the full rate of the bus.
    """
    memory = cupy.cuda.alloc_pinned_memory(max(size * np.dtype(dtype).itemsize, 1))
    return np.frombuffer(memory, dtype=dtype, count=size)


@contextmanager
def explained(device: CudaDevice) -> Iterator[None]:
    """Turn what CUDA reports into an error for the user.

    Raises
    ------
    DeviceError
        The memory of the device does not suffice, or it failed.
    """
    try:
        yield
    except OUT_OF_MEMORY as error:
        message = f"{device.name} has too little memory: use --device cpu"
        raise DeviceError(message) from error
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        message = f"{device.name} failed: {error}"
        raise DeviceError(message) from error


@functools.cache
def multiprocessors(device: int) -> int:
    """Return the number of multiprocessors of a device."""
    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
