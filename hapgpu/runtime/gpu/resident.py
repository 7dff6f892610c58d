"""Copies of indexes in the memory of GPUs, made once for as long as an index is in use."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import cupy

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice

_SHARE_FOR_INDEX: Final = 0.9  # reads need the rest

_Index = TypeVar("_Index")
_Copy = TypeVar("_Copy")


class ResidentCopies(Generic[_Index, _Copy]):
    """The copies of all indexes of a kind, by index and GPU; for use by any thread.

    Parameters
    ----------
    what
        What such an index is, with its article, for messages.
    byte_count
        Tells how many bytes a copy takes.
    copy
        Copies an index to the current device, on the current stream.
    advice
        What to do about an index that does not fit.
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
        self._copies: WeakKeyDictionary[_Index, dict[int, _Copy]] = WeakKeyDictionary()

    def on(self, index: _Index, device: CudaDevice) -> _Copy:
        """Return an index on a device.

        Raises
        ------
        DeviceError
            It does not fit.
        """
        with self._lock:
            copies = self._copies.setdefault(index, {})
            if device.index not in copies:
                copies[device.index] = self._copied(index, device)
            return copies[device.index]

    def _copied(self, index: _Index, device: CudaDevice) -> _Copy:
        needed, budget = self._byte_count(index), int(device.memory_budget() * _SHARE_FOR_INDEX)
        if needed > budget:
            raise DeviceError(
                f"{self._what} takes {needed / 2**30:.1f} GiB, and on {device.name} "
                f"{budget / 2**30:.1f} GiB may be used for it: {self._advice}"
            )
        with cupy.cuda.Device(device.index):
            copied = self._copy(index)
            cupy.cuda.get_current_stream().synchronize()
            return copied
