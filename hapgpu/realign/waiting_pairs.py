"""Pairs of sequences that wait to be aligned together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.devices import CpuDevice, Device

MAX_PAIRS: Final = 1 << 17
"""Pairs that wait at most, and references; they fill the largest GPU for some milliseconds."""
MAX_BYTES: Final = 1 << 26
"""Bases of references that wait at most, and of queries."""

End: TypeAlias = tuple[int, int, int, int]
"""The end of a call: pairs, references, bases of references, bases of queries up to there."""
START: Final[End] = (0, 0, 0, 0)


class CallPairs(NamedTuple):
    """Pairs of calls: query i with a reference of its call.

    Attributes
    ----------
    references, queries
        uint8 text; n queries.
    reference_rows
        int64[n]: the reference, counted from the first of the call.
    first_references, reference_counts
        int64[n]: the first reference of the call, and their number.
    """

    references: Ragged
    queries: Ragged
    reference_rows: NDArray[np.int64]
    first_references: NDArray[np.int64]
    reference_counts: NDArray[np.int64]

    @classmethod
    def of_call(
        cls, references: Ragged, queries: Ragged, reference_rows: NDArray[np.int64] | None
    ) -> CallPairs:
        """Return a single call.

        Parameters
        ----------
        references, queries
            uint8 text, n queries.
        reference_rows
            int64[n]; None: query i has reference i.
        """
        count = len(queries)
        if reference_rows is None:
            reference_rows = np.arange(count)
        return cls(
            references,
            queries,
            reference_rows,
            np.zeros(count, dtype=np.int64),
            np.full(count, len(references), dtype=np.int64),
        )

    def are_in_order(self) -> bool:
        """Tell whether each sequence has bases, and each query a reference of its own call."""
        return all(
            (rows.offsets[1:] > rows.offsets[:-1]).all() for rows in (self.references, self.queries)
        ) and bool(
            ((self.reference_rows >= 0) & (self.reference_rows < self.reference_counts)).all()
        )

    def batch(self) -> PairBatch:
        """Return the pairs, if they are in order."""
        rows = np.arange(len(self.queries), dtype=np.int32)
        index = np.add(self.reference_rows, self.first_references, dtype=np.int64)
        return PairBatch(self.references, self.queries, index.astype(np.int32), rows)


class WaitingPairs:
    """Memory for the pairs of many calls; those who append keep the ends.

    Parameters
    ----------
    device
        The device that will compute; for a GPU the memory is pinned, so that it copies fast.
    """

    def __init__(self, device: Device) -> None:
        offsets = 8 * (MAX_PAIRS + 1)
        sizes = MAX_BYTES, MAX_BYTES, offsets, offsets, 8 * MAX_PAIRS
        memory = _memory(sum(sizes), device)
        references, queries, *numbers = np.split(memory, np.cumsum(sizes[:-1]))
        self._text = references, queries
        self._offsets = numbers[0].view(np.int64), numbers[1].view(np.int64)
        self._rows = numbers[2].view(np.int64)
        # To assign to parts of arrays takes several times as long.
        arrays: list[Any] = [*self._text, *self._offsets, self._rows]
        self._views: list[Any] = [memoryview(array) for array in arrays]
        own_rows: Any = np.arange(MAX_PAIRS, dtype=np.int64)
        self._own_rows = memoryview(own_rows)

    def append(
        self,
        start: End,
        references: Ragged,
        queries: Ragged,
        reference_rows: NDArray[np.int64] | None,
    ) -> End | None:
        """Copy the pairs of a call after those up to `start`; return the new end.

        Parameters
        ----------
        start
            Where to append.
        references, queries
            uint8 text. The offsets are int64, from 0 to the number of bytes; those between are not
            checked.
        reference_rows
            int64, the reference of each query, not checked; None: row i of as many.

        Returns
        -------
        None if there is no room.
        """
        pair, reference, base, query_base = start
        data, query_data = references.data, queries.data
        offsets, query_offsets = references.offsets, queries.offsets
        pairs, rows = pair + query_offsets.size - 1, reference + offsets.size - 1
        end, query_end = base + data.size, query_base + query_data.size
        if pairs > MAX_PAIRS or rows > MAX_PAIRS or end > MAX_BYTES or query_end > MAX_BYTES:
            return None
        text, query_text, starts, query_starts, own = self._views
        text[base:end] = data
        query_text[query_base:query_end] = query_data
        starts[reference + 1 : rows + 1] = offsets[1:]
        query_starts[pair + 1 : pairs + 1] = query_offsets[1:]
        if reference_rows is None:
            own[pair:pairs] = self._own_rows[: pairs - pair]
        else:
            own[pair:pairs] = reference_rows
        return pairs, rows, end, query_end

    def part(self, ends: Sequence[End]) -> CallPairs:
        """Return the calls between `ends`; the text is not copied.

        Offsets of a call that are in no order are so here, too, and no row has bases of two calls.

        Parameters
        ----------
        ends
            Where the first call starts, and the end of each call.
        """
        pairs, references, *bases = np.array(ends, dtype=np.int64).T
        counts, reference_counts = pairs[1:] - pairs[:-1], references[1:] - references[:-1]
        sides = []
        for side, rows in enumerate((references, pairs)):
            starts = bases[side]
            own = np.zeros(int(rows[-1] - rows[0]) + 1, dtype=np.int64)
            np.add(
                self._offsets[side][rows[0] + 1 : rows[-1] + 1],
                np.repeat(starts[:-1] - starts[0], rows[1:] - rows[:-1]),
                out=own[1:],
            )
            sides.append(Ragged(self._text[side][starts[0] : starts[-1]], own))
        return CallPairs(
            sides[0],
            sides[1],
            self._rows[pairs[0] : pairs[-1]],
            np.repeat(references[:-1] - references[0], counts),
            np.repeat(reference_counts, counts),
        )


def _memory(size: int, device: Device) -> NDArray[np.uint8]:
    """Return uninitialised memory."""
    if isinstance(device, CpuDevice):
        return np.empty(size, dtype=np.uint8)
    from hapgpu.realign.align.cuda.queued import pinned_memory  # noqa: PLC0415  (imports CuPy)

    return pinned_memory(size, device)
