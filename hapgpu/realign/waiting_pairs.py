"""Pairs of sequences that wait to be aligned together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.devices import CpuDevice, Device

MAX_PAIRS: Final = 1 << 16
"""Pairs that wait at most; they fill the largest GPU."""
MAX_BYTES: Final = 1 << 25
"""Bases of references that wait at most, and of queries."""


End: TypeAlias = tuple[int, int, int]
"""The end of a call: pairs, bases of references and bases of queries up to there."""


class WaitingPairs:
    """Memory for the pairs of many calls; those who append keep the ends.

    Parameters
    ----------
    device
        The device that will compute; for a GPU the memory is pinned, so that it copies fast.
    """

    def __init__(self, device: Device) -> None:
        sizes = MAX_BYTES, MAX_BYTES, 8 * (MAX_PAIRS + 1), 8 * (MAX_PAIRS + 1)
        references, queries, offsets, others = np.split(
            _memory(sum(sizes), device), np.cumsum(sizes[:-1])
        )
        self._text = references, queries
        self._offsets = offsets.view(np.int64), others.view(np.int64)
        # To assign to parts of arrays takes several times as long.
        arrays: list[Any] = [*self._text, *self._offsets]
        views: list[Any] = [memoryview(array) for array in arrays]
        self._references, self._queries, self._reference_offsets, self._query_offsets = views

    def append(self, start: End, references: Ragged, queries: Ragged) -> End | None:
        """Copy the pairs of a call after those up to `start`; return the new end.

        Parameters
        ----------
        start
            Where to append.
        references, queries
            uint8 text, n rows each. The offsets are int64, from 0 to the number of bytes; those
            between are not checked.

        Returns
        -------
        None if there is no room.
        """
        first, reference_start, query_start = start
        last = first + references.offsets.size - 1
        reference_end = reference_start + references.data.size
        query_end = query_start + queries.data.size
        if last > MAX_PAIRS or reference_end > MAX_BYTES or query_end > MAX_BYTES:
            return None
        self._references[reference_start:reference_end] = references.data
        self._queries[query_start:query_end] = queries.data
        self._reference_offsets[first + 1 : last + 1] = references.offsets[1:]
        self._query_offsets[first + 1 : last + 1] = queries.offsets[1:]
        return last, reference_end, query_end

    def part(self, ends: Sequence[End]) -> tuple[Ragged, Ragged]:
        """Return the references and queries, uint8 text, of the calls between `ends`.

        The text is not copied. Offsets of a call that are in no order are so here, too, and there
        is no row with bases of two calls.

        Parameters
        ----------
        ends
            Where the first call starts, and the end of each call.
        """
        rows, *sides = np.array(ends, dtype=np.int64).T
        counts = rows[1:] - rows[:-1]
        found = []
        for text, offsets, starts in zip(self._text, self._offsets, sides, strict=True):
            own = np.zeros(int(rows[-1] - rows[0]) + 1, dtype=np.int64)
            np.add(
                offsets[rows[0] + 1 : rows[-1] + 1],
                np.repeat(starts[:-1] - starts[0], counts),
                out=own[1:],
            )
            found.append(Ragged(text[starts[0] : starts[-1]], own))
        references, queries = found
        return references, queries


def _memory(size: int, device: Device) -> NDArray[np.uint8]:
    """Return uninitialised memory."""
    if isinstance(device, CpuDevice):
        return np.empty(size, dtype=np.uint8)
    from hapgpu.realign.align.cuda.host_memory import pinned_memory  # noqa: PLC0415  (imports CuPy)

    return pinned_memory(size, device)
