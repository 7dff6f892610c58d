"""Sorting of records after some of them have moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.errors import InputError
from hapgpu.runtime.jit import njit


@dataclass(frozen=True, slots=True)
class RecordRun:
    """n records end to end, with their sort keys.

    Attributes
    ----------
    data
        uint8: the records.
    offsets
        int64[n + 1]: offsets of the records, the first may be greater than 0.
    keys
        int64[n]: sort keys (`RecordBlock.sort_keys`), never decreasing in a sorted run.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]

    def __len__(self) -> int:
        return self.keys.size

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """uint8: the records, sharing memory."""
        return self.data[self.offsets[0] : self.offsets[-1]]

    def slice(self, start: int, end: int) -> Self:
        """Return records start to end, sharing memory."""
        return type(self)(self.data, self.offsets[start : end + 1], self.keys[start:end])


class OldOrder(NamedTuple):
    """Sort keys of the first and the last of n records before they moved.

    Attributes
    ----------
    first, last
        The keys; of no records, None.
    is_sorted
        Whether the keys of the records never decrease.
    """

    first: int | None
    last: int | None
    is_sorted: bool

    @classmethod
    def of(cls, keys: NDArray[np.int64]) -> Self:
        """Return the order of the records with these keys, int64[n]."""
        if not keys.size:
            return cls(None, None, is_sorted=True)
        return cls(int(keys[0]), int(keys[-1]), is_ascending(keys))


class OrderKeeper:
    """Buffer that sorts the records of a sorted file again after some of them were moved.

    Records wait only as long as a later record may start before them. Records with the same
    position keep their order.

    Parameters
    ----------
    max_left_shift
        Maximum number of bases by which a record starts before its old position.
    source
        Name of the input, for messages.
    """

    def __init__(self, max_left_shift: int, source: str) -> None:
        self._max_left_shift = max_left_shift
        self._source = source
        self._waiting: list[RecordRun] = []
        self._last = -1

    def put(self, old: OldOrder, moved: RecordRun) -> list[NDArray[np.uint8]]:
        """Take records; return the bytes, uint8, of the records that can be written, in order.

        Parameters
        ----------
        old
            The order of the records before they moved.
        moved
            The records, sorted, each with the same bytes as long as it waits.

        Raises
        ------
        InputError
            The records before moving are not sorted.
        """
        if old.first is None or old.last is None:
            return []
        if not old.is_sorted or old.first < self._last:
            raise InputError(
                f"{self._source}: not sorted, although its header or index says so;"
                " run: samtools sort"
            )
        self._last = old.last
        ready, waiting = [], []
        for run in (*self._waiting, moved):
            count = int(np.searchsorted(run.keys, self._last - self._max_left_shift, side="right"))
            if count:
                ready.append(run.slice(0, count))
            if count < len(run):
                waiting.append(run.slice(count, len(run)))
        self._waiting = waiting
        return _merged(ready)

    def rest(self) -> list[NDArray[np.uint8]]:
        """Return the bytes, uint8, of the records that still wait at the end of the file."""
        return _merged(self._waiting)


def _merged(runs: Sequence[RecordRun]) -> list[NDArray[np.uint8]]:
    """Return the bytes of sorted runs in order; equal keys keep the order of their runs.

    Only records are copied between which records of other runs belong.
    """
    if all(one.keys[-1] <= other.keys[0] for one, other in pairwise(runs)):
        return [run.bytes for run in runs]
    first, *others = runs
    count = int(np.searchsorted(first.keys, min(run.keys[0] for run in others), side="right"))
    last = runs[-1]
    end = int(np.searchsorted(last.keys, max(run.keys[-1] for run in runs[:-1])))
    between = [first.slice(count, len(first)), *runs[1:-1], last.slice(0, end)]
    return [first.slice(0, count).bytes, _copied(between), last.slice(end, len(last)).bytes]


def _copied(runs: Sequence[RecordRun]) -> NDArray[np.uint8]:
    """Return the bytes of all records of sorted runs, in order."""
    data = np.concatenate([run.bytes for run in runs])
    sizes = np.concatenate([np.diff(run.offsets) for run in runs])
    order = np.argsort(np.concatenate([run.keys for run in runs]), kind="stable")
    return Ragged.gather(data, offsets_of(sizes)[order], sizes[order]).data


@njit
def is_ascending(keys: NDArray[np.int64]) -> bool:
    """Tell whether `keys`, int64[n], never decrease."""
    descents = 0
    for row in range(1, keys.size):
        descents += keys[row] < keys[row - 1]
    return descents == 0
