"""Copies of indexes in GPU memory, made once for as long as an index is in use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import cupy

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice

_INDEX_FRACTION: Final = 0.9  # of the memory budget; reads need the rest

_Index = TypeVar("_Index")
_Copy = TypeVar("_Copy")


@dataclass(slots=True)
class _Resident(Generic[_Copy]):
    """A copy on one GPU; None until it is made, by the thread that has the lock."""

    lock: Lock = field(default_factory=Lock)
    copy: _Copy | None = None


class ResidentCopies(Generic[_Index, _Copy]):
    """The copies of all indexes of one kind, by index and GPU; thread-safe.

    Parameters
    ----------
    what
        The kind of index, with its article, for messages.
    byte_count
        Function that returns the number of bytes of a copy.
    copy
        Function that copies an index to the current GPU, on the current stream.
    advice
        Remedy in the message for an index that does not fit.
    """

    def __init__(
        self,
        what: str,
        byte_count: Callable[[_Index], int],
        copy: Callable[[_Index], _Copy],
        advice: str,
    ) -> None:
        self._what, self._advice = what, advice
        self._byte_count, self._copy = byte_count, copy
        self._lock = Lock()
        self._copies: WeakKeyDictionary[_Index, dict[int, _Resident[_Copy]]] = WeakKeyDictionary()

    def on(self, index: _Index, device: CudaDevice) -> _Copy:
        """Return the copy of an index on a GPU, made at the first call.

        Raises
        ------
        DeviceError
            The index does not fit.
        """
        with self._lock:
            copies = self._copies.setdefault(index, {})
            resident = copies.setdefault(device.index, _Resident())
        with resident.lock:  # other GPUs do not wait
            if resident.copy is None:
                resident.copy = self._copied(index, device)
            return resident.copy

    def _copied(self, index: _Index, device: CudaDevice) -> _Copy:
        needed, budget = self._byte_count(index), int(device.memory_budget() * _INDEX_FRACTION)
        if needed > budget:
            raise DeviceError(
                f"{device.name}: {self._what} takes {needed / 2**30:.1f} GiB, of which at most "
                f"{budget / 2**30:.1f} GiB fit; {self._advice}"
            )
        with cupy.cuda.Device(device.index):
            copied = self._copy(index)
            cupy.cuda.get_current_stream().synchronize()
            return copied
