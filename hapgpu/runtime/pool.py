"""Thread pool in which the calling thread may work too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Final, Generic, ParamSpec, TypeVar

from hapgpu.runtime.closeable import Closeable

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


MAX_IO_THREADS: Final = 8
"""Maximum threads for the input, and for the output, of a command that computes in between.

More would read faster than any command computes, and each takes about 30 MiB.
"""


class Task(Generic[_Result]):
    """A call that runs in a thread of the pool or, if the caller works, in the thread that asks."""

    def __init__(
        self,
        call: Callable[[], _Result],
        executor: ThreadPoolExecutor | None,
        *,
        caller_works: bool,
    ) -> None:
        self._call = call
        self._caller_works = caller_works
        self._future: Future[_Result] | None = executor.submit(call) if executor else None

    def result(self) -> _Result:
        """Return the result of the call, or raise its error; call this once."""
        if self._future is None or (self._caller_works and self._future.cancel()):
            return self._call()
        return self._future.result()


class Pool(Closeable):
    """Pool of `threads` threads, the thread that asks for results included if it works.

    Parameters
    ----------
    threads
        At least 1; with 1, each task runs in the calling thread when its result is asked for.
    caller_works
        Whether the thread that asks for results runs tasks that have not started. A thread that
        also makes the tasks should not: the others would run out of them. With False, the pool
        has `threads` threads of its own if `threads` is above 1.
    """

    def __init__(self, threads: int, *, caller_works: bool = True) -> None:
        self.threads = threads
        self._caller_works = caller_works
        own = threads - caller_works if threads > 1 else 0
        self._executor = ThreadPoolExecutor(own, "hapgpu-io") if own else None

    def submit(
        self,
        function: Callable[_Parameters, _Result],
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> Task[_Result]:
        """Queue a call."""
        call = partial(function, *args, **kwargs)
        return Task(call, self._executor, caller_works=self._caller_works)

    def over_rows(self, function: Callable[[int, int], _Result], rows: int) -> list[_Result]:
        """Call `function(start, end)` on one equal slice of the rows per thread; keep the order."""
        cuts = [rows * part // self.threads for part in range(self.threads + 1)]
        tasks = [self.submit(function, start, end) for start, end in pairwise(cuts)]
        return self.results(tasks)

    @staticmethod
    def results(tasks: Sequence[Task[_Result]]) -> list[_Result]:
        """Return the result of each task, in order.

        If the caller works, it starts with the last task, and the pool with the first: it has work
        until all tasks are running.
        """
        return [task.result() for task in reversed(tasks)][::-1]

    def close(self) -> None:
        """Cancel tasks that have not started, and wait for the others."""
        if self._executor:
            self._executor.shutdown(cancel_futures=True)
