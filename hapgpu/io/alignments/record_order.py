"""Sorting of records after some of them have moved."""

from __future__ import annotations

import numpy as np

from hapgpu.errors import InputError
from hapgpu.io.bam.record_block import RecordBlock


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
        self._waiting: RecordBlock | None = None
        self._last = np.int64(-1)

    def put(self, block: RecordBlock, moved: RecordBlock) -> RecordBlock:
        """Take a block of records before and after moving; return the records that can be written.

        Raises
        ------
        InputError
            The records before moving are not sorted.
        """
        if not len(block):
            return moved
        old = block.sort_keys
        before = np.concatenate(([self._last], old[:-1]))
        if (old < before).any():
            raise InputError(
                f"{self._source}: not sorted, although its header or index says so;"
                " run: samtools sort"
            )
        self._last = old[-1]
        records = moved
        if self._waiting is not None:
            records = RecordBlock.concatenate([self._waiting, moved])
        keys = records.sort_keys
        order = np.argsort(keys, kind="stable")
        ready = int(np.searchsorted(keys[order], self._last - self._max_left_shift, side="right"))
        self._waiting = records.take(order[ready:]).packed() if ready < order.size else None
        return records.take(order[:ready])

    def rest(self) -> RecordBlock | None:
        """Return the records that still wait at the end of the file."""
        return self._waiting
