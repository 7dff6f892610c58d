"""Turns of the threads that share the memory of a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final, TypeVar

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice

_Result = TypeVar("_Result")

_GROWTH: Final = 16
"""Turns in a row that must succeed before one more thread computes at the same time."""


class TooLittleMemoryError(DeviceError, MemoryError):
    """A read or pair does not fit the memory that a GPU has left; alone on the GPU it might."""


class MemoryTurns:
    """The memory of one GPU, shared by the threads that compute on it.

    Threads compute at the same time, and none has a share of its own. A thread for which the
    memory is too small waits until the others have finished their turns, and computes alone. From
    then on fewer threads compute at the same time, and more again after some successful turns.

    A turn must not wait for another thread that may need a turn: that would be a deadlock.

    Parameters
    ----------
    release
        Releases unused memory of the GPU, which is the current device.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release
        self._changed = threading.Condition()
        self._active = 0
        self._alone = 0  # threads that are alone or wait for it: no other turn starts
        self._most: float = inf
        self._successes = 0
        self._thread = threading.local()

    def compute(self, function: Callable[[], _Result]) -> _Result:
        """Call a function in a turn; if memory runs out, call it again, alone on the GPU.

        The GPU is the current device. Within a turn, the function is only called: the outer turn
        is repeated as a whole.

        Raises
        ------
        MemoryError
            The memory is too small, even alone, or within an outer turn.
        """
        if getattr(self._thread, "is_in_turn", False):
            return function()
        try:
            with self._turn_beside_others():
                return function()
        except MemoryError:
            pass  # without the traceback, which holds arrays
        with self._turn_alone():
            self._release()
            return function()

    @contextmanager
    def _turn_beside_others(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and self._active < self._most)
            self._active += 1
        try:
            with self._marked():
                yield
        except MemoryError:
            self._end(has_failed=True)
            raise
        except BaseException:
            self._end(has_failed=False)
            raise
        self._end(has_failed=False)

    @contextmanager
    def _turn_alone(self) -> Iterator[None]:
        with self._changed:
            self._alone += 1
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._active)
                self._active += 1
            try:
                with self._marked():
                    yield
            finally:
                self._end(has_failed=False)
        finally:
            with self._changed:
                self._alone -= 1
                self._changed.notify_all()

    @contextmanager
    def _marked(self) -> Iterator[None]:
        """Mark the calling thread, so that calls within a turn do not wait for another turn."""
        self._thread.is_in_turn = True
        try:
            yield
        finally:
            self._thread.is_in_turn = False

    def _end(self, *, has_failed: bool) -> None:
        """End a turn; change how many may run at the same time."""
        with self._changed:
            self._successes = 0 if has_failed else self._successes + 1
            if has_failed and self._active > 1:
                self._most = self._active - 1
            elif self._successes == _GROWTH:
                self._successes = 0
                self._most += 1
            self._active -= 1
            self._changed.notify_all()


_lock: Final = threading.Lock()
_turns: Final[dict[int, MemoryTurns]] = {}


def memory_turns(device: CudaDevice) -> MemoryTurns:
    """Return the turns of a GPU: one object for all threads of the process."""
    from hapgpu.runtime.gpu.context import release_memory  # noqa: PLC0415  (imports CuPy)

    with _lock:
        return _turns.setdefault(device.index, MemoryTurns(release_memory))
