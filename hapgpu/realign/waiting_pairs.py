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


def is_too_large(references: Ragged, queries: Ragged) -> bool:
    """Tell whether `references` and `queries`, uint8 text each, would have no room even alone."""
    return (
        max(len(references), len(queries)) > MAX_PAIRS
        or max(references.data.size, queries.data.size) > MAX_BYTES
    )


class ReferenceRows(NamedTuple):
    """The references of n queries.

    Attributes
    ----------
    rows
        int64[n]: the reference, counted from the first of the call.
    firsts, counts
        int64[n]: the first reference of the call, and their number.
    """

    rows: NDArray[np.int64]
    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]


class CallPairs(NamedTuple):
    """Pairs of calls: query i with a reference of its call.

    Attributes
    ----------
    references, queries
        uint8 text; n queries.
    chosen
        The references; None: query i has reference i.
    """

    references: Ragged
    queries: Ragged
    chosen: ReferenceRows | None

    def are_in_order(self) -> bool:
        """Tell whether each sequence has bases, and each query a reference of its own call."""
        for side in (self.references, self.queries):
            if not (side.offsets[1:] > side.offsets[:-1]).all():
                return False
        if self.chosen is None:
            return True
        rows, _, counts = self.chosen
        return bool(((rows >= 0) & (rows < counts)).all())

    def batch(self) -> PairBatch:
        """Return the pairs, which are in order."""
        rows = np.arange(len(self.queries), dtype=np.int32)
        if self.chosen is None:
            return PairBatch(self.references, self.queries, rows, rows)
        index = (self.chosen.rows + self.chosen.firsts).astype(np.int32)
        return PairBatch(self.references, self.queries, index, rows)


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
        self._own_rows = np.arange(MAX_PAIRS, dtype=np.int64)

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
        own[pair:pairs] = (
            self._own_rows[: pairs - pair] if reference_rows is None else reference_rows
        )
        return pairs, rows, end, query_end

    def part(self, ends: Sequence[End], *, shares_references: bool) -> CallPairs:
        """Return the calls between `ends`; the text is not copied.

        Offsets of a call that are in no order are so here, too, and no row has bases of two calls.

        Parameters
        ----------
        ends
            Where the first call starts, and the end of each call.
        shares_references
            Whether any of the calls has numbers of references.
        """
        pairs, references, *bases = np.array(ends, dtype=np.int64).T
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
        chosen = None
        if shares_references:
            counts = pairs[1:] - pairs[:-1]
            chosen = ReferenceRows(
                self._rows[pairs[0] : pairs[-1]],
                np.repeat(references[:-1] - references[0], counts),
                np.repeat(references[1:] - references[:-1], counts),
            )
        return CallPairs(sides[0], sides[1], chosen)


def _memory(size: int, device: Device) -> NDArray[np.uint8]:
    """Return uninitialised memory."""
    if isinstance(device, CpuDevice):
        return np.empty(size, dtype=np.uint8)
    from hapgpu.realign.align.cuda.queued import pinned_memory  # noqa: PLC0415  (imports CuPy)

    return pinned_memory(size, device)
