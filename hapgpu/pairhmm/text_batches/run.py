"""The run of `hapgpu pairhmm` on text batches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.files.text_output import WriteText, open_text
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.resources import LikelihoodRun
from hapgpu.pairhmm.text_batches.reader import no_text_batches, read_hmm_batches
from hapgpu.pairhmm.text_batches.tables import LIKELIHOOD_HEADER, ScoredText, scored_text
from hapgpu.runtime.devices import CpuDevice, CudaDevice, worker_devices
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.statistics import RunStatistics


def score_batches(run: LikelihoodRun, path: str, max_record: int, *, as_matrix: bool) -> None:
    """Compute the likelihoods of text batches and write a table.

    Raises
    ------
    InputError, OutputError, DeviceError
        The input is damaged or empty, the output cannot be written, or a GPU fails.
    """
    threads = min(run.threads, MAX_IO_THREADS)
    with open_text(run.output, threads, copying_threads=threads) as write:
        if not as_matrix:
            write(memoryview(LIKELIHOOD_HEADER))
        sink = _Sink(write, run.statistics)
        if isinstance(run.devices[0], CpuDevice):
            _score_on_cpu(run, path, max_record, sink, as_matrix=as_matrix)
        else:
            _score_on_gpus(run, path, max_record, sink, as_matrix=as_matrix)
        if not sink.text_batches:
            raise no_text_batches(path)


class _Sink:
    """Sink that writes the text of likelihoods, and counts them.

    Attributes
    ----------
    text_batches
        The number of text batches so far.
    """

    def __init__(self, write: WriteText, statistics: RunStatistics) -> None:
        self._write = write
        self._statistics = statistics
        self.text_batches = 0

    def __call__(self, scored: ScoredText) -> int:
        self._write(scored.text.data)
        for name, count in scored.counts.items():
            self._statistics.count(name, count)
        self.text_batches += scored.counts["batches"]
        return scored.counts["reads"]


def _score_on_cpu(
    run: LikelihoodRun, path: str, max_record: int, sink: _Sink, *, as_matrix: bool
) -> None:
    def score(batch: HmmBatch) -> tuple[HmmBatch, NDArray[np.float64]]:
        return batch, log10_likelihoods(batch, run.devices[0])

    def write(scored: tuple[HmmBatch, NDArray[np.float64]]) -> int:
        return sink(scored_text(sink.text_batches, *scored, as_matrix=as_matrix))

    batches = read_hmm_batches(path, max_record=max_record)
    run.pipe(batches, [score], write, source_name=path, threaded=run.threads > 1)


def _score_on_gpus(
    run: LikelihoodRun, path: str, max_record: int, sink: _Sink, *, as_matrix: bool
) -> None:
    from hapgpu.pairhmm.text_batches.run_cuda import TextBatchScorer  # noqa: PLC0415  (CuPy is optional)

    scorer = TextBatchScorer(path, max_record, as_matrix=as_matrix)
    devices = cast("Sequence[CudaDevice]", worker_devices(run.devices))
    workers = [partial(scorer.score, device) for device in devices]
    pieces = scorer.pieces(min(run.threads, MAX_IO_THREADS))
    run.pipe(pieces, workers, sink, source_name=path)
