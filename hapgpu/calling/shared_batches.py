"""Batches of several threads, computed together on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition
from typing import Generic, TypeVar

from hapgpu.errors import HapgpuError

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


class _Job(Generic[_Batch, _Result]):
    """Batch of a thread.

    It waits until a thread takes it; then it gets `results`: one, or none after an error.
    """

    def __init__(self, batch: _Batch) -> None:
        self.batch = batch
        self.results: Sequence[_Result] | None = None


class SharedBatches(Generic[_Batch, _Result]):
    """Function that computes the batches of several threads together.

    The batch of one segment does not fill a GPU, and to launch it takes as much Python as to launch
    many. So a thread whose turn it is computes all batches that wait.

    Parameters
    ----------
    compute
        Computes batches, at least one, on the GPU: a result for each, which does not depend on the
        other batches.
    turns
        Threads that compute at a time.
    """

    def __init__(
        self, compute: Callable[[Sequence[_Batch]], Sequence[_Result]], turns: int = 1
    ) -> None:
        self._compute = compute
        self._turns = turns  # that are free
        self._changed = Condition()
        self._waiting: list[_Job[_Batch, _Result]] = []

    def __call__(self, batch: _Batch) -> _Result:
        """Return the result of a batch.

        Raises
        ------
        HapgpuError
            As `compute`; only in the thread whose batch it is.
        """
        job: _Job[_Batch, _Result] = _Job(batch)
        with self._changed:
            self._waiting.append(job)
            self._changed.wait_for(
                lambda: job.results is not None or (self._turns and job in self._waiting)
            )
            jobs: list[_Job[_Batch, _Result]] = []
            if job.results is None:
                jobs, self._waiting = self._waiting, jobs
                self._turns -= 1
        if jobs:
            self._compute_all(jobs)
        return (job.results or self._compute([batch]))[0]

    def _compute_all(self, jobs: Sequence[_Job[_Batch, _Result]]) -> None:
        """Compute batches in a turn; after an error, each thread computes its own."""
        results: Sequence[_Result] = ()
        try:
            results = self._compute([job.batch for job in jobs])
        except HapgpuError:
            pass  # without the traceback, which holds arrays
        finally:
            with self._changed:
                for number, job in enumerate(jobs):
                    job.results = results[number : number + 1]
                self._turns += 1
                self._changed.notify_all()
