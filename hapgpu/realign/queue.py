"""Queue of the Python API that computes many small calls of the aligner together."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.sequences import (
    Sequences,
    check_counts,
    checked_rows,
    sequence_rows,
    whole_numbers,
)
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.api import Alignments, row_pairs
from hapgpu.realign.scoring import Overhang, Scoring, resolve_overhang, resolve_scoring
from hapgpu.realign.waiting_pairs import START, CallPairs, WaitingPairs, is_too_large
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.devices import CpuDevice, first_device

_first = itemgetter(0)
_MANY_PAIRS: Final = 1 << 13
"""Pairs for which a GPU checks the text faster than the CPU."""
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
    shares_references
        Whether a call has numbers of references.
    """

    __slots__ = ("ends", "outcomes", "shares_references")

    def __init__(self) -> None:
        self.ends = [START]
        self.shares_references = False
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
    if all are submitted before a result is asked for. At most 131,072 pairs wait, with at most
    67,108,864 bases of references and of queries: the call that would be more has the others
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

    def submit(
        self,
        references: Sequences,
        queries: Sequences,
        reference_rows: Sequence[int] | NDArray[np.integer[Any]] | None = None,
    ) -> PendingAlignments:
        """Queue a call of `align`; the arguments are copied, and may change afterwards.

        Parameters
        ----------
        references, queries
            Sequences, as in `align`. A Ragged of uint8 text takes the least time.
        reference_rows
            A whole number per query, any integer dtype: its reference, from 0. So references that
            many queries share are stored once. None: query i has reference i.

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
        if reference_rows is not None:
            reference_rows = _numbers(reference_rows, others.offsets.size - 1)
        elif rows.offsets.size != others.offsets.size:
            row_pairs(rows, others, "queries")
        with self._lock:
            batch, waiting = self._batch, self._waiting
            if waiting is not None and batch.outcomes is None:
                end = waiting.append(batch.ends[-1], rows, others, reference_rows)
                if end is not None:
                    if reference_rows is not None:
                        batch.shares_references = True
                    batch.ends.append(end)  # an interrupted call is not there
                    return PendingAlignments(self, batch, len(batch.ends) - 2)
                self._compute()
        return self._submit_to_new(rows, others, reference_rows)

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

    def _submit_to_new(
        self, references: Ragged, queries: Ragged, rows: NDArray[np.int64] | None
    ) -> PendingAlignments:
        """Queue the first call of a batch, or compute it alone if it is too large."""
        if is_too_large(references, queries):
            batch = _Batch()
            batch.ends.append((len(queries), 0, 0, 0))
            batch.outcomes = [_Outcome(0, self._aligned(references, queries, rows))]
            return PendingAlignments(self, batch, 0)
        with self._lock:
            self._memory()
            if self._batch.outcomes is not None:
                self._batch = _Batch()
        return self.submit(references, queries, rows)

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
        pairs = self._memory().part(
            self._batch.ends[first : last + 1], shares_references=self._batch.shares_references
        )
        value: AlignmentBatch | Exception | None = None
        try:
            if last - first == 1:
                rows = pairs.chosen.rows if pairs.chosen else None
                value = self._aligned(pairs.references, pairs.queries, rows)
            else:
                value = self._aligned_together(pairs)
        except Exception as error:  # noqa: BLE001  (raised by the result of its call)
            if last - first == 1:
                value = error.with_traceback(None)  # which holds arrays
        if value is not None:
            yield _Outcome(first, value)
            return
        middle = (first + last) // 2
        yield from self._outcomes(first, middle)
        yield from self._outcomes(middle, last)

    def _aligned_together(self, pairs: CallPairs) -> AlignmentBatch | None:
        """Align the pairs of calls; return None if one of them may be wrong."""
        if not pairs.are_in_order():
            return None
        batch = pairs.batch()
        if isinstance(self._device, CpuDevice) or len(batch) < _MANY_PAIRS:
            sequence_rows(batch.references, "reference")
            sequence_rows(batch.queries, "query")
            return align_pairs(batch, self._scoring, self._overhang, self._device)
        from hapgpu.realign.align.cuda.queued import align_unchecked  # noqa: PLC0415  (imports CuPy)

        return align_unchecked(batch, self._scoring, self._overhang, self._device)

    def _aligned(
        self, references: Ragged, queries: Ragged, rows: NDArray[np.int64] | None
    ) -> AlignmentBatch:
        """Align the pairs of a call, or raise its error."""
        references, queries = checked_rows(references, "reference"), checked_rows(queries, "query")
        index = query_index = np.arange(len(queries), dtype=np.int32)
        if rows is not None:
            numbers = whole_numbers(rows, "reference row", 0, len(references) - 1)
            index = numbers.astype(np.int32)
        pairs = PairBatch(references, queries, index, query_index)
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


def _numbers(given: Sequence[int] | NDArray[np.integer[Any]], queries: int) -> NDArray[np.int64]:
    """Return a number for each query; those of an array of int64 are not checked here."""
    numbers: Any = given
    if type(given) is not np.ndarray or given.dtype is not _OFFSET or given.ndim != 1:
        numbers = whole_numbers(given, "reference row")
    if numbers.size != queries:
        check_counts(queries, "query", reference_rows=numbers.size)
    return cast("NDArray[np.int64]", numbers)


def _part(found: AlignmentBatch, start: int, end: int) -> Alignments:
    offsets = found.cigars.offsets[start : end + 1]
    first, last = offsets[0], offsets[-1]
    cigars = Ragged(found.cigars.data[first:last], offsets - first)
    return Alignments(found.scores[start:end], found.offsets[start:end], cigars)
