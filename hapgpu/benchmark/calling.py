"""Benchmark of variant calling, its speed and its accuracy, for `hapgpu bench call`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hapgpu.benchmark.alleles import called_alleles, carried_alleles, missed_and_false
from hapgpu.benchmark.input_files import (
    CONTIG,
    READ_MODEL,
    SimulatedFiles,
    simulated_files,
)
from hapgpu.benchmark.measurement import Measurement, measuring, plan, thread_variants
from hapgpu.benchmark.whole_runs import WHOLE_RUN, Statistics, WholeRun
from hapgpu.calling.options import CallOptions
from hapgpu.calling.pipeline import PAIR_HMM, CallInputs, CallSession, write_calls
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.statistics import TOTAL, RunStatistics

_FIRST_BASES: Final = 100_000
"""Bases called before the measurement."""
_COMMAND: Final = "hapgpu bench call"
_OPTIONS: Final = CallOptions()


def benchmark_call(device: Device, reference: Path, copies: int = 1) -> Iterator[Measurement]:
    """Measure runs from BAM and FASTA to the variants of a simulated sample, and their stages.

    On the CPU with one thread and with all threads; on a GPU with all CPU threads. The files are
    in a temporary directory during the measurement.

    Parameters
    ----------
    device
        The device.
    reference
        FASTA; the sample is simulated for its longest run of bases without N.
    copies
        How many copies of this run of bases, and of its reads, make up the data.

    Raises
    ------
    InputError
        The reference cannot be read, or its longest run of bases without N is too short.
    UsageError
        The copies are longer than a BAM file can hold.
    """
    threads = device.threads if isinstance(device, CpuDevice) else usable_cpus()
    with leftovers.temporary_directory() as directory:
        measuring("simulating a sample")
        files = simulated_files(Path(directory), reference, copies, threads)
        data = f"{reference.name} x{copies}, {READ_MODEL.depth:.0f}x"
        runs = [
            CallRun(files, each, each.threads if isinstance(each, CpuDevice) else threads)
            for each in thread_variants(device)
        ]
        plan(len(runs))
        for run in runs:
            measuring(run.device.name)
            yield from run.measured(data)


@dataclass(frozen=True, slots=True)
class CallRun:
    """Calling of a simulated sample on a device, with `threads` CPU threads."""

    files: SimulatedFiles
    device: Device
    threads: int

    def measured(self, data: str) -> Iterator[Measurement]:
        """Yield the measurement of a whole run, then its stages."""
        self._call(RegionChoice((Region(CONTIG, 0, _FIRST_BASES),)))  # compiles
        statistics = self._call()
        whole = WholeRun.of(statistics)
        recall, precision = self._accuracy()
        counts, seconds = whole.counts, dict(statistics["seconds"])
        del seconds[TOTAL]
        plan(len(seconds))
        line = Measurement(
            device=self.device.name,
            task=WHOLE_RUN,
            data=data,
            unit="bases",
            numbers={
                "bases": counts["bases"],
                "reads": self.files.read_count,
                "active_regions": counts["active_regions"],
                "cells": counts["cells"],
                "fraction": None,
                "recall": recall,
                "precision": precision,
            },
            seconds=whole.seconds,
        )
        yield line.of_run(whole)
        for stage, spent in seconds.items():
            numbers = {
                **line.numbers,
                "cells": counts["cells"] if stage == PAIR_HMM else None,
                "fraction": spent / sum(seconds.values()),
                "recall": None,
                "precision": None,
            }
            yield replace(line, task=stage, numbers=numbers, seconds=spent, of_a_thread=True)

    @property
    def _output(self) -> Path:
        return self.files.sites.with_name("calls.vcf.gz")

    def _call(self, regions: RegionChoice = EVERYTHING) -> Statistics:
        """Return the statistics of a run, as `--json` writes them."""
        files = self.files
        statistics = RunStatistics("bench", (_COMMAND,), (self.device.name,), self.threads)
        inputs = CallInputs((str(files.reads),), files.reference, regions)
        with CallSession(inputs, _OPTIONS, [self.device], self.threads) as session:
            write_calls(
                session,
                str(self._output),
                statistics,
                threads=self.threads,
                command_line=_COMMAND,
            )
        return statistics.as_dict()

    def _accuracy(self) -> tuple[float, float]:
        """Return recall and precision of the alleles; 1 without alleles."""
        bases = read_fasta(self.files.reference).sequences.data.tobytes().decode()
        truth = carried_alleles(self.files.sites, bases, self.files.genotypes)
        called = called_alleles(self._output, bases)
        missed, false = missed_and_false(truth, called, bases)
        recall = 1 - len(missed) / max(len(truth), 1)
        return recall, 1 - len(false) / max(len(called), 1)
