"""An early start of the NVIDIA driver, in a thread, while Python imports modules."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from threading import Thread
from typing import Final

_LIBRARY: Final = "libcuda.so.1"
_COMMANDS: Final = {"realign", "pairhmm", "call", "genotype", "index", "map", "chain", "bench"}
_WITHOUT_GPU: Final = {"-h", "--help", "--minimizers"}


def start_driver(arguments: Sequence[str]) -> None:
    """Load the driver and create the contexts of the GPUs that a command line names.

    CuPy then finds them. This takes a third of a second, most of it without Python's lock. Faults
    are left to CuPy, and arguments that are wrong to the command line.
    """
    if arguments[:1] and arguments[0] in _COMMANDS and _WITHOUT_GPU.isdisjoint(arguments):
        kind, _, numbers = _device(arguments).partition(":")
        if kind in {"auto", "cuda"}:
            indices = [int(number) for number in numbers.split(",") if number.isdecimal()]
            Thread(target=_start, args=(indices,), name="hapgpu-driver", daemon=True).start()


def _device(arguments: Sequence[str]) -> str:
    """Return the value of the last --device, or its default."""
    value = "auto"
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument == "--device":
            value = following
        elif argument.startswith("--device="):
            value = argument.removeprefix("--device=")
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
