"""Records kept sorted although some of them have moved."""

from __future__ import annotations

import numpy as np

from hapgpu.errors import InputError
from hapgpu.io.bam.record_block import RecordBlock


class OrderKeeper:
    """Puts the records of a sorted file into order again after some of them were moved.

    Records are held back only as far as one may start before its old position. Those that start
    at one position keep their order.

    Parameters
    ----------
    max_left_shift
        How many bases, at most, a record starts before its old position.
    source
        Name of the input, for errors.
    """

    def __init__(self, max_left_shift: int, source: str) -> None:
        self._max_left_shift = max_left_shift
        self._source = source
        self._waiting: RecordBlock | None = None
        self._last = np.int64(-1)

    def put(self, block: RecordBlock, moved: RecordBlock) -> RecordBlock:
        """Take any records, as they were and as they are now; return those that can be written.

        Raises
        ------
        InputError
            The records as they were are not sorted.
        """
        if not len(block):
            return moved
        old = block.places
        before = np.concatenate(([self._last], old[:-1]))
        if (old < before).any():
            raise InputError(
                f"{self._source} is not sorted, although its header or index says so;"
                " run: samtools sort"
            )
        self._last = old[-1]
        held = moved
        if self._waiting is not None:
            held = RecordBlock.concatenate([self._waiting, moved])
        places = held.places
        order = np.argsort(places, kind="stable")
        ready = int(np.searchsorted(places[order], self._last - self._max_left_shift, side="right"))
        self._waiting = held.take(order[ready:]).packed() if ready < order.size else None
        return held.take(order[:ready])

    def rest(self) -> RecordBlock | None:
        """Return what still waits, at the end of the file."""
        return self._waiting
