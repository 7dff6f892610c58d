"""Benchmark of genotyping, its speed and its accuracy, for `hapgpu bench genotype`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.input_files import (
    CONTIG,
    SimulatedFiles,
    name_of_sample,
    simulated_files,
)
from hapgpu.benchmark.measurement import (
    GPU_REPEATS,
    Measurement,
    measuring,
    plan,
    thread_variants,
    timed,
)
from hapgpu.benchmark.whole_runs import WHOLE_RUN, CommandRun, WholeRun
from hapgpu.genotyping.options import GenotypeOptions
from hapgpu.genotyping.pipeline import PAIR_HMM, GenotypeInputs, GenotypeSession, write_genotypes
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from hapgpu.io.vcf.source import open_vcf
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.statistics import RunStatistics

_FIRST_SITES: Final = 500
"""Sites genotyped before the measurement: about one batch."""
_COMMAND: Final = "hapgpu bench genotype"
_OPTIONS: Final = GenotypeOptions()


def benchmark_genotype(device: Device, reference: Path, copies: int = 1) -> Iterator[Measurement]:
    """Measure runs from BAM, FASTA and VCF to the genotypes of a simulated sample.

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
        data = name_of_sample(reference, copies)
        runs = [
            _Run(files, each, each.threads if isinstance(each, CpuDevice) else threads)
            for each in thread_variants(device)
        ]
        plan(len(runs))
        for run in runs:
            measuring(run.device.name)
            yield run.measured(data)


def genotype_run(directory: Path, reference: Path, copies: int, threads: int) -> CommandRun:
    """Simulate a sample, as `benchmark_genotype` does; return `hapgpu genotype` of its files."""
    files = simulated_files(directory, reference, copies, threads)
    output = directory / "genotypes.vcf.gz"
    return CommandRun(
        data=name_of_sample(reference, copies),
        unit="sites",
        command="genotype",
        arguments=(files.reads, files.reference, files.sites, "-o", output),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """Genotyping of all sites on a device, with `threads` CPU threads."""

    files: SimulatedFiles
    device: Device
    threads: int

    def measured(self, data: str) -> Measurement:
        self._genotype(self._first_sites())  # compiles
        statistics, seconds = timed(self._genotype, 1)
        whole = WholeRun.of(statistics.as_dict())
        is_wrong = (_written_genotypes(self._output) != self.files.genotypes).any(axis=1)
        return Measurement(
            device=self.device.name,
            task=WHOLE_RUN,
            data=data,
            unit="sites",
            numbers={
                "sites": self.files.starts.size,
                "reads": self.files.read_count,
                "cells": statistics.counts["cells"],
                "genotype_error_rate": float(is_wrong.mean()),
                "kernel_fraction": self._kernel_seconds(statistics) / seconds,
            },
            seconds=seconds,
            bound=whole.bound,
            busy=whole.busy,
        )

    @property
    def _output(self) -> Path:
        return self.files.sites.with_name("genotypes.vcf.gz")

    def _first_sites(self) -> RegionChoice:
        last = int(self.files.starts[:_FIRST_SITES][-1])
        return RegionChoice((Region(CONTIG, 0, last + 1),))

    def _open_session(self, regions: RegionChoice, device: Device) -> GenotypeSession:
        files = self.files
        inputs = GenotypeInputs((str(files.reads),), files.reference, str(files.sites), regions)
        return GenotypeSession(inputs, _OPTIONS, [device], self.threads)

    def _genotype(self, regions: RegionChoice = EVERYTHING) -> RunStatistics:
        statistics = RunStatistics("bench", (_COMMAND,), (self.device.name,), self.threads)
        with self._open_session(regions, self.device) as session:
            write_genotypes(
                session,
                str(self._output),
                statistics,
                threads=self.threads,
                command_line=_COMMAND,
            )
        return statistics

    def _kernel_seconds(self, statistics: RunStatistics) -> float:
        """Return the wall time of the kernels."""
        if isinstance(self.device, CpuDevice):
            return statistics.seconds[PAIR_HMM] / self.threads
        from hapgpu.pairhmm.forward.cuda import forward_seconds  # noqa: PLC0415  (imports CuPy)

        batch = self._hmm_batch()
        seconds = forward_seconds(batch, self.device, GPU_REPEATS)
        return statistics.counts["cells"] * seconds / batch.cells

    def _hmm_batch(self) -> HmmBatch:
        """Return the largest pair-HMM batch of the first sites."""
        batches: list[HmmBatch] = []

        def recorded(_stage: str, likelihoods: Callable[..., Any]) -> Callable[..., Any]:
            def step(batch: HmmBatch) -> Any:
                batches.append(batch)
                return likelihoods(batch)

            return step

        # On the CPU, where the batch is in host memory.
        with self._open_session(self._first_sites(), CpuDevice(1)) as session:
            genotyper = session.genotypers(recorded)[0]
            for group in session.groups():
                for loci in group:
                    deque(genotyper(loci), maxlen=0)
        return max(batches, key=lambda batch: batch.cells)


def _written_genotypes(path: Path) -> NDArray[np.int8]:
    """Return int8[s, 2]: the alleles of each record of a VCF with one sample; -1 if missing."""
    with open_vcf(path) as vcf:
        texts = [record.genotypes.split("\t")[1].partition(":")[0] for record in vcf.records()]
    alleles = [text.replace(".", "-1").split("/") for text in texts]
    return np.array(alleles, dtype=np.int8)
