"""Queue of the Python API that computes many small calls of the aligner together."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import numpy as np

from hapgpu.arrays.batches import AlignmentBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import Sequences, checked_rows, sequence_rows
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.api import Alignments, row_pairs
from hapgpu.realign.scoring import Overhang, Scoring, resolve_overhang, resolve_scoring
from hapgpu.realign.waiting_pairs import End, WaitingPairs
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.devices import first_device

_START: Final[End] = (0, 0, 0)
_first = itemgetter(0)
_BYTE: Final = np.dtype(np.uint8)
_OFFSET: Final = np.dtype(np.int64)


class _Outcome(NamedTuple):
    """Alignments of calls from `first` on, or the error of one call."""

    first: int
    value: AlignmentBatch | Exception


class _Batch:
    """Calls that are computed together.

    Attributes
    ----------
    ends
        The end of each call; before them, the start of the first.
    outcomes
        In the order of the calls; None until they are computed.
    """

    __slots__ = ("ends", "outcomes")

    def __init__(self) -> None:
        self.ends = [_START]
        self.outcomes: list[_Outcome] | None = None


class PendingAlignments:
    """Alignments of a call that `AlignmentQueue.submit` has queued."""

    __slots__ = ("_batch", "_call", "_queue")

    def __init__(self, queue: AlignmentQueue, batch: _Batch, call: int) -> None:
        self._queue, self._batch, self._call = queue, batch, call

    def result(self) -> Alignments:
        """Return the alignments, as `align` returns them; the first of a batch has it computed.

        The arrays are parts of larger arrays, which stay in memory as long as one of them is used.

        Raises
        ------
        InputError
            A sequence of this call is empty or not ASCII, or scores would not fit 32 bits.
        UsageError
            The offsets of a Ragged of this call do not ascend.
        DeviceError
            The device has too little memory, or failed.
        """
        batch, call = self._batch, self._call
        if batch.outcomes is None:
            self._queue.finish(batch)
        outcomes = cast("list[_Outcome]", batch.outcomes)
        number = 0 if len(outcomes) == 1 else bisect_right(outcomes, call, key=_first) - 1
        first, value = outcomes[number]
        if not isinstance(value, AlignmentBatch):
            raise value.with_traceback(None)
        ends = batch.ends
        before = ends[first][0]
        return _part(value, ends[call][0] - before, ends[call + 1][0] - before)


class AlignmentQueue(Closeable):
    """Queue of calls of `align`, which are computed together.

    A GPU needs tens of thousands of pairs to be busy. Many small calls take as long as a large one
    if all are submitted before a result is asked for. At most 65,536 pairs wait, with at most
    33,554,432 bases of references and of queries: the call that would be more has the others
    computed. Threads may share a queue.

    Parameters
    ----------
    scoring, overhang, device, threads
        As in `align`, for all calls.

    Raises
    ------
    UsageError
        An argument has another type, or a name is unknown.
    DeviceError
        A named device cannot be used.
    """

    def __init__(
        self,
        *,
        scoring: str | Scoring = "read-to-haplotype",
        overhang: str | Overhang = "softclip",
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        self._scoring, self._overhang = resolve_scoring(scoring), resolve_overhang(overhang)
        self._device = first_device(device, threads)
        self._lock = threading.Lock()
        self._waiting: WaitingPairs | None = None
        self._batch = _Batch()

    def submit(self, references: Sequences, queries: Sequences) -> PendingAlignments:
        """Queue a call of `align`; the sequences are copied, and may change afterwards.

        Parameters
        ----------
        references, queries
            n sequences each, as in `align`. A Ragged of uint8 text takes the least time.

        Raises
        ------
        InputError
            A sequence is missing or not ASCII.
        UsageError
            The numbers of sequences differ, or an argument has another type.
        DeviceError
            The device has too little memory, or failed.
        """
        rows, others = _rows(references, "reference"), _rows(queries, "query")
        if rows.offsets.size != others.offsets.size:
            row_pairs(rows, others, "queries")
        with self._lock:
            if (pending := self._appended(rows, others)) is not None:
                return pending
            self._compute()
            if (pending := self._appended(rows, others)) is not None:
                return pending
            return self._computed_alone(rows, others)

    def close(self) -> None:
        """Compute the calls that wait, and release memory; results can still be asked for."""
        with self._lock:
            self._compute()
            self._waiting = None

    def finish(self, batch: _Batch) -> None:
        """Compute a batch, unless it is computed."""
        with self._lock:
            if batch.outcomes is None:
                self._compute()

    def _appended(self, references: Ragged, queries: Ragged) -> PendingAlignments | None:
        """Append a call if there is room for it. An interrupted call is not there."""
        batch = self._batch
        if batch.outcomes is not None:
            batch = self._batch = _Batch()
        end = self._memory().append(batch.ends[-1], references, queries)
        if end is None:
            return None
        batch.ends.append(end)
        return PendingAlignments(self, batch, len(batch.ends) - 2)

    def _memory(self) -> WaitingPairs:
        if self._waiting is None:
            self._waiting = WaitingPairs(self._device)
        return self._waiting

    def _compute(self) -> None:
        """Compute the calls that wait; they still wait if this is interrupted."""
        batch = self._batch
        if batch.outcomes is None and len(batch.ends) > 1:
            batch.outcomes = list(self._outcomes(0, len(batch.ends) - 1))

    def _outcomes(self, first: int, last: int) -> Iterator[_Outcome]:
        """Align calls `first` to `last`; halve them until an error is of one call only."""
        value: AlignmentBatch | Exception
        ends = self._batch.ends[first : last + 1]
        try:
            value = self._aligned(*self._memory().part(ends))
        except Exception as error:  # noqa: BLE001  (raised by the results of its call)
            value = error.with_traceback(None)  # which holds arrays
        if isinstance(value, AlignmentBatch) or last - first == 1:
            yield _Outcome(first, value)
            return
        middle = (first + last) // 2
        yield from self._outcomes(first, middle)
        yield from self._outcomes(middle, last)

    def _computed_alone(self, references: Ragged, queries: Ragged) -> PendingAlignments:
        batch = _Batch()
        batch.ends.append((len(references), 0, 0))
        batch.outcomes = [_Outcome(0, self._aligned(references, queries))]
        return PendingAlignments(self, batch, 0)

    def _aligned(self, references: Ragged, queries: Ragged) -> AlignmentBatch:
        pairs = row_pairs(
            checked_rows(references, "reference"), checked_rows(queries, "query"), "queries"
        )
        return align_pairs(pairs, self._scoring, self._overhang, self._device)


def _rows(given: Sequences, what: str) -> Ragged:
    """Return uint8 rows, contiguous or not, with int64 offsets from 0 to the number of bytes.

    The offsets between are not checked here, nor the bytes of a Ragged: that takes less time for
    many calls together.
    """
    if isinstance(given, Ragged):
        data: Any = given.data
        offsets: Any = given.offsets
        if (
            type(data) is type(offsets) is np.ndarray
            and data.dtype is _BYTE
            and offsets.dtype is _OFFSET
            and data.ndim == offsets.ndim == 1
            and offsets.size
            and offsets[0] == 0
            and offsets[-1] == data.size
        ):
            return given
    return sequence_rows(given, what)


def _part(found: AlignmentBatch, start: int, end: int) -> Alignments:
    offsets = found.cigars.offsets[start : end + 1]
    first, last = offsets[0], offsets[-1]
    cigars = Ragged(found.cigars.data[first:last], offsets - first)
    return Alignments(found.scores[start:end], found.offsets[start:end], cigars)
