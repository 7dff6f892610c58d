"""The run of `hapgpu genotype`, on the CPU or GPUs: reads at the sites of a VCF to genotypes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from hapgpu.genotyping.calls.vcf_lines import call_lines
from hapgpu.genotyping.cpu import host_genotyper
from hapgpu.genotyping.deep_loci import DeepLoci
from hapgpu.genotyping.genotyper import MARGIN, AnyGenotyper
from hapgpu.genotyping.options import GenotypeOptions, Shard
from hapgpu.genotyping.reads.aligned_reads import HOST_READING, AlignedReads, ReadingStages
from hapgpu.genotyping.reads.filters import FilterOptions
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.locus_batches import (
    EVERY_ROW,
    Count,
    LocusLimits,
    LocusOptions,
    locus_batches,
    uncounted,
)
from hapgpu.haplotypes.sites.record_selection import REGIONS, within
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.header import genotyped_header
from hapgpu.io.vcf.source import VcfSource, open_vcf
from hapgpu.io.vcf.writer import VcfWriter
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device
from hapgpu.runtime.gpu_processes import processes_for
from hapgpu.runtime.output import CountingSink, Output
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.processes.forked import Processes
from hapgpu.runtime.processes.tallies import Tally
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics, Timed, untimed
from hapgpu.version import __version__

PAIR_HMM: Final = "pairhmm"
"""Name of the pair-HMM stage in the statistics."""

_LOCUS_OPTIONS: Final = LocusOptions(
    distance=MARGIN, flank=MARGIN + 40, max_combinations=64, masks=True, phased=False
)
_LOCI_OF_GPU: Final = LocusLimits(loci=4096, bases=8_000_000)
"""Limits of a batch for a GPU: its kernels need many loci to fill it."""
_WORKERS_PER_GPU: Final = 2
"""One computes while the other reads and writes lines; more wait for each other."""


def write_genotypes(
    session: GenotypeSession,
    output: str,
    statistics: RunStatistics,
    *,
    threads: int,
    processes: int = 1,
    command_line: str,
    progress: Progress | None = None,
) -> None:
    """Genotype all sites of a session, and write them as VCF.

    Parameters
    ----------
    session
        The open inputs; all sites are read.
    output
        Name of the VCF, or `-`: see `VcfWriter`.
    statistics
        Receives counts, and the time of each stage.
    threads
        CPU threads; 1: the calling thread does everything.
    processes
        Number of processes that they are divided into; workers on several GPUs get one for each,
        unless it is 1.
    command_line
        For the VCF header.
    progress
        Receives the number of sites written.

    Raises
    ------
    InputError
        A site or a read is malformed.
    OutputError
        The VCF cannot be written.
    """
    header = genotyped_header(
        session.header, session.contigs, session.samples, command_line, __version__
    )
    timed = statistics.timed
    lengths = list(session.contigs.values())
    with VcfWriter(output, header, lengths, min(threads, MAX_IO_THREADS)) as writer:
        workers = session.genotypers(timed)
        groups = session.groups(statistics.count, timed)
        run_pipeline(
            statistics.timed_source("read", groups),
            [_Worker(genotyper, statistics) for genotyper in workers],
            timed("write", CountingSink(writer.write, statistics)),
            progress=progress,
            extent=session.extent,
            threaded=threads > 1,
            processes=session.processes(processes, [statistics]),
        )
    statistics.add(session.read_counts)


class _Worker:
    """Worker that genotypes groups of loci and formats the lines of their sites."""

    def __init__(self, genotyper: AnyGenotyper, statistics: RunStatistics) -> None:
        self._genotyper = genotyper
        self._statistics = statistics
        self._timed_lines = statistics.timed("genotype", self._lines)

    def __call__(self, group: Iterable[Any]) -> Output[bytes]:
        with self._genotyper.stages.active():
            found = self._statistics.timed_source("read", group)
            parts = [part for reads in found for part in self._timed_lines(reads)]
        counts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
        lines = b"".join(part.content for part in parts)
        return Output(lines, counts, sum(part.units for part in parts))

    def _lines(self, reads: Any) -> list[Output[bytes]]:
        return [
            Output(call_lines(found.batch, found.calls), found.counts, len(found.batch.sites))
            for found in self._genotyper(reads)
        ]


@dataclass(frozen=True, slots=True)
class GenotypeInputs:
    """Inputs of genotyping.

    Attributes
    ----------
    reads
        Names of BAM, CRAM or SAM files; `-` is standard input.
    reference
        FASTA with its index.
    sites
        Name of a VCF or BCF file; `-` is standard input.
    regions
        Regions whose sites are genotyped.
    shard
        Part of these sites that is genotyped; None: all. The sites are then read twice.
    max_record
        Bytes of a record or a header, at most.
    without_haplotypes
        Whether called haplotypes among the reads, as of `call --bam-out`, are neither reads nor a
        sample; on the CPU only.
    """

    reads: Sequence[str]
    reference: Path
    sites: str
    regions: RegionChoice = EVERYTHING
    shard: Shard | None = None
    max_record: int = MAX_RECORD
    without_haplotypes: bool = False


class GenotypeSession(Closeable):
    """Open inputs of a run; a context manager.

    Attributes
    ----------
    samples
        Names of the samples, in the order of the files and their headers.
    header
        The lines of the VCF that start with `##`.
    contigs
        Lengths of the contigs of the reference.
    site_count
        The number of sites of a shard, after `groups`.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    """

    def __init__(
        self,
        inputs: GenotypeInputs,
        options: GenotypeOptions,
        devices: Sequence[Device],
        threads: int,
    ) -> None:
        self._options = options
        self._devices = devices
        self._gpus = [device for device in devices if isinstance(device, CudaDevice)]
        if self._gpus and inputs.without_haplotypes:
            raise ValueError("called haplotypes are excluded on the CPU only")
        self._threads = threads
        self._inputs = inputs
        self._source = ", ".join(inputs.reads)
        with ExitStack() as stack:
            self._reference = stack.enter_context(ReferenceFasta(inputs.reference))
            self._vcf = stack.enter_context(open_vcf(inputs.sites, inputs.max_record))
            filters = FilterOptions(
                min_mapping_quality=options.min_mapping_quality,
                margin=MARGIN,
                without_haplotypes=inputs.without_haplotypes,
            )
            self._reads = stack.enter_context(self._open_reads(inputs, filters))
            self.contigs = self._reference.lengths
            self._reads.check_contigs(self.contigs)
            self._stack = stack.pop_all()
        self.site_count: int | None = None
        self.samples = self._reads.samples
        self.header = self._vcf.header

    def groups(
        self,
        count: Count = uncounted,
        timed: Timed = untimed,
        *,
        in_pieces: bool = True,
    ) -> Iterator[Iterable[Any]]:
        """Yield groups of loci and their reads, once, in the order of the sites.

        Each group is for one worker, which usually reads it on iteration, see `AlignedReads.at`.

        Parameters
        ----------
        count
            Is called with the numbers of sites and loci, see `locus_batches`.
        timed
            As in `genotypers`.
        in_pieces
            Whether loci with more reads than are held are genotyped piece by piece, and yielded as
            `GenotypedLoci`; otherwise all of their reads are held.
        """
        rows = self._rows()
        if rows is not EVERY_ROW:
            self.site_count = len(rows)
        batches = locus_batches(
            self._records(self._vcf),
            self._reference,
            _LOCUS_OPTIONS,
            self._vcf.name,
            count,
            locus_limits=self._locus_limits(),
            rows=rows,
        )
        return self._reads.at(batches, partial(self._deep_loci, timed) if in_pieces else None)

    def _deep_loci(self, timed: Timed, batch: LocusBatch) -> DeepLoci:
        device: Device = CpuDevice(1)
        if self._gpus:
            from hapgpu.genotyping.cuda import current_gpu  # noqa: PLC0415  (imports CuPy)

            device = current_gpu(self._gpus)  # of the thread, which is in `active` of its stages
        likelihoods = timed(PAIR_HMM, partial(log10_likelihoods, device=device))
        genotyper = host_genotyper(self._options, len(self.samples), likelihoods, self._source)
        return DeepLoci(genotyper, batch)

    def _locus_limits(self) -> LocusLimits | None:
        # Of CPU threads, those that compute take longer than the one that makes haplotypes.
        threads = min(self._threads, MAX_IO_THREADS * len(self._gpus))
        return replace(_LOCI_OF_GPU, threads=threads) if self._gpus else None

    def _records(self, vcf: VcfSource) -> Iterator[VcfBatch]:
        return within(vcf.batches(for_vcf=True), self._inputs.regions, self.contigs)

    def _rows(self) -> range:
        """Return the rows of the sites of the regions that the shard has."""
        if self._inputs.shard is None:
            return EVERY_ROW
        with open_vcf(self._inputs.sites, self._inputs.max_record) as vcf:
            return self._inputs.shard.rows(self._records(vcf))

    def _open_reads(
        self, inputs: GenotypeInputs, filters: FilterOptions
    ) -> AlignedReads[Any, Any, Any]:
        stages: ReadingStages[Any, Any, Any] = HOST_READING
        if self._gpus:
            from hapgpu.genotyping.reads.cuda.aligned_reads import device_reading  # noqa: PLC0415  (imports CuPy)

            stages = device_reading(self._gpus)
        return AlignedReads(
            inputs.reads,
            stages,
            threads=self._threads,
            reference=inputs.reference,
            filters=filters,
            max_record=inputs.max_record,
        )

    def genotypers(self, timed: Timed = untimed) -> list[AnyGenotyper]:
        """Return the workers that together keep the devices and threads busy.

        Parameters
        ----------
        timed
            Takes the name of a stage and its function; returns the function, perhaps timed.
        """
        return [self._genotyper(worker, timed) for worker in self._workers()]

    def _genotyper(self, device: Device, timed: Timed) -> AnyGenotyper:
        options, samples, source = self._options, len(self.samples), self._source
        if isinstance(device, CpuDevice):
            likelihoods = timed(PAIR_HMM, partial(log10_likelihoods, device=device))
            return host_genotyper(options, samples, likelihoods, source)
        from hapgpu.genotyping.cuda import device_genotyper  # noqa: PLC0415  (imports CuPy)
        from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods  # noqa: PLC0415  (imports CuPy)

        on_gpu = timed(PAIR_HMM, partial(device_log10_likelihoods, device=device))
        return device_genotyper(options, samples, self._reads.inputs, device, on_gpu, source)

    def _workers(self) -> Iterator[Device]:
        """Yield the device of each worker; a CPU thread is a worker."""
        # A stream keeps the thread busy that makes groups; otherwise that thread has little to do.
        threads = self._threads if self._reads.is_indexed else self._threads - 1
        for device in self._devices:
            if isinstance(device, CpuDevice):
                yield from [CpuDevice(1)] * max(threads, 1)
            else:
                yield from [device] * _WORKERS_PER_GPU

    def processes(self, count: int, tallies: Sequence[Tally] = ()) -> Processes:
        """Return the processes of workers; GPUs that read a stream are for threads of the run."""
        tallies = [*tallies, self._reads.tally]
        shared = [self, self._reads]
        if self._gpus and not self._reads.is_indexed:
            count = 1
        return processes_for(self._devices, count, shared=shared, tallies=tallies)

    @property
    def extent(self) -> int | list[str]:
        """Number of sites, or what the run reads, as `fraction_read` takes it: sites or regions."""
        if self.site_count is not None:
            return self.site_count
        return [self._vcf.name if self._inputs.regions.is_everything else REGIONS]

    @property
    def read_counts(self) -> Mapping[str, int]:
        """Numbers of reads and of excluded reads so far, by name."""
        return self._reads.counts

    def close(self) -> None:
        """Close the inputs."""
        self._stack.close()
