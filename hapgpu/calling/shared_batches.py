"""Batches of several threads, computed together on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from hapgpu.errors import HapgpuError

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


class _Job(Generic[_Batch, _Result]):
    """Batch of a thread, and its result once it is computed."""

    def __init__(self, batch: _Batch) -> None:
        self.batch = batch
        self.results: Sequence[_Result] = ()


class SharedBatches(Generic[_Batch, _Result]):
    """Function that computes the batches of several threads together.

    The batch of one segment does not fill a GPU, and to launch it takes as much Python as to launch
    many. So the thread whose turn it is computes all batches that wait.

    Parameters
    ----------
    compute
        Computes batches, at least one, on the GPU: a result for each, which does not depend on the
        other batches.
    """

    def __init__(self, compute: Callable[[Sequence[_Batch]], Sequence[_Result]]) -> None:
        self._compute = compute
        self._turn = Lock()
        self._lock = Lock()
        self._waiting: list[_Job[_Batch, _Result]] = []

    def __call__(self, batch: _Batch) -> _Result:
        """Return the result of a batch.

        Raises
        ------
        HapgpuError
            As `compute`; only in the thread whose batch it is.
        """
        job: _Job[_Batch, _Result] = _Job(batch)
        with self._lock:
            self._waiting.append(job)
        with self._turn:
            if not job.results:
                self._compute_all(job)
        results = job.results or self._compute([batch])
        return results[0]

    def _compute_all(self, own: _Job[_Batch, _Result]) -> None:
        """Compute all batches that wait; after an error, each thread computes its own."""
        with self._lock:
            jobs, self._waiting = self._waiting, []
        try:
            results = self._compute([job.batch for job in jobs])
        except HapgpuError:
            with self._lock:
                self._waiting = [job for job in jobs if job is not own] + self._waiting
            return
        for number, job in enumerate(jobs):
            job.results = results[number : number + 1]
