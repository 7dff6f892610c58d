"""What all GPU code asks CuPy for: streams of the calling thread, and facts of a device."""

from __future__ import annotations

import functools
import threading
from typing import Any

import cupy

_thread = threading.local()


def thread_streams(device: int, count: int) -> list[Any]:
    """Return streams of the calling thread on a device, the same ones at each call.

    Threads with streams of their own do not wait for each other.
    """
    streams: dict[int, list[Any]] = _thread.__dict__.setdefault("streams", {})
    own = streams.setdefault(device, [])
    while len(own) < count:
        own.append(cupy.cuda.Stream(non_blocking=True))
    return own[:count]


@functools.cache
def multiprocessors(device: int) -> int:
    """Return the number of multiprocessors of a device."""
    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
