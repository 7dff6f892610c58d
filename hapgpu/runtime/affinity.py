"""CPU cores near a GPU."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from hapgpu.runtime.devices import CudaDevice

_PCI_DEVICES: Final = Path("/sys/bus/pci/devices")


def bind_near(device: CudaDevice) -> None:
    """Let the calling thread, and those that it starts, run only on the usable cores near a GPU.

    Without effect if the system names no such cores, or does not let this process choose.
    """
    with suppress(OSError):
        if near := _near_cores(device) & os.sched_getaffinity(0):
            os.sched_setaffinity(0, near)


def _near_cores(device: CudaDevice) -> set[int]:
    """Return the cores on the same node of memory as a GPU; none if they are unknown."""
    if device.found is None or device.found.bus is None:
        return set()
    try:
        text = (_PCI_DEVICES / device.found.bus / "local_cpulist").read_text(encoding="ascii")
        return _parsed(text)
    except (OSError, ValueError):
        return set()


def _parsed(text: str) -> set[int]:
    """Parse a list of cores such as `0-3,8`.

    Raises
    ------
    ValueError
        It is malformed.
    """
    cores = set[int]()
    for item in filter(None, text.strip().split(",")):
        first, _, last = item.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return cores
