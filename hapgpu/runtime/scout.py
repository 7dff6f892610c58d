"""A look at the GPUs by a forked process, so that this process can still be forked.

CUDA does not survive a fork: who starts it, if only to count GPUs, cannot fork processes that use
them.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, NoReturn

from hapgpu.runtime import leftovers

_LIBRARY: Final = "libcuda.so.1"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NAME_BYTES: Final = 256
_BUS_BYTES: Final = 16
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_PR_SET_PDEATHSIG: Final = 1
_NOT_INITIALIZED: Final = 3


@dataclass(frozen=True, slots=True)
class SeenGpu:
    """Properties of a GPU; memory in bytes.

    Attributes
    ----------
    index, model, memory_total, memory_free
        As in `GpuReport`.
    major, minor
        The compute capability.
    bus
        Its address on the PCI bus, as Linux writes it.
    """

    index: int
    model: str
    major: int
    minor: int
    memory_total: int
    memory_free: int
    bus: str


@dataclass(frozen=True, slots=True)
class SeenGpus:
    """What was seen: the version of the driver, the number of GPUs, and those looked at."""

    driver_version: int
    count: int
    gpus: Sequence[SeenGpu]


class Scout:
    """Forked process that looks at some GPUs; of all GPUs if none is given.

    It starts CUDA while this process imports modules. It ends with this process, also with one
    that ends early, because of its inputs, and has not asked for the report.
    """

    def __init__(self, indices: Sequence[int]) -> None:
        run = os.getpid()
        self._reading, writing = os.pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        with warnings.catch_warnings():
            # The thread that waits for signals, the only other one, holds no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._number = os.fork()
        if not self._number:
            _live(run, writing, indices, mask)
        self._leftover = leftovers.register(self._end)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(writing)

    def report(self) -> SeenGpus | None:
        """Wait for what was seen, once; None if something failed, which CuPy then reports."""
        with os.fdopen(self._reading, "rb") as stream:
            text = stream.read()
        with leftovers.steady():
            os.waitpid(self._number, 0)
            leftovers.forget(self._leftover)
        if not text:
            return None
        values = json.loads(text)
        gpus = [SeenGpu(**gpu) for gpu in values.pop("gpus")]
        return SeenGpus(gpus=gpus, **values)

    def _end(self) -> None:
        os.kill(self._number, signal.SIGKILL)
        os.waitpid(self._number, 0)


def _live(
    run: int, writing: int, indices: Sequence[int], mask: Iterable[signal.Signals | int]
) -> NoReturn:
    """Live as the scout, without the signal handlers of the run."""
    status = 1
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.set_wakeup_fd(-1)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == run:
            os.write(writing, json.dumps(asdict(_seen(indices))).encode("ascii"))
            status = 0
    finally:
        os._exit(status)


def _seen(indices: Sequence[int]) -> SeenGpus:
    """Start CUDA and look at GPUs, side by side.

    Raises
    ------
    OSError
        The driver is missing or fails.
    """
    driver = ctypes.CDLL(_LIBRARY)
    _checked(driver.cuInit, 0)
    version, count = ctypes.c_int(), ctypes.c_int()
    _checked(driver.cuDriverGetVersion, ctypes.byref(version))
    _checked(driver.cuDeviceGetCount, ctypes.byref(count))
    wanted = [index for index in range(count.value) if not indices or index in indices]
    with ThreadPoolExecutor(max(len(wanted), 1)) as pool:
        gpus = list(pool.map(partial(_seen_gpu, driver), wanted))
    return SeenGpus(version.value, count.value, gpus)


def _seen_gpu(driver: ctypes.CDLL, index: int) -> SeenGpu:
    device, context = ctypes.c_int(), ctypes.c_void_p()
    name, bus = ctypes.create_string_buffer(_NAME_BYTES), ctypes.create_string_buffer(_BUS_BYTES)
    major, minor = ctypes.c_int(), ctypes.c_int()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _checked(driver.cuDeviceGet, ctypes.byref(device), index)
    _checked(driver.cuDeviceGetName, name, _NAME_BYTES, device)
    _checked(driver.cuDeviceGetPCIBusId, bus, _BUS_BYTES, device)
    _checked(driver.cuDeviceGetAttribute, ctypes.byref(major), _MAJOR, device)
    _checked(driver.cuDeviceGetAttribute, ctypes.byref(minor), _MINOR, device)
    _checked(driver.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
    _checked(driver.cuCtxSetCurrent, context)
    _checked(driver.cuMemGetInfo_v2, ctypes.byref(free), ctypes.byref(total))
    return SeenGpu(
        index=index,
        model=name.value.decode(),
        major=major.value,
        minor=minor.value,
        memory_total=total.value,
        memory_free=free.value,
        bus=bus.value.decode().lower(),
    )


def _checked(function: Callable[..., int], *arguments: Any) -> None:
    if status := function(*arguments):
        raise OSError(status, f"{function.__name__} failed")


def is_cuda_started() -> bool:
    """Return whether this process has started CUDA; False without a driver."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError:
        return False
    status: int = driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
    return status != _NOT_INITIALIZED
