"""Memory of a thread, and tasks that threads take in turn."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Workspace:
    """Memory of a thread, reused for all groups, because new memory pages are expensive.

    Parameters
    ----------
    size
        About the number of bytes for the direction bits of a group.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._buffers: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an uninitialised array of any dtype, valid until the next call with its name."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = np.empty(size + size // 4, dtype=np.uint8)
        array: NDArray[Any] = self._buffers[name][:size].view(dtype).reshape(shape)
        return array


def run_tasks(
    task: Callable[[int, Workspace], None], numbers: range, threads: int, workspace_bytes: int
) -> None:
    """Run a task on all numbers; each thread takes the next one and has its own workspace."""
    threads = min(threads, len(numbers))
    remaining = iter(numbers)

    def work() -> None:
        workspace = Workspace(workspace_bytes)
        for number in remaining:  # a range iterator gives each number once, to any thread
            task(number, workspace)

    if threads <= 1:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work) for _ in range(threads)]:
            future.result()
