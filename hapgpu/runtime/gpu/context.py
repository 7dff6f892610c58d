"""CUDA streams per thread, pinned memory, error translation and device properties."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu_array import GpuArray

OUT_OF_MEMORY: Final = MemoryError
"""Raised by CuPy when GPU memory runs out: its own error is a subclass, its sorts raise this."""

_PINNED_UNIT: Final = 16 << 20  # few different sizes: pinned memory is slow to get, and pooled
_MIN_PINNED: Final = 1 << 20
_URGENT, _USUAL = -1, 0  # CUDA priorities: lower numbers first
_thread = threading.local()
_Result = TypeVar("_Result")
_Item = TypeVar("_Item", bound=np.generic)


def thread_streams(device: int, count: int, *, urgent: bool = False) -> list[cupy.cuda.Stream]:
    """Return streams of the calling thread on a GPU, the same streams at each call.

    Threads with separate streams do not wait for each other. Kernels on `urgent` streams get free
    multiprocessors before kernels on other streams.
    """
    streams: dict[tuple[int, bool], list[cupy.cuda.Stream]] = _thread.__dict__.setdefault(
        "streams", {}
    )
    own = streams.setdefault((device, urgent), [])
    priority = _URGENT if urgent else _USUAL
    while len(own) < count:
        with cupy.cuda.Device(device):  # another may be the current one
            own.append(cupy.cuda.Stream(non_blocking=True, priority=priority))
    return own[:count]


@contextmanager
def side_stream() -> Iterator[cupy.cuda.Stream]:
    """Make a stream for work beside the current stream, which waits for it after the context.

    Arrays of the current stream may be freed after the context, not within it.
    """
    current = cupy.cuda.get_current_stream()
    side = thread_streams(cupy.cuda.Device().id, 2)[1]
    side.wait_event(current.record())
    try:
        yield side
    finally:
        current.wait_event(side.record())


def pinned_array(size: int, dtype: type[_Item]) -> NDArray[_Item]:
    """Return uninitialised pinned memory, of any dtype, one-dimensional, from CuPy's pool.

    Copies from and to pinned memory run beside kernels, at the full rate of the bus.
    """
    memory = cupy.cuda.alloc_pinned_memory(max(size * np.dtype(dtype).itemsize, 1))
    return np.frombuffer(memory, dtype=dtype, count=size)


def download_pinned(data: GpuArray) -> NDArray[np.uint8]:
    """Return `data`, uint8[n] on the GPU, in pinned memory, uint8[n]; waits for its stream only."""
    size = int(data.size)
    room = -(-size // _PINNED_UNIT) * _PINNED_UNIT
    if size < _PINNED_UNIT:
        room = max(1 << (size - 1).bit_length(), _MIN_PINNED)
    out = pinned_array(room, np.uint8)[:size]
    stream = cupy.cuda.get_current_stream()
    data.get(stream=stream, out=out, blocking=False)
    stream.synchronize()
    return out


def wait_asleep(stream: cupy.cuda.Stream | None = None) -> None:
    """Wait for a stream, by default the current one, without keeping a core busy meanwhile.

    Other waits ask the GPU all the time: that is faster by some microseconds.
    """
    done = cupy.cuda.Event(block=True, disable_timing=True)
    done.record(stream or cupy.cuda.get_current_stream())
    done.synchronize()


def release_memory() -> None:
    """Wait for the current stream, and release unused memory of the current GPU."""
    cupy.cuda.get_current_stream().synchronize()
    cupy.get_default_memory_pool().free_all_blocks()


def retried(compute: Callable[[], _Result]) -> _Result:
    """Call a function; once more, after unused memory is released, if GPU memory runs out."""
    try:
        return compute()
    except OUT_OF_MEMORY:
        release_memory()
    return compute()


def retried_or_none(compute: Callable[[], _Result]) -> _Result | None:
    """Call a function as `retried` does; return None if GPU memory is too small even then."""
    try:
        return retried(compute)
    except OUT_OF_MEMORY:
        pass  # without the traceback, which holds arrays
    release_memory()
    return None


@contextmanager
def device_errors(device: CudaDevice) -> Iterator[None]:
    """Translate CUDA errors within the context to errors for the user.

    Raises
    ------
    DeviceError
        The GPU has too little memory, or failed.
    """
    try:
        yield
    except OUT_OF_MEMORY as error:
        if isinstance(error, DeviceError):  # has the message already
            raise
        message = f"{device.name}: too little memory; use --device cpu"
        raise DeviceError(message) from error
    except DeviceError:  # a RuntimeError, whose message may quote one of CUDA
        raise
    except RuntimeError as error:
        if not _is_of_cuda(error):
            raise
        message = f"{device.name}: failed ({error})"
        raise DeviceError(message) from error


def _is_of_cuda(error: RuntimeError) -> bool:
    """Return whether CUDA reports an error; those of CuPy's sorts have no class of their own."""
    classes = cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError
    return isinstance(error, classes) or "cudaError" in str(error)


@contextmanager
def active_on(device: CudaDevice) -> Iterator[None]:
    """Make a GPU the current one, with a stream of the calling thread; translate errors of CUDA.

    Raises
    ------
    DeviceError
        The GPU has too little memory, or failed.
    """
    index = device.index
    with device_errors(device), cupy.cuda.Device(index), thread_streams(index, 1)[0]:
        yield


@functools.cache
def multiprocessors(device: int) -> int:
    """Return the number of multiprocessors of a GPU."""
    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
