"""The run of `hapgpu pairhmm` on text batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.files.output import OutputFile
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.resources import LikelihoodRun
from hapgpu.pairhmm.text_batches.reader import read_hmm_batches
from hapgpu.pairhmm.text_batches.tables import (
    LIKELIHOOD_HEADER,
    likelihood_matrix,
    likelihood_table,
)
from hapgpu.runtime.devices import Device, worker_devices
from hapgpu.runtime.statistics import RunStatistics


@dataclass(frozen=True, slots=True)
class _BatchScorer:
    """Worker that computes the likelihoods of text batches on one device."""

    device: Device

    def __call__(self, batch: HmmBatch) -> tuple[HmmBatch, NDArray[np.float64]]:
        return batch, log10_likelihoods(batch, self.device)


@dataclass(slots=True)
class _BatchSink:
    """Sink that writes the likelihoods of text batches, numbered from 0, and counts them."""

    output: OutputFile
    as_matrix: bool
    statistics: RunStatistics
    text_batches: int = 0

    def __call__(self, scored: tuple[HmmBatch, NDArray[np.float64]]) -> int:
        batch, likelihoods = scored
        if self.as_matrix:
            text = likelihood_matrix(batch, likelihoods)
        else:
            text = likelihood_table(self.text_batches, batch, likelihoods)
        self.output.write(text.data)
        self.text_batches += len(batch)
        self.statistics.count("batches", len(batch))
        self.statistics.count("reads", len(batch.reads))
        self.statistics.count("likelihoods", batch.pairs)
        self.statistics.count("cells", batch.cells)
        return len(batch.reads)


def score_batches(run: LikelihoodRun, path: str, max_record: int, *, as_matrix: bool) -> None:
    """Compute the likelihoods of text batches and write a table."""
    with OutputFile(run.output) as output:
        if not as_matrix:
            output.write(LIKELIHOOD_HEADER)
        scorers = [_BatchScorer(device) for device in worker_devices(run.devices)]
        batches = read_hmm_batches(path, max_record=max_record)
        run.pipe(batches, scorers, _BatchSink(output, as_matrix, run.statistics))
