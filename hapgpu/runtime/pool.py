"""Work shared between the calling thread and its helpers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Final, Generic, ParamSpec, Self, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


MAX_IO_THREADS: Final = 4
"""More threads read and write no faster, but hold more in memory."""


class Task(Generic[_Result]):
    """A call that a helper makes, or whoever asks for its result before a helper got to it."""

    def __init__(self, call: Callable[[], _Result], executor: ThreadPoolExecutor | None) -> None:
        self._call = call
        self._future: Future[_Result] | None = executor.submit(call) if executor else None

    def result(self) -> _Result:
        """Return what the call returned, or raise what it raised; ask once."""
        if self._future is None or self._future.cancel():
            return self._call()
        return self._future.result()


class Pool:
    """Exactly `threads` busy threads: `threads - 1` helpers and the one that asks for results.

    Parameters
    ----------
    threads
        At least 1; with 1 each task runs in the calling thread when its result is asked for.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._executor = ThreadPoolExecutor(threads - 1, "hapgpu-io") if threads > 1 else None

    def submit(
        self,
        function: Callable[_Parameters, _Result],
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> Task[_Result]:
        """Queue a call."""
        return Task(lambda: function(*args, **kwargs), self._executor)

    def over_rows(self, function: Callable[[int, int], _Result], rows: int) -> list[_Result]:
        """Call `function(start, stop)` on one even slice of the rows per thread, in order."""
        cuts = [rows * part // self.threads for part in range(self.threads + 1)]
        tasks = [self.submit(function, start, stop) for start, stop in pairwise(cuts)]
        return self.results(tasks)

    @staticmethod
    def results(tasks: Sequence[Task[_Result]]) -> list[_Result]:
        """Return what each task returned.

        They are asked from the last one on: helpers begin with the first, so that this thread
        always finds one to do, until all are being done.
        """
        return [task.result() for task in reversed(tasks)][::-1]

    def close(self) -> None:
        """Drop what has not begun and wait for what has."""
        if self._executor:
            self._executor.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
