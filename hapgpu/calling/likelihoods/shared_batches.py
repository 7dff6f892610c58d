"""Pair-HMM of several threads on one GPU, in common batches."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.errors import HapgpuError
from hapgpu.pairhmm.batches import HmmBatch

LikelihoodsOf = Callable[[HmmBatch], NDArray[np.float64]]
"""`hapgpu.pairhmm.forward.dispatch.log10_likelihoods` on a device."""


class _Job:
    """Batch of a thread, and its likelihoods once they are computed."""

    def __init__(self, batch: HmmBatch) -> None:
        self.batch = batch
        self.likelihoods: NDArray[np.float64] | None = None


class SharedBatches:
    """Pair-HMM that computes the batches of several threads together.

    The batch of one segment does not fill a GPU, and to launch it takes as much Python as to launch
    many. So the thread whose turn it is computes all batches that wait.

    Parameters
    ----------
    likelihoods
        The pair-HMM on the GPU; the likelihoods of a batch do not depend on other batches.
    """

    def __init__(self, likelihoods: LikelihoodsOf) -> None:
        self._likelihoods = likelihoods
        self._turn = Lock()
        self._lock = Lock()
        self._waiting: list[_Job] = []

    def __call__(self, batch: HmmBatch) -> NDArray[np.float64]:
        """Return the likelihoods of a batch, as the pair-HMM does.

        Raises
        ------
        HapgpuError
            As the pair-HMM; only in the thread whose batch it is.
        """
        job = _Job(batch)
        with self._lock:
            self._waiting.append(job)
        with self._turn:
            if job.likelihoods is None:
                self._compute_all(job)
        return self._likelihoods(batch) if job.likelihoods is None else job.likelihoods

    def _compute_all(self, own: _Job) -> None:
        """Compute all batches that wait; after an error, each thread computes its own."""
        with self._lock:
            jobs, self._waiting = self._waiting, []
        try:
            values = self._likelihoods(HmmBatch.concatenate([job.batch for job in jobs]))
        except HapgpuError:
            with self._lock:
                self._waiting = [job for job in jobs if job is not own] + self._waiting
            return
        ends = offsets_of([job.batch.pairs for job in jobs])
        for job, start, end in zip(jobs, ends[:-1], ends[1:], strict=True):
            job.likelihoods = values[start:end]
