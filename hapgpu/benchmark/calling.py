"""Benchmark of variant calling: speed, and called alleles compared with those of the sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.input_files import (
    CONTIG,
    SimulatedFiles,
    name_of_sample,
    simulated_files,
)
from hapgpu.benchmark.measurement import Measurement, measuring, plan, thread_variants
from hapgpu.benchmark.tiled_reads import ChosenReads, TiledFiles, name_of_tiles, tiled_files
from hapgpu.benchmark.whole_runs import WHOLE_RUN, CommandRun, Statistics, WholeRun
from hapgpu.calling.options import CallOptions
from hapgpu.calling.pipeline import write_calls
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.calling.worker import PAIR_HMM
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import open_vcf
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.statistics import TOTAL, RunStatistics

Allele: TypeAlias = tuple[int, str, str]
"""0-based position, REF and ALT: single bases, or an indel with the base before it."""

_BETWEEN_ALLELES: Final = re.compile(r"[/|]")
_SPANNING: Final = "*"
_NEAR: Final = 10
"""Bases between neighbours, at most."""

_FIRST_BASES: Final = 100_000
"""Bases called before the measurement."""
_COMMAND: Final = "hapgpu bench call"
_OPTIONS: Final = CallOptions()
_OF_WHOLE_RUNS: Final = ("haplotypes", "host_regions", "kernel_fraction", "recall", "precision")
"""Numbers that a stage does not have."""


def called_alleles(path: Path, reference: str) -> set[Allele]:
    """Return the ALT alleles of the genotypes of a VCF with one contig and one sample."""
    found: set[Allele] = set()
    with open_vcf(path) as vcf:
        for record in vcf.records():
            genotype = record.genotypes.split("\t")[1].partition(":")[0]
            numbers = {int(text) for text in _BETWEEN_ALLELES.split(genotype) if text != "."}
            found.update(_alleles_of(record, numbers, reference))
    return found


def carried_alleles(path: Path, reference: str, genotypes: NDArray[np.int8]) -> set[Allele]:
    """Return the ALT alleles of a sample at the sites of a VCF with one contig.

    Parameters
    ----------
    path
        The VCF, s records.
    reference
        Bases of the contig.
    genotypes
        int8[s, 2]: allele numbers of the sample.
    """
    found: set[Allele] = set()
    with open_vcf(path) as vcf:
        for record, numbers in zip(vcf.records(), genotypes.tolist(), strict=True):
            found.update(_alleles_of(record, set(numbers), reference))
    return found


def _alleles_of(record: VcfRecord, numbers: set[int], reference: str) -> Iterator[Allele]:
    for number in numbers - {0}:
        alternative = record.alternatives[number - 1]
        if alternative != _SPANNING:
            yield from simple_alleles(record.start, record.reference, alternative, reference)


def simple_alleles(start: int, ref: str, alt: str, reference: str) -> Iterator[Allele]:
    """Yield the bases in which alleles of equal length differ; otherwise the indel, left-aligned.

    Parameters
    ----------
    start
        0-based position of REF.
    ref, alt
        The alleles.
    reference
        Bases of the contig.
    """
    if len(ref) == len(alt):
        for offset, (old, new) in enumerate(zip(ref, alt, strict=True)):
            if old != new:
                yield start + offset, old, new
        return
    while ref[-1] == alt[-1] and start:
        ref, alt = ref[:-1], alt[:-1]
        if not (ref and alt):
            start -= 1
            ref, alt = reference[start] + ref, reference[start] + alt
    common = 0
    while common < min(len(ref), len(alt)) - 1 and ref[common] == alt[common]:
        common += 1
    yield start + common, ref[common:], alt[common:]


def missed_and_false(
    truth: set[Allele], called: set[Allele], reference: str
) -> tuple[set[Allele], set[Allele]]:
    """Return the true alleles that are not called, and the called alleles that are not true.

    Neighbours are the same in any notation: an aligner may write several mismatches side by side
    as an insertion and a deletion.

    Parameters
    ----------
    truth, called
        The alleles.
    reference
        Bases of the contig.
    """
    missed: set[Allele] = set()
    false: set[Allele] = set()
    for cluster in _clusters(truth | called):
        true, found = truth.intersection(cluster), called.intersection(cluster)
        if true != found:
            text = _applied(true, cluster, reference)
            if text is None or text != _applied(found, cluster, reference):
                missed |= true - found
                false |= found - true
    return missed, false


def _clusters(alleles: set[Allele]) -> Iterator[list[Allele]]:
    """Yield alleles that are near each other, in order."""
    cluster: list[Allele] = []
    end = 0
    for allele in sorted(alleles):
        if cluster and allele[0] > end + _NEAR:
            yield cluster
            cluster = []
        cluster.append(allele)
        end = max(end, allele[0] + len(allele[1]))
    if cluster:
        yield cluster


def _applied(alleles: set[Allele], cluster: list[Allele], reference: str) -> str | None:
    """Return the bases from the start to the end of a cluster; None if alleles overlap."""
    at, text = cluster[0][0], ""
    for start, ref, alt in sorted(map(_without_base_before, alleles)):
        if start < at:
            return None
        text += reference[at:start] + alt
        at = start + len(ref)
    return text + reference[at : max(start + len(ref) for start, ref, _ in cluster)]


def _without_base_before(allele: Allele) -> Allele:
    start, ref, alt = allele
    return allele if len(ref) == len(alt) else (start + 1, ref[1:], alt[1:])


def benchmark_call(
    device: Device, reference: Path, copies: int = 1, chosen: ChosenReads | None = None
) -> Iterator[Measurement]:
    """Measure runs from BAM and FASTA to variants, and their stages.

    On the CPU with one thread and with all threads; on a GPU with all CPU threads. The files are
    in a temporary directory during the measurement.

    Parameters
    ----------
    device
        The device.
    reference
        FASTA; without `chosen`, a sample is simulated for its longest run of bases without N.
    copies
        How many copies of these bases, and of their reads, make up the data.
    chosen
        Reads of a file, instead of a simulated sample.

    Raises
    ------
    InputError
        As `simulated_files` and `tiled_files`.
    UsageError
        As `simulated_files` and `tiled_files`.
    """
    threads = device.threads if isinstance(device, CpuDevice) else usable_cpus()
    with leftovers.temporary_directory() as directory:
        measuring("preparing the data")
        data = _data(Path(directory), reference, copies, chosen, threads)
        runs = [
            CallRun(data, each, each.threads if isinstance(each, CpuDevice) else threads)
            for each in thread_variants(device)
        ]
        plan(len(runs))
        for run in runs:
            measuring(run.device.name)
            yield from run.measured()


def call_run(
    directory: Path,
    reference: Path,
    copies: int,
    threads: int,
    chosen: ChosenReads | None = None,
) -> CommandRun:
    """Prepare the data, as `benchmark_call` does; return `hapgpu call` of its files."""
    data = _data(directory, reference, copies, chosen, threads)
    return CommandRun(
        data=data.name,
        unit="bases",
        command="call",
        arguments=(data.files.reads, data.files.reference, "-o", directory / "calls.vcf.gz"),
    )


class CallData(NamedTuple):
    """Files to call, and the name of the data."""

    name: str
    files: SimulatedFiles | TiledFiles


def _data(
    directory: Path, reference: Path, copies: int, chosen: ChosenReads | None, threads: int
) -> CallData:
    if chosen is None:
        simulated = simulated_files(directory, reference, copies, threads)
        return CallData(name_of_sample(reference, copies), simulated)
    tiled = tiled_files(directory, chosen, reference, copies, threads)
    return CallData(name_of_tiles(chosen, copies), tiled)


@dataclass(frozen=True, slots=True)
class CallRun:
    """Calling of prepared data on a device, with `threads` CPU threads."""

    data: CallData
    device: Device
    threads: int

    def measured(self) -> Iterator[Measurement]:
        """Yield the measurement of a whole run, then its stages."""
        self._call(RegionChoice((Region(CONTIG, 0, _FIRST_BASES),)))  # compiles
        statistics, kernel_seconds = self._timed_call()
        whole = WholeRun.of(statistics)
        seconds = {k: v for k, v in statistics["seconds"].items() if k != TOTAL}
        plan(len(seconds))
        line = Measurement(
            device=self.device.name,
            task=WHOLE_RUN,
            data=self.data.name,
            unit="bases",
            numbers=self._numbers(whole, kernel_seconds),
            seconds=whole.seconds,
        )
        yield line.of_run(whole)
        for stage, spent in seconds.items():
            numbers = {
                **line.numbers,
                **dict.fromkeys(_OF_WHOLE_RUNS),
                "cells": line.numbers["cells"] if stage == PAIR_HMM else None,
                "fraction": spent / sum(seconds.values()),
            }
            yield replace(line, task=stage, numbers=numbers, seconds=spent, of_a_thread=True)

    def _timed_call(self) -> tuple[Statistics, float | None]:
        """Return the statistics of a run, and the seconds in which kernels ran on the GPU."""
        if isinstance(self.device, CpuDevice):
            return self._call(), None
        from hapgpu.benchmark.cuda.kernel_clock import KernelClock  # noqa: PLC0415 (imports CuPy)

        clock = KernelClock(self.device)
        with clock.running():
            statistics = self._call()
        return statistics, clock.seconds()

    def _numbers(self, whole: WholeRun, kernel_seconds: float | None) -> dict[str, float | None]:
        """Return the numbers of a whole run."""
        counts = whole.counts
        host_regions, kernel_fraction = None, None
        if kernel_seconds is not None:
            host_regions = counts.get("host_regions", 0)
            kernel_fraction = kernel_seconds / whole.seconds
        recall, precision = self._accuracy()
        return {
            "bases": counts["bases"],
            "reads": self.data.files.read_count,
            "active_regions": counts["active_regions"],
            "haplotypes": counts["haplotypes"],
            "cells": counts["cells"],
            "host_regions": host_regions,
            "fraction": None,
            "kernel_fraction": kernel_fraction,
            "recall": recall,
            "precision": precision,
        }

    @property
    def _output(self) -> Path:
        return self.data.files.reads.with_name("calls.vcf.gz")

    def _call(self, regions: RegionChoice = EVERYTHING) -> Statistics:
        """Return the statistics of a run, as `--json` writes them."""
        files = self.data.files
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

    def _accuracy(self) -> tuple[float | None, float | None]:
        """Return recall and precision of the alleles, 1 without alleles; None if not simulated."""
        files = self.data.files
        if not isinstance(files, SimulatedFiles):
            return None, None
        bases = read_fasta(files.reference).sequences.data.tobytes().decode()
        truth = carried_alleles(files.sites, bases, files.genotypes)
        called = called_alleles(self._output, bases)
        missed, false = missed_and_false(truth, called, bases)
        recall = 1 - len(missed) / max(len(truth), 1)
        return recall, 1 - len(false) / max(len(called), 1)
