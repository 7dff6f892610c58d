"""Memory for blocks of input that forked processes see where the run has it, without a copy."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.processes.locks import held_at_forks

_RESERVED: Final = 16 << 30
"""Bytes of addresses; memory is taken when it is written to."""
_UNIT: Final = 1 << 20
_MAP_NORESERVE: Final = 0x4000  # of Linux; Python has no name for it


class Block(NamedTuple):
    """A block that is in use: its first byte in the shared memory, and its bytes."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a block: `size` bytes from `start` on in the shared memory."""

    block: Block
    start: int
    size: int


class SharedBlocks:
    """Memory at the same addresses in all processes that are forked later.

    A block goes back when the last array in it is gone, in the run. So a process may use it until
    it has answered the message that it came with.
    """

    def __init__(self) -> None:
        flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        self._map = mmap.mmap(-1, _RESERVED, flags=flags)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._end = 0  # of the memory that blocks have had
        self._free: list[Block] = []
        self._returned = deque[Block]()  # by finalizers, which may run anywhere
        self._used: dict[int, Block] = {}
        self._lock = Lock()

    def allocate(self, size: int) -> NDArray[np.uint8]:
        """Return uint8[size] of any content; other memory if too much is in use."""
        wanted = max(-(-size // _UNIT), 1) * _UNIT
        with self._lock:
            block = self._taken(wanted)
            if block is not None:
                self._used[block.start] = block
        if block is None:
            return np.empty(size, dtype=np.uint8)
        array = np.frombuffer(self._map, dtype=np.uint8, count=size, offset=block.start)
        # Parts of it refer to this array. Objects of ctypes would have to be collected.
        weakref.finalize(array, self._returned.append, block).atexit = False
        return array

    def _taken(self, wanted: int) -> Block | None:
        while self._returned:
            block = self._returned.popleft()
            del self._used[block.start]
            self._free.append(block)
        for row, block in enumerate(self._free):
            if wanted <= block.size <= 2 * wanted:
                return self._free.pop(row)
        if self._end + wanted > _RESERVED:
            return None
        block = Block(self._end, wanted)
        self._end += wanted
        return block

    def part_of(self, array: NDArray[np.uint8]) -> Part | None:
        """Return where `array`, uint8, contiguous, is; None if it is elsewhere."""
        start = array.ctypes.data - self.address
        if not 0 <= start < _RESERVED:
            return None
        with self._lock:
            block = next(
                block for block in self._used.values() if 0 <= start - block.start < block.size
            )
        return Part(block, start, array.size)

    def array(self, part: Part) -> NDArray[np.uint8]:
        """Return uint8[n]: the array at a part, in another process."""
        with self._lock:
            self._used[part.block.start] = part.block
        return np.frombuffer(self._map, dtype=np.uint8, count=part.size, offset=part.start)

    def release(self) -> None:
        """Give the memory of unused blocks back to the system; they keep their addresses."""
        with self._lock:
            for block in [*self._free, *self._returned]:
                self._map.madvise(mmap.MADV_REMOVE, block.start, block.size)


_all: Final[list[SharedBlocks]] = []
_all_lock: Final = held_at_forks(Lock())


def shared_blocks() -> SharedBlocks:
    """Return the shared blocks of this process, made at the first call.

    Raises
    ------
    OSError
        The system has not so many addresses.
    """
    with _all_lock:
        if not _all:
            _all.append(SharedBlocks())
        return _all[0]


def known_blocks() -> SharedBlocks | None:
    """Return the shared blocks if there are any."""
    return _all[0] if _all else None
