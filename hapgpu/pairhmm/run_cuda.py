"""`hapgpu pairhmm` on GPUs: records are decoded, compared and written in GPU memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, Self, cast

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtender
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DeviceReads
from hapgpu.io.bam.cuda.record_worker import RecordWorker
from hapgpu.io.files.text_output import WriteText, open_text
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.pairhmm.reads.scorer import ScorerOptions, extender_of
from hapgpu.pairhmm.reads.scorer_cuda import DeviceHaplotypes, DeviceScorer
from hapgpu.pairhmm.reads.tables import Table
from hapgpu.pairhmm.reads.tables_cuda import DeviceTable, DeviceText
from hapgpu.pairhmm.resources import LikelihoodRun
from hapgpu.runtime.devices import CudaDevice, side_by_side
from hapgpu.runtime.gpu.context import device_errors, retried, thread_streams
from hapgpu.runtime.statistics import RunStatistics

_PART_BYTES: Final = 15 << 20
"""Bytes of a table that are copied to host memory at a time, within 16 MiB of pinned memory."""
_MAX_TEXT_BYTES: Final = 64 << 20
"""Bytes of the lines of a piece; the parts of longer ones are copied as they are written."""
_WORKERS_PER_GPU: Final = 2  # more are slower: they wait for each other in Python


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of some reads, and counts of these reads.

    Attributes
    ----------
    texts
        The lines, in parts: uint8 in host memory. The parts of a long text are made as they are
        iterated over, so that they are not in memory together.
    counts
        Numbers by name.
    """

    texts: Sequence[Iterable[NDArray[np.uint8]]]
    counts: Mapping[str, int]

    @classmethod
    def joined(cls, results: Sequence[Self]) -> Self:
        """Join the results of consecutive records."""
        counts: Counter[str] = Counter()
        for result in results:
            counts.update(result.counts)
        return cls([text for result in results for text in result.texts], counts)


class _LineMaker:
    """Computes the likelihoods of records and writes their lines, on the current GPU."""

    def __init__(self, scorer: DeviceScorer, table: DeviceTable, device: CudaDevice) -> None:
        self._scorer = scorer
        self._table = table
        self._device = device

    def __call__(self, records: DeviceRecords) -> _Lines:
        return _Lines.joined(
            [
                _Lines([self._parts(self._table.text(likelihoods))], counts)
                for likelihoods, counts in self._scorer(records)
            ]
        )

    def _parts(self, text: DeviceText) -> Iterable[NDArray[np.uint8]]:
        if text.size > _MAX_TEXT_BYTES:
            return self._later(text)
        return list(text.parts(_PART_BYTES))

    def _later(self, text: DeviceText) -> Iterator[NDArray[np.uint8]]:
        """Yield the parts of a text in another thread."""
        index = self._device.index
        stream = thread_streams(index, 1, urgent=True)[0]
        parts = text.parts(_PART_BYTES)
        while True:
            with device_errors(self._device), cupy.cuda.Device(index), stream:
                part = next(parts, None)
            if part is None:
                return
            yield part


def score_records(
    run: LikelihoodRun,
    reads: DeviceReads,
    haplotypes: HaplotypeSet,
    options: ScorerOptions,
    *,
    table: Table,
    source: str,
    reference: Path | None,
) -> None:
    """Write the likelihoods of all reads as a table.

    Parameters
    ----------
    run
        Resources of the run, on GPUs.
    reads
        The reads.
    haplotypes, options, reference
        As for `Scorer`.
    table
        Format of the table.
    source
        Name of the reads, for errors.

    Raises
    ------
    InputError, OutputError, DeviceError
        The input is damaged, the output cannot be written, or a GPU fails.
    """
    by_locus = LocusHaplotypes.of(haplotypes)
    finder = PairFinder(haplotypes, reads.header, source)

    def workers_of(device: CudaDevice) -> list[RecordWorker[_Lines]]:
        with cupy.cuda.Device(device.index), device_errors(device):
            on_gpu = retried(lambda: DeviceHaplotypes.upload(by_locus, finder))
            device_table = DeviceTable(table)

        def prepare(device: CudaDevice) -> _LineMaker:
            host_extender = extender_of(haplotypes, reads.header, options, reference)
            extender = DeviceExtender(host_extender, haplotypes) if host_extender else None
            scorer = DeviceScorer(on_gpu, extender, options, device, source)
            return _LineMaker(scorer, device_table, device)

        return [
            RecordWorker(reads, device, prepare, _Lines.joined) for _ in range(_WORKERS_PER_GPU)
        ]

    devices = cast("list[CudaDevice]", run.devices)
    workers = list(chain.from_iterable(side_by_side(workers_of, devices)))
    with open_text(run.output, run.threads, copying_threads=run.threads) as write:
        write(memoryview(table.header))
        sink = _LineSink(write, run.statistics)
        run.pipe(reads.pieces(), workers, sink, source_name=source)


@dataclass(frozen=True, slots=True)
class _LineSink:
    """Sink that writes the lines of reads, and counts the reads."""

    write: WriteText
    statistics: RunStatistics

    def __call__(self, lines: _Lines) -> int:
        for text in lines.texts:
            for part in text:
                self.write(part.data)
        for name, count in lines.counts.items():
            self.statistics.count(name, count)
        return lines.counts["reads"]
