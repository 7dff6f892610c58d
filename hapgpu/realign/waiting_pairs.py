"""Pairs of sequences that wait to be aligned together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.devices import CpuDevice, Device

MAX_PAIRS: Final = 1 << 16
"""Pairs that wait at most; they fill the largest GPU."""
MAX_BYTES: Final = 1 << 25
"""Bases of references that wait at most, and of queries."""


class End(NamedTuple):
    """The end of a call: pairs, bases of references and bases of queries up to there."""

    pairs: int
    reference_bytes: int
    query_bytes: int


@dataclass(frozen=True, slots=True)
class WaitingPairs:
    """Memory for the pairs of many calls; those who append keep the ends.

    Attributes
    ----------
    references, queries
        uint8 text, end to end.
    reference_offsets, query_offsets
        int64: a row starts at each but the last.
    """

    references: NDArray[np.uint8]
    queries: NDArray[np.uint8]
    reference_offsets: NDArray[np.int64]
    query_offsets: NDArray[np.int64]

    @classmethod
    def on(cls, device: Device) -> WaitingPairs:
        """Return memory from which `device` copies fast: for a GPU it is pinned."""
        sizes = MAX_BYTES, MAX_BYTES, 8 * (MAX_PAIRS + 1), 8 * (MAX_PAIRS + 1)
        memory = _memory(sum(sizes), device)
        ends = np.cumsum(sizes)
        references, queries, offsets, others, _ = np.split(memory, ends)
        waiting = cls(references, queries, offsets.view(np.int64), others.view(np.int64))
        waiting.reference_offsets[0] = waiting.query_offsets[0] = 0
        return waiting

    def append(self, start: End, references: Ragged, queries: Ragged) -> End | None:
        """Copy the pairs of a call after those up to `start`; return the new end.

        Parameters
        ----------
        start
            Where to append.
        references, queries
            uint8 text, n rows each. The offsets are int64, from 0 to the number of bytes. If those
            between are in no order, `part` returns them so, and no rows of other calls.

        Returns
        -------
        None if there is no room.
        """
        pairs, first, other = start
        count = references.offsets.size
        end = End(pairs + count - 1, first + references.data.size, other + queries.data.size)
        if end.pairs > MAX_PAIRS or end.reference_bytes > MAX_BYTES or end.query_bytes > MAX_BYTES:
            return None
        self.references[first : end.reference_bytes] = references.data
        self.queries[other : end.query_bytes] = queries.data
        # A sum above int64 is negative: it remains out of order.
        rows = slice(pairs + 1, pairs + count)
        np.add(references.offsets[1:], first, self.reference_offsets[rows])
        np.add(queries.offsets[1:], other, self.query_offsets[rows])
        return end

    def part(self, start: End, end: End) -> tuple[Ragged, Ragged]:
        """Return the references and queries, uint8 text, of the calls from `start` to `end`.

        The text is not copied.
        """
        rows = slice(start.pairs, end.pairs + 1)
        first, other = start.reference_bytes, start.query_bytes
        offsets, others = self.reference_offsets[rows], self.query_offsets[rows]
        return (
            Ragged(
                self.references[first : end.reference_bytes],
                offsets - first if first else offsets,
            ),
            Ragged(self.queries[other : end.query_bytes], others - other if other else others),
        )


def _memory(size: int, device: Device) -> NDArray[np.uint8]:
    """Return uninitialised memory."""
    if isinstance(device, CpuDevice):
        return np.empty(size, dtype=np.uint8)
    from hapgpu.realign.align.cuda.host_memory import pinned_memory  # noqa: PLC0415  (imports CuPy)

    return pinned_memory(size, device)
