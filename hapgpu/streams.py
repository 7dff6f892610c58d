"""The CUDA streams of the calling thread, so that threads do not wait for each other."""

from __future__ import annotations

import threading
from typing import Any

import cupy

_thread = threading.local()


def thread_streams(device: int, count: int) -> list[Any]:
    """Return `count` streams of the calling thread on a device, the same ones at each call."""
    streams: dict[int, list[Any]] = _thread.__dict__.setdefault("streams", {})
    own = streams.setdefault(device, [])
    while len(own) < count:
        own.append(cupy.cuda.Stream(non_blocking=True))
    return own[:count]
