"""Pipeline that reads, computes and writes at the same time, in order and in bounded memory.

    source ──► reader thread ──► jobs ──► a thread per worker ──► results ──► sink
                                                            (put back in order) (calling thread)

The callables process the batches; this module only runs them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from hapgpu.errors import DeviceError
from hapgpu.runtime.inputs import fraction_read
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


def run_pipeline(
    source: Iterable[In],
    workers: Sequence[Callable[[In], Out]],
    sink: Callable[[Out], int],
    *,
    progress: Progress | None = None,
    total: int | None = None,
    inputs: Sequence[str] = (),
    threaded: bool = True,
) -> None:
    """Send every batch of the source through a worker and into the sink, in order.

    One thread reads the source, one thread per worker calls it (a free worker takes the next
    batch), and the calling thread calls the sink. At most `batches_in_flight(len(workers))`
    batches exist at any time. Of these, at most `batches_ahead(len(workers))` are before a worker:
    they may be in pinned memory, which takes longer to get than to fill.

    Parameters
    ----------
    source
        The batches.
    workers
        Functions from batch to result, at least one; all must give the same result.
    sink
        Function that writes a result and returns the number of reads in it.
    progress
        Receives the number of reads of each written batch.
    total
        The number of reads to come, if known.
    inputs
        Names of the inputs that the source reads: the progress is the fraction of them.
    threaded
        Whether to use threads; False runs everything in the calling thread, with the first worker.

    Raises
    ------
    BaseException
        The first error, in the order of the batches, of the source, a worker or the sink, raised
        once, after all batches before it have been written. All threads have ended then, except
        a reader that waits for a pipe; it ends with the next bytes.
    """
    reporter = progress or NoProgress()
    reporter.start(total)
    positions: deque[float | None] = deque()
    noted = _noted(source, inputs, positions) if inputs else source

    def write(result: Out) -> None:
        count = sink(result)
        reporter.advance(count, positions.popleft() if inputs else None)

    try:
        if threaded:
            with _Stages(noted, workers) as stages:
                for result in stages.ordered():
                    write(result)
        else:
            for number, batch in enumerate(noted):
                write(_computed(workers[0], number, batch))
    finally:
        reporter.finish()


def _noted(
    source: Iterable[In], inputs: Sequence[str], positions: deque[float | None]
) -> Iterator[In]:
    """Yield the batches of a source; append the position in the inputs after each."""
    for batch in source:
        positions.append(fraction_read(inputs))
        yield batch
        del batch  # it must not stay alive while the next is read


@dataclass(frozen=True, slots=True)
class _Failure:
    error: BaseException


class _End:
    """End marker after the last batch."""


def _attempt(step: Callable[[], Out]) -> Out | _Failure:
    try:
        return step()
    except BaseException as error:  # noqa: BLE001  (raised again in the calling thread)
        return _Failure(error)


def _computed(worker: Callable[[In], Out], number: int, batch: In) -> Out:
    """Call a worker with a batch; add the number of the batch to an error of the device."""
    try:
        return worker(batch)
    except DeviceError as error:
        raise DeviceError(f"{error} (in batch {number + 1} of the input)") from error


class _Stages(Generic[In, Out]):
    """The reader and the workers, running while the `with` block lasts.

    Reading a batch takes a ticket, which is returned when the batch is written. This bounds the
    memory, even if one worker is slow and the others run ahead; the queues need no bound. It also
    takes a place, which is returned when a worker takes the batch.
    """

    def __init__(self, source: Iterable[In], workers: Sequence[Callable[[In], Out]]) -> None:
        self._source = iter(source)
        self._tickets = Semaphore(batches_in_flight(len(workers)))
        self._places = Semaphore(batches_ahead(len(workers)))
        self._jobs: SimpleQueue[tuple[int, In] | None] = SimpleQueue()
        self._results: SimpleQueue[tuple[int, Out | _End | _Failure]] = SimpleQueue()
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
        for _ in self._workers:
            self._jobs.put(None)
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
                self._results.put((number, batch))
                return
            self._jobs.put((number, batch))

    def _work(self, worker: Callable[[In], Out]) -> None:
        while self._work_once(worker):
            pass

    def _work_once(self, worker: Callable[[In], Out]) -> bool:
        # A separate function, so that no batch stays alive while waiting for the next.
        job = self._jobs.get()
        if job is None or self._stopping.is_set():
            return False
        number, batch = job
        self._places.release()
        self._results.put((number, _attempt(lambda: _computed(worker, number, batch))))
        return True

    def ordered(self) -> Iterator[Out]:
        """Yield the results in the order of the source; raise the first error among them."""
        waiting: dict[int, Out | _End | _Failure] = {}
        for number in count():
            while number not in waiting:
                arrived, result = self._results.get()
                waiting[arrived] = result
            result = waiting.pop(number)
            if isinstance(result, _Failure):
                raise result.error
            if isinstance(result, _End):
                return
            yield result
            del result
            self._tickets.release()
