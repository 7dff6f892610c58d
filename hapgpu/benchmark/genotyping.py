"""How fast, and how well, sites are genotyped: what `hapgpu bench genotype` measures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.genotyping_files import (
    CONTIG,
    READ_MODEL,
    SimulatedFiles,
    simulated_files,
)
from hapgpu.genotyping.genotyper import GenotypeOptions, LikelihoodsOf
from hapgpu.genotyping.run import PAIR_HMM, write_genotypes
from hapgpu.genotyping.session import GenotypeInputs, GenotypeSession
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from hapgpu.io.vcf.records import open_vcf
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.statistics import RunStatistics

_FIRST_SITES: Final = 500
"""Genotyped before the time is taken: about a batch."""
_GPU_REPEATS: Final = 9
_COMMAND: Final = "hapgpu bench genotype"
_OPTIONS: Final = GenotypeOptions()


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the benchmark: a run from files to a VCF, in `seconds`.

    Attributes
    ----------
    device, data
        Where it was computed, and of what.
    sites, reads
        How many.
    cells
        Of the matrices of the pair-HMM, all pairs counted.
    seconds
        Of the whole run.
    genotype_error_rate
        Fraction of the genotypes that are not those of the sample, missing ones included.
    kernel_fraction
        Fraction of the run, 0 to 1, that the pair-HMM's kernels take: on a GPU by their rate when
        measured alone, on the CPU of the time of all threads.
    """

    device: str
    data: str
    sites: int
    reads: int
    cells: int
    seconds: float
    genotype_error_rate: float
    kernel_fraction: float

    @property
    def sites_per_second(self) -> float:
        """Sites of the whole run."""
        return self.sites / self.seconds

    @property
    def reads_per_second(self) -> float:
        """Reads of the whole run."""
        return self.reads / self.seconds

    @property
    def gcups(self) -> float:
        """Matrix cells per second of the whole run, in 1e9."""
        return self.cells / self.seconds / 1e9


def benchmark_genotype(device: Device, reference: Path, copies: int = 1) -> Iterator[Measurement]:
    """Measure the way from BAM, FASTA and VCF to the genotypes of a simulated sample.

    On the CPU with one thread and with all; on a GPU with all threads, too. The files lie in the
    folder for temporary ones while it is measured.

    Parameters
    ----------
    device
        Where to compute.
    reference
        FASTA; the sample is simulated for its longest stretch without N.
    copies
        How often this stretch and the sample's reads there are laid side by side.

    Raises
    ------
    InputError
        The reference cannot be read, or has too few bases in a row.
    UsageError
        So many copies are longer than what BAM can hold.
    """
    threads = device.threads if isinstance(device, CpuDevice) else usable_cpus()
    with leftovers.temporary_folder() as folder:
        files = simulated_files(Path(folder), reference, copies, threads)
        data = f"{reference.name} x{copies}, {READ_MODEL.depth:.0f}x"
        for run in _runs(files, device, threads):
            yield run.measured(data)


@dataclass(frozen=True, slots=True)
class _Run:
    """Genotyping of all sites on a device, with so many CPU threads."""

    files: SimulatedFiles
    device: Device
    threads: int

    def measured(self, data: str) -> Measurement:
        self._genotype(self._first_sites())  # compiles
        begin = time.perf_counter()
        statistics = self._genotype()
        seconds = time.perf_counter() - begin
        cells = statistics.counts["cells"]
        is_wrong = (_written_genotypes(self._output) != self.files.genotypes).any(axis=1)
        return Measurement(
            device=self.device.name,
            data=data,
            sites=self.files.starts.size,
            reads=self.files.read_count,
            cells=cells,
            seconds=seconds,
            genotype_error_rate=float(is_wrong.mean()),
            kernel_fraction=self._kernel_seconds(statistics) / seconds,
        )

    @property
    def _output(self) -> Path:
        return self.files.sites.with_name("genotypes.vcf.gz")

    def _first_sites(self) -> RegionChoice:
        last = int(self.files.starts[:_FIRST_SITES][-1])
        return RegionChoice((Region(CONTIG, 0, last + 1),))

    def _opened(self, regions: RegionChoice = EVERYTHING) -> GenotypeSession:
        files = self.files
        inputs = GenotypeInputs((str(files.reads),), files.reference, str(files.sites), regions)
        return GenotypeSession(inputs, _OPTIONS, self.threads)

    def _genotype(self, regions: RegionChoice = EVERYTHING) -> RunStatistics:
        statistics = RunStatistics("bench", (_COMMAND,), (self.device.name,), self.threads)
        with self._opened(regions) as session:
            write_genotypes(
                session,
                [self.device],
                str(self._output),
                statistics,
                threads=self.threads,
                command_line=_COMMAND,
            )
        return statistics

    def _kernel_seconds(self, statistics: RunStatistics) -> float:
        """Return the part of the wall time that the kernels take."""
        if isinstance(self.device, CpuDevice):
            return statistics.seconds[PAIR_HMM] / self.threads
        from hapgpu.pairhmm.forward.cuda import forward_seconds  # noqa: PLC0415  (imports CuPy)

        batch = self._hmm_batch()
        seconds = forward_seconds(batch, self.device, _GPU_REPEATS)
        return statistics.counts["cells"] * seconds / batch.cells

    def _hmm_batch(self) -> HmmBatch:
        """Return the largest batch that the pair-HMM is given for the first sites."""
        given: list[HmmBatch] = []

        def watched(_stage: str, likelihoods: LikelihoodsOf) -> LikelihoodsOf:
            def step(batch: HmmBatch) -> NDArray[np.float64]:
                given.append(batch)
                return likelihoods(batch)

            return step

        with self._opened(self._first_sites()) as session:
            genotyper = session.genotypers([self.device], watched)[0]
            for loci in session.batches():
                genotyper(loci)
        return max(given, key=lambda batch: batch.cells)


def _runs(files: SimulatedFiles, device: Device, threads: int) -> list[_Run]:
    """Return what is measured: of a CPU the run with one thread and, if it has more, with all."""
    if isinstance(device, CpuDevice):
        return [_Run(files, CpuDevice(count), count) for count in sorted({1, threads})]
    return [_Run(files, device, threads)]


def _written_genotypes(path: Path) -> NDArray[np.int8]:
    """int8[s, 2]: the alleles that a VCF of one sample tells for each record; -1 for none."""
    with open_vcf(path) as vcf:
        texts = [record.genotypes.split("\t")[1].partition(":")[0] for record in vcf.records()]
    alleles = [text.replace(".", "-1").split("/") for text in texts]
    return np.array(alleles, dtype=np.int8)
