"""Writer of BGZF, the blocked gzip of BAM, on several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.bgzf.block_table import EOF_BLOCK
from hapgpu.io.bgzf.deflater import PAYLOAD_BYTES, Deflater, deflate_library
from hapgpu.runtime.pool import Pool, Task

_BLOCKS_PER_TASK: Final = 32
_TASKS_PER_THREAD: Final = 2

MakeBytes: TypeAlias = Callable[[int, int], NDArray[np.uint8]]
"""Returns bytes start to end of some content, uint8; called in several threads."""


class Sink(Protocol):
    """Receiver of bytes."""

    def write(self, data: memoryview) -> None:
        """Append bytes."""


class BgzfWriter:
    """Writer of BGZF blocks of equal size, independent of the sizes of the pieces written.

    Parameters
    ----------
    output
        Receives the blocks.
    pool
        Deflates while the caller goes on.
    compressed
        Deflate at level 1; otherwise the blocks are stored as they are.
    """

    def __init__(self, output: Sink, pool: Pool, *, compressed: bool) -> None:
        self._output = output
        self._pool = pool
        self._compressed = compressed
        self._library = deflate_library()
        self._spare: list[Deflater] = []
        self._pending = np.empty(PAYLOAD_BYTES, dtype=np.uint8)
        self._pending_bytes = 0
        self._tasks: deque[Task[NDArray[np.uint8]]] = deque()

    def write(self, data: memoryview | NDArray[np.uint8]) -> None:
        """Append bytes, which must not change later: they are deflated asynchronously."""
        content = np.frombuffer(data, dtype=np.uint8)
        self.write_made(content.size, lambda start, end: content[start:end])

    def write_made(self, size: int, make: MakeBytes) -> None:
        """Append `size` bytes, made by the threads that deflate them, some here, some later."""
        start = 0
        if self._pending_bytes:
            start = min(PAYLOAD_BYTES - self._pending_bytes, size)
            self._keep(make(0, start))
            if self._pending_bytes < PAYLOAD_BYTES:
                return
            self._flush()
        whole = start + (size - start) // PAYLOAD_BYTES * PAYLOAD_BYTES
        step = _BLOCKS_PER_TASK * PAYLOAD_BYTES
        for at in range(start, whole, step):
            self._submit(make, at, min(at + step, whole))
        if whole < size:
            self._keep(make(whole, size))

    def finish(self) -> None:
        """Write the pending bytes and the closing empty block."""
        if self._pending_bytes:
            self._flush()
        while self._tasks:
            self._output.write(self._tasks.popleft().result().data)
        self._output.write(memoryview(EOF_BLOCK))

    def _keep(self, data: NDArray[np.uint8]) -> None:
        end = self._pending_bytes + data.size
        self._pending[self._pending_bytes : end] = data
        self._pending_bytes = end

    def _flush(self) -> None:
        content = self._pending[: self._pending_bytes]
        self._submit(lambda start, end: content[start:end], 0, content.size)
        self._pending = np.empty(PAYLOAD_BYTES, dtype=np.uint8)
        self._pending_bytes = 0

    def _submit(self, make: MakeBytes, start: int, end: int) -> None:
        self._tasks.append(self._pool.submit(self._blocks, make, start, end))
        while len(self._tasks) > _TASKS_PER_THREAD * self._pool.threads:
            self._output.write(self._tasks.popleft().result().data)

    def _blocks(self, make: MakeBytes, start: int, end: int) -> NDArray[np.uint8]:
        content = make(start, end)
        try:
            deflate = self._spare.pop()
        except IndexError:
            deflate = self._library.new_deflater()
        blocks = deflate(content, compressed=self._compressed)
        self._spare.append(deflate)
        return blocks
