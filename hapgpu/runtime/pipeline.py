"""Pipeline that reads, computes and writes at the same time, in order and in bounded memory.

    source ──► reader thread ──► jobs ──► a thread per worker ──► results ──► sink
                                                            (put back in order) (calling thread)

The callables process the batches; this module only runs them. A worker may divide a batch whose
result would be too large (`Divided`): its parts are computed side by side and written one by one.
In processes (`processes`), a thread hands its batch to a forked process and waits for the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count, islice
from threading import Condition, Event, Lock, Semaphore, Thread
from traceback import clear_frames
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar

from hapgpu.errors import DeviceError
from hapgpu.runtime.inputs import fraction_read
from hapgpu.runtime.output import Divided
from hapgpu.runtime.processes.forked import ONE_PROCESS, ForkedWorkers, Processes
from hapgpu.runtime.progress import NoProgress, Progress

In = TypeVar("In")
Out = TypeVar("Out")

_BATCHES_PER_WORKER: Final = 2
_MIN_AHEAD: Final = 2  # one is read while one waits
_WORKERS_PER_BATCH_AHEAD: Final = 4
_READER_GRACE_SECONDS: Final = 2.0


def batches_in_flight(workers: int) -> int:
    """Return the maximum number of batches between the source and the end of the sink."""
    return _BATCHES_PER_WORKER * workers + 2


def batches_ahead(workers: int) -> int:
    """Return the maximum number of batches that are read or wait for a worker."""
    return _MIN_AHEAD + workers // _WORKERS_PER_BATCH_AHEAD


@dataclass(frozen=True, slots=True)
class Budget(Generic[Out]):
    """Limit of the results that are computed and not written yet.

    Attributes
    ----------
    limit
        Maximum of the sum of their sizes. Not counted are the result to be written next, and one
        result of each worker, which waits with it.
    size
        Function that returns the size of a result.
    """

    limit: int
    size: Callable[[Out], int]


def run_pipeline(
    source: Iterable[In],
    workers: Sequence[Callable[[In], Out | Divided[In, Out]]],
    sink: Callable[[Out], int],
    *,
    budget: Budget[Out] | None = None,
    progress: Progress | None = None,
    extent: int | Sequence[str] = (),
    threaded: bool = True,
    processes: Processes = ONE_PROCESS,
) -> None:
    """Send every batch of the source through a worker and into the sink, in order.

    One thread reads the source, one thread per worker calls it (a free worker takes the next
    part or batch), and the calling thread calls the sink. At most
    `batches_in_flight(len(workers))` batches exist at any time. Of these, at most
    `batches_ahead(len(workers))` are before a worker: they may be in pinned memory, which takes
    longer to get than to fill.

    Parameters
    ----------
    source
        The batches.
    workers
        Functions from batch to result, at least one; all must give the same result.
    sink
        Function that writes a result and returns the number of reads in it.
    budget
        Limit of the results that wait for the sink; None for none but the number of batches.
    progress
        Receives the number of reads of each written batch.
    extent
        The number of reads to come, or names of the inputs that the source reads: the progress is
        the fraction of them. Empty if neither is known.
    threaded
        Whether to use threads; False runs everything in the calling thread, with the first worker.
    processes
        Processes that the workers are divided into, if there is work for all of them.

    Raises
    ------
    BaseException
        The first error, in the order of the batches, of the source, a worker or the sink, raised
        once, after all results before it have been written. All threads have ended then, except
        a reader that waits for a pipe; it ends with the next bytes.
    """
    with (
        _Report(progress or NoProgress(), extent) as report,
        closing(
            _results(source, workers, budget, report, processes if threaded else None)
        ) as results,
    ):
        for result, ends_batch in results:
            report.add(sink(result), ends_batch=ends_batch)
            del result  # it must not stay alive while the next is computed


def ordered_results(
    source: Iterable[In],
    workers: Sequence[Callable[[In], Out | Divided[In, Out]]],
    count: Callable[[Out], int],
    *,
    progress: Progress | None = None,
    extent: int | Sequence[str] = (),
    threaded: bool = True,
    processes: Processes = ONE_PROCESS,
) -> Generator[Out]:
    """Yield the results that `run_pipeline` would give to a sink, at the pace of the caller.

    At most as many batches are computed ahead as there. Closing the generator ends all threads and
    processes, after the batches that are being computed.

    Parameters
    ----------
    source, workers, progress, extent, threaded, processes
        As of `run_pipeline`.
    count
        Function that returns the number of reads, or other units of the progress, in a result.

    Raises
    ------
    BaseException
        As of `run_pipeline`.
    """
    with (
        _Report(progress or NoProgress(), extent) as report,
        closing(
            _results(source, workers, None, report, processes if threaded else None)
        ) as results,
    ):
        for result, ends_batch in results:
            units = count(result)
            yield result
            del result  # it must not stay alive while the next is computed
            report.add(units, ends_batch=ends_batch)


class _Report:
    """Progress of a run by its batches; a context manager, which starts and finishes it.

    `inputs` are the names of the inputs by whose positions the progress is known.
    """

    def __init__(self, progress: Progress, extent: int | Sequence[str]) -> None:
        self._progress = progress
        self._total = extent if isinstance(extent, int) else None
        self.inputs: Sequence[str] = () if isinstance(extent, int) else extent
        self._positions: deque[float | None] = deque()
        self._units = 0

    def __enter__(self) -> Self:
        self._progress.start(self._total)
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.finish()

    def noted(self, source: Iterable[In]) -> Iterable[In]:
        """Return the batches of a source; the position in the inputs is noted after each."""
        return self._noted(source) if self.inputs else source

    def _noted(self, source: Iterable[In]) -> Iterator[In]:
        for batch in source:
            self._positions.append(fraction_read(self.inputs))
            yield batch
            del batch  # it must not stay alive while the next is read

    def add(self, units: int, *, ends_batch: bool) -> None:
        """Count the units of a result that was written."""
        self._units += units
        if ends_batch:
            fraction = self._positions.popleft() if self.inputs else None
            self._progress.advance(self._units, fraction)
            self._units = 0


def _results(
    source: Iterable[In],
    workers: Sequence[Callable[[In], Out | Divided[In, Out]]],
    budget: Budget[Out] | None,
    report: _Report,
    processes: Processes | None,
) -> Generator[tuple[Out, bool]]:
    """Yield each result in order, and whether it is the last of its batch.

    Without processes, everything runs in the calling thread, with the first worker.
    """
    noted = report.noted(source)
    if processes is None:
        yield from _one_by_one(noted, workers[0])
        return
    with (
        _staffed(iter(noted), workers, processes, report.inputs) as staff,
        _Stages(*staff, budget) as stages,
    ):
        yield from stages.ordered()


_Staff: TypeAlias = "tuple[Iterator[Any], Sequence[Callable[[Any], Any]], Callable[[], None]]"
"""Batches, their workers, and a function that lets no worker go on."""


@contextmanager
def _staffed(
    source: Iterator[In],
    workers: Sequence[Callable[[In], Out | Divided[In, Out]]],
    processes: Processes,
    inputs: Sequence[str],
) -> Iterator[_Staff]:
    """Yield the batches of a source and their workers, in processes if there are many batches."""
    head = deque[In]()
    wanted = len(workers) if min(processes.count, len(workers)) > 1 else 0
    try:
        are_many = wanted > 0 and _fill(head, source, wanted, inputs)
    except BaseException as error:  # noqa: BLE001  (raised after the batches before it)
        are_many, source = False, _failing(error)
    if not are_many:
        yield chain(_emptied(head), source), workers, lambda: None
        return
    with ForkedWorkers(workers, processes) as forked:
        yield chain(_emptied(head), source), forked.workers, forked.stop


def _fill(head: deque[In], source: Iterator[In], count: int, inputs: Sequence[str]) -> bool:
    """Read batches until it is known whether there are so many; return if there are."""
    for batch in islice(source, count):
        head.append(batch)
        fraction = fraction_read(inputs)
        if fraction is not None and fraction * count <= 1:
            return True
    return len(head) == count


def _failing(error: BaseException) -> Iterator[Any]:
    yield from ()
    raise error


def _emptied(batches: deque[In]) -> Iterator[In]:
    """Yield batches without keeping them."""
    while batches:
        yield batches.popleft()


_Key: TypeAlias = tuple[int, ...]
"""Number of a batch from 0; for a part, then its number from 1 in each division."""


@dataclass(frozen=True, slots=True)
class _Failure:
    error: BaseException


class _End:
    """End marker after the last batch."""


def _attempt(step: Callable[[], Out]) -> Out | _Failure:
    try:
        return step()
    except BaseException as error:  # noqa: BLE001  (raised again in the calling thread)
        del step  # it has the batch
        _let_go(error)
        return _Failure(error)


def _let_go(error: BaseException) -> None:
    """Clear the variables of functions that an error has left: the batch, and GPU memory."""
    chained = [error]
    while (before := chained[-1].__cause__ or chained[-1].__context__) and before not in chained:
        chained.append(before)
    for each in chained:
        clear_frames(each.__traceback__)


def _computed(
    worker: Callable[[In], Out | Divided[In, Out]], number: int, batch: In
) -> Divided[In, Out]:
    """Call a worker with a batch; add the number of the batch to an error of the device."""
    try:
        outcome = worker(batch)
    except DeviceError as error:
        raise DeviceError(f"{error} (in batch {number + 1} of the input)") from error
    return outcome if isinstance(outcome, Divided) else Divided(outcome, ())


def _one_by_one(
    source: Iterable[In], worker: Callable[[In], Out | Divided[In, Out]]
) -> Iterator[tuple[Out, bool]]:
    """Yield each result, and whether it is the last of its batch."""
    for number, batch in enumerate(source):
        parts = [batch]
        del batch
        yield from _results_of_parts(parts, worker, number)


def results_of(worker: Callable[[In], Out | Divided[In, Out]], batch: In) -> Iterator[Out]:
    """Compute a batch, part by part if the worker divides it; yield the results in order."""
    for result, _ in _results_of_parts([batch], worker, 0):
        yield result


def _results_of_parts(
    parts: list[In], worker: Callable[[In], Out | Divided[In, Out]], number: int
) -> Iterator[tuple[Out, bool]]:
    """Yield the results of the parts of a batch; they are removed from the list."""
    parts.reverse()
    while parts:
        outcome = _computed(worker, number, parts.pop())
        parts.extend(reversed(outcome.rest))
        result = outcome.result
        del outcome
        yield result, not parts
        del result


class _Exchange(Generic[In, Out]):
    """The batches and their parts before and after the workers.

    A worker takes the least key. With its result it waits until the budget has room, or until its
    result is the next to write. So there is no deadlock. All workers never wait at once, because
    one of them has the least key of all: the worker that divided its batch put an earlier result
    and then took the least key.

    Each kind of waiting has a condition of its own: every thread that wakes up takes Python's lock.
    """

    def __init__(self, budget: Budget[Out] | None) -> None:
        self._budget = budget
        self._lock = Lock()
        self._job_added = Condition(self._lock)
        self._next_result_put = Condition(self._lock)
        self._room_made = Condition(self._lock)
        self._jobs: list[tuple[_Key, In]] = []  # a heap
        self._unwritten: list[_Key] = []  # a heap: of all batches and parts that exist
        self._results: dict[_Key, tuple[Out | _End | _Failure, int]] = {}
        self._held = 0  # the sum of the sizes of the results
        self._is_stopped = False

    def stop(self) -> None:
        """Let all workers go: none gets another batch or has to wait."""
        with self._lock:
            self._is_stopped = True
            self._job_added.notify_all()
            self._room_made.notify_all()

    def add(self, key: _Key, batch: In) -> None:
        """Add a batch for the workers."""
        with self._lock:
            heappush(self._unwritten, key)
            heappush(self._jobs, (key, batch))
            self._job_added.notify()

    def take(self) -> tuple[_Key, In] | None:
        """Return the job with the least key, as soon as there is one; None at the end."""
        with self._lock:
            self._job_added.wait_for(lambda: self._jobs or self._is_stopped)
            return None if self._is_stopped else heappop(self._jobs)

    def divide(self, key: _Key, rest: Sequence[In]) -> None:
        """Add the other parts of a batch for the workers, before its first result is put."""
        with self._lock:
            for number, part in enumerate(rest, 1):
                heappush(self._unwritten, (*key, number))
                heappush(self._jobs, ((*key, number), part))
            self._job_added.notify(len(rest))

    def put(self, key: _Key, result: Out | _Failure) -> None:
        """Put the result of a batch or a part when it has room."""
        size = 0
        if self._budget and not isinstance(result, _Failure):
            size = self._budget.size(result)
        with self._lock:
            self._room_made.wait_for(lambda: self._has_room(key, size))
            self._held += size
            self._add_result(key, result, size)

    def _has_room(self, key: _Key, size: int) -> bool:
        is_within = self._budget is None or self._held + size <= self._budget.limit
        return is_within or self._unwritten[0] == key or self._is_stopped

    def end(self, key: _Key, outcome: _End | _Failure) -> None:
        """Put the end of the source, or its error."""
        with self._lock:
            heappush(self._unwritten, key)
            self._add_result(key, outcome, 0)

    def _add_result(self, key: _Key, result: Out | _End | _Failure, size: int) -> None:
        self._results[key] = result, size
        if self._unwritten[0] == key:
            self._next_result_put.notify()

    def next(self) -> tuple[Out | _End | _Failure, int, bool]:
        """Return the next result to write, its size, and whether it is the last of its batch."""
        with self._lock:
            self._next_result_put.wait_for(
                lambda: self._unwritten and self._unwritten[0] in self._results
            )
            key = heappop(self._unwritten)
            self._room_made.notify_all()
            ends_batch = not self._unwritten or self._unwritten[0][0] != key[0]
            return *self._results.pop(key), ends_batch

    def release(self, size: int) -> None:
        """Give back the size of a written result."""
        with self._lock:
            self._held -= size
            self._room_made.notify_all()


class _Stages(Generic[In, Out]):
    """The reader and the workers, running while the `with` block lasts.

    Reading a batch takes a ticket, which is returned when the batch is written. This bounds the
    memory, even if one worker is slow and the others run ahead. It also takes a place, which is
    returned when a worker takes the batch.
    """

    def __init__(
        self,
        source: Iterator[In],
        workers: Sequence[Callable[[In], Out | Divided[In, Out]]],
        stop_workers: Callable[[], None],
        budget: Budget[Out] | None,
    ) -> None:
        self._source = source
        self._stop_workers = stop_workers
        self._tickets = Semaphore(batches_in_flight(len(workers)))
        self._places = Semaphore(batches_ahead(len(workers)))
        self._exchange: _Exchange[In, Out] = _Exchange(budget)
        self._stopping = Event()
        self._reader = Thread(target=self._read, name="hapgpu-reader", daemon=True)
        self._workers = [
            Thread(target=self._work, args=(worker,), name=f"hapgpu-worker-{i}", daemon=True)
            for i, worker in enumerate(workers)
        ]

    def __enter__(self) -> Self:
        for thread in (self._reader, *self._workers):
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._tickets.release()
        self._places.release()
        self._exchange.stop()
        self._stop_workers()
        for thread in self._workers:
            thread.join()
        self._reader.join(_READER_GRACE_SECONDS)

    def _read(self) -> None:
        for number in count():
            self._tickets.acquire()
            self._places.acquire()
            if self._stopping.is_set():
                return
            batch = _attempt(lambda: next(self._source, _End()))
            if isinstance(batch, _End | _Failure):
                self._exchange.end((number,), batch)
                return
            self._exchange.add((number,), batch)

    def _work(self, worker: Callable[[In], Out | Divided[In, Out]]) -> None:
        while self._work_once(worker):
            pass

    def _work_once(self, worker: Callable[[In], Out | Divided[In, Out]]) -> bool:
        # A separate function, so that no batch stays alive while waiting for the next.
        job = self._exchange.take()
        if job is None:
            return False
        key, batch = job
        del job
        if len(key) == 1:
            self._places.release()
        outcome = _attempt(partial(_computed, worker, key[0], batch))
        del batch
        if isinstance(outcome, _Failure):
            self._exchange.put(key, outcome)
            return True
        result = outcome.result
        self._exchange.divide(key, outcome.rest)
        del outcome
        self._exchange.put(key, result)
        return True

    def ordered(self) -> Iterator[tuple[Out, bool]]:
        """Yield each result in the order of the source, and whether it is the last of its batch.

        Raises the first error among them.
        """
        while True:
            result, size, ends_batch = self._exchange.next()
            if isinstance(result, _Failure):
                raise result.error
            if isinstance(result, _End):
                return
            yield result, ends_batch
            del result
            self._exchange.release(size)
            if ends_batch:
                self._tickets.release()
