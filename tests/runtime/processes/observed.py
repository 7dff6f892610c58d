"""Threads, processes, descriptors and memory of this process, as the system lists them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_MEMORY: Final = "/memfd:hapgpu"


def children() -> set[int]:
    """Return the child processes, also those that ended and were not waited for."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread has ended
            found |= set(map(int, (task / "children").read_text().split()))
    return found


def descriptors() -> dict[int, str]:
    """Return what each open descriptor refers to."""
    found = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  (the directory itself is among them)
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
        except FileNotFoundError:  # of the directory
            continue
    return found


def shared_memories() -> list[int]:
    """Return the sizes of the shared memories, in bytes."""
    return [
        os.fstat(number).st_size
        for number, target in descriptors().items()
        if target.startswith(_MEMORY)
    ]
