"""An early start of the NVIDIA driver, while Python imports modules: in a thread, or a process."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Sequence
from threading import Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hapgpu.runtime.scout import Scout, SeenGpus

_LIBRARY: Final = "libcuda.so.1"
_DEVICE_FILES: Final = "/dev"
_COMMANDS: Final = {"realign", "pairhmm", "call", "genotype", "index", "map", "chain", "bench"}
_IN_PROCESSES: Final = {"realign", "pairhmm", "genotype", "map", "chain"}
"""Commands that use a process for each of several GPUs."""
_WITHOUT_GPU: Final = {"-h", "--help", "--minimizers"}
_SMALL_BYTES: Final = 16 << 20
"""Bytes of files that one process computes: to start CUDA in others takes half a second more."""
_scouts: Final[list[Scout]] = []


def start_driver(arguments: Sequence[str]) -> None:
    """Load the driver and create the contexts of the GPUs that a command line names.

    CuPy then finds them. This takes a third of a second, most of it without Python's lock. Where
    several GPUs may get processes of their own, a scout does it, see `scouted`: not for small
    files, which one process computes. Faults are left to CuPy, and arguments that are wrong to the
    command line.
    """
    if arguments[:1] and arguments[0] in _COMMANDS and _WITHOUT_GPU.isdisjoint(arguments):
        kind, _, numbers = _option(arguments, "--device", "auto").partition(":")
        if kind in {"auto", "cuda"}:
            indices = [int(number) for number in numbers.split(",") if number.isdecimal()]
            if (
                arguments[0] in _IN_PROCESSES
                and _may_divide(arguments, _option(arguments, "--processes", ""))
                and _are_several(indices)
            ):
                from hapgpu.runtime.scout import Scout  # noqa: PLC0415  (slow)

                _scouts.append(Scout(indices))
            else:
                Thread(target=_start, args=(indices,), name="hapgpu-driver", daemon=True).start()


def scouted() -> SeenGpus | None:
    """Return what a scout has seen of the GPUs, once; None if none was sent, or it failed."""
    return _scouts.pop().report() if _scouts else None


def _may_divide(arguments: Sequence[str], processes: str) -> bool:
    """Tell whether a run may be divided into processes, as its user wants or for its inputs."""
    return processes != "1" if processes else not _are_small(arguments)


def _are_small(arguments: Sequence[str]) -> bool:
    """Tell whether all files that a command line names are small together; pipes are not."""
    size = 0
    for argument in arguments:
        if argument == "-":
            return False
        try:
            status = os.stat(argument)  # noqa: PTH116  (pathlib is slow to import)
        except (OSError, ValueError):
            continue
        if stat.S_ISFIFO(status.st_mode):
            return False
        size += status.st_size
    return size <= _SMALL_BYTES


def _are_several(indices: Sequence[int]) -> bool:
    """Tell whether the named GPUs, or those that are visible if none is named, are several."""
    if indices:
        return len(set(indices)) > 1
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return _gpu_files() > 1 and (visible is None or "," in visible)


def _gpu_files() -> int:
    """Count the GPUs of the machine by their device files, without the driver."""
    try:
        names = os.listdir(_DEVICE_FILES)  # noqa: PTH208  (pathlib is slow to import)
    except OSError:
        return 0
    return sum(name.startswith("nvidia") and name[6:].isdecimal() for name in names)


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    """Return the value of the last option of this name, or a default."""
    value = default
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument == name:
            value = following
        elif argument.startswith(f"{name}="):
            value = argument.removeprefix(f"{name}=")
    return value


def _start(indices: Sequence[int]) -> None:
    """Create the contexts of GPUs; of all GPUs if none is given."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError:
        return
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return
    for index in indices or range(count.value):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if not driver.cuDeviceGet(ctypes.byref(device), index):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
