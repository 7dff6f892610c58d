"""Benchmark of variant calling, its speed and its accuracy, for `hapgpu bench call`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hapgpu.benchmark.calling.alleles import called_alleles, carried_alleles, missed_and_false
from hapgpu.benchmark.current import measuring, plan
from hapgpu.benchmark.genotyping_files import (
    CONTIG,
    READ_MODEL,
    SimulatedFiles,
    simulated_files,
)
from hapgpu.benchmark.measurement import thread_variants
from hapgpu.benchmark.whole_runs import WHOLE_RUN, WholeRun
from hapgpu.calling.caller import PAIR_HMM
from hapgpu.calling.options import CallOptions
from hapgpu.calling.run import write_calls
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.io.genome.regions import EVERYTHING, Region, RegionChoice
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device, usable_cpus
from hapgpu.runtime.statistics import TOTAL, RunStatistics

_FIRST_BASES: Final = 100_000
"""Bases called before the measurement."""
_COMMAND: Final = "hapgpu bench call"
_OPTIONS: Final = CallOptions()


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the benchmark: a run from files to a VCF, or a stage of the run before it.

    Attributes
    ----------
    device, task, data
        Names of the device, of the whole run or the stage, and of the data.
    bases, reads, active_regions
        Numbers of bases, reads and active regions.
    seconds
        Time of the whole run; of a stage, summed over its threads.
    cells
        Matrix cells of the pair-HMM, over all pairs; None for other stages.
    fraction
        Of a stage: its fraction, 0 to 1, of the time of all stages; else None.
    recall, precision
        Of a whole run, 0 to 1: the fraction of the alleles of the sample that are called, and of
        the called alleles that the sample has. Else None.
    bound, busy
        Of a whole run, those of `WholeRun`; else None.
    """

    device: str
    task: str
    data: str
    bases: int
    reads: int
    active_regions: int
    seconds: float
    cells: int | None = None
    fraction: float | None = None
    recall: float | None = None
    precision: float | None = None
    bound: str | None = None
    busy: float | None = None

    @property
    def is_whole_run(self) -> bool:
        """Whether this is a whole run, not a stage."""
        return self.task == WHOLE_RUN

    @property
    def bases_per_second(self) -> float:
        """Bases per second; of a stage, per second of a thread."""
        return self.bases / self.seconds

    @property
    def reads_per_second(self) -> float:
        """Reads per second; of a stage, per second of a thread."""
        return self.reads / self.seconds

    @property
    def gcups(self) -> float | None:
        """Matrix cells per second, in 1e9; of the stage, per second of a thread."""
        return None if self.cells is None else self.cells / self.seconds / 1e9


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
            bases=counts["bases"],
            reads=self.files.read_count,
            active_regions=counts["active_regions"],
            cells=counts["cells"],
            seconds=whole.seconds,
        )
        yield replace(line, recall=recall, precision=precision, bound=whole.bound, busy=whole.busy)
        for stage, spent in seconds.items():
            yield replace(
                line,
                task=stage,
                cells=line.cells if stage == PAIR_HMM else None,
                seconds=spent,
                fraction=spent / sum(seconds.values()),
            )

    @property
    def _output(self) -> Path:
        return self.files.sites.with_name("calls.vcf.gz")

    def _call(self, regions: RegionChoice = EVERYTHING) -> Mapping[str, Any]:
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
