"""Session of a genotyping run: its open inputs, and the workers of its devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from hapgpu.genotyping.batches import Genotyped
from hapgpu.genotyping.deep_loci import DeepLoci
from hapgpu.genotyping.genotyper import MARGIN, GenotypeOptions, Genotyper
from hapgpu.genotyping.reads.aligned_reads import AlignedReads, LocusReader
from hapgpu.genotyping.reads.filters import FilterOptions
from hapgpu.genotyping.shards import Shard
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
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.source import VcfSource, open_vcf
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device

_LOCUS_OPTIONS: Final = LocusOptions(
    distance=MARGIN, flank=MARGIN + 40, max_combinations=64, masks=True, phased=False
)
_LOCI_OF_GPU: Final = LocusLimits(loci=4096, bases=8_000_000)
"""Limits of a batch for a GPU: its kernels need many loci to fill it."""
_WORKERS_PER_GPU: Final = 2
"""One computes while the other reads and writes lines; more wait for each other."""

Timed = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Function such as `hapgpu.runtime.statistics.RunStatistics.timed`."""


class AnyGenotyper(Protocol):
    """Genotyper of batches of loci on a device: `Genotyper` or its CUDA counterpart."""

    def active(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread reads and genotypes."""
        ...

    def __call__(self, locus_reads: Any) -> Iterator[Genotyped]:
        """Genotype the sites of some loci, in slices."""
        ...


def _untimed(_stage: str, step: Callable[..., Any]) -> Callable[..., Any]:
    return step


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


class GenotypeSession:
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
        timed: Timed = _untimed,
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
            locus_limits=_LOCI_OF_GPU if self._gpus else None,
            rows=rows,
        )
        return self._reads.at(batches, partial(self._deep_loci, timed) if in_pieces else None)

    def _deep_loci(self, timed: Timed, batch: LocusBatch) -> DeepLoci:
        likelihoods = timed("pairhmm", partial(log10_likelihoods, device=self._current_device()))
        genotyper = Genotyper(self._options, len(self.samples), likelihoods, self._source)
        return DeepLoci(genotyper, batch)

    def _current_device(self) -> Device:
        """Return the device of the calling thread, which is in `AnyGenotyper.active`."""
        if not self._gpus:
            return CpuDevice(1)
        from hapgpu.genotyping.genotyper_cuda import current_gpu  # noqa: PLC0415  (imports CuPy)

        return current_gpu(self._gpus)

    def _records(self, vcf: VcfSource) -> Iterator[VcfBatch]:
        return within(vcf.batches(for_vcf=True), self._inputs.regions, self.contigs)

    def _rows(self) -> range:
        """Return the rows of the sites of the regions that the shard has."""
        if self._inputs.shard is None:
            return EVERY_ROW
        with open_vcf(self._inputs.sites, self._inputs.max_record) as vcf:
            return self._inputs.shard.rows(self._records(vcf))

    def _open_reads(self, inputs: GenotypeInputs, filters: FilterOptions) -> LocusReader[Any]:
        if self._gpus:
            from hapgpu.genotyping.reads.aligned_reads_cuda import (  # noqa: PLC0415  (imports CuPy)
                DeviceAlignedReads,
            )

            opened: Callable[..., LocusReader[Any]] = partial(
                DeviceAlignedReads, devices=self._gpus
            )
        else:
            opened = AlignedReads
        return opened(
            inputs.reads,
            threads=self._threads,
            reference=inputs.reference,
            filters=filters,
            max_record=inputs.max_record,
        )

    def genotypers(self, timed: Timed = _untimed) -> list[AnyGenotyper]:
        """Return the workers that together keep the devices and threads busy.

        Parameters
        ----------
        timed
            Takes the name of a stage and its function; returns the function, perhaps timed.
        """
        return [self._genotyper(worker, timed) for worker in self._workers()]

    def _genotyper(self, device: Device, timed: Timed) -> AnyGenotyper:
        samples = len(self.samples)
        if isinstance(device, CpuDevice):
            likelihoods = timed("pairhmm", partial(log10_likelihoods, device=device))
            return Genotyper(self._options, samples, likelihoods, self._source)
        from hapgpu.genotyping.genotyper_cuda import DeviceGenotyper  # noqa: PLC0415  (imports CuPy)
        from hapgpu.pairhmm.forward.cuda import device_log10_likelihoods  # noqa: PLC0415  (as above)

        likelihoods = timed("pairhmm", partial(device_log10_likelihoods, device=device))
        options, inputs = self._options, self._reads.inputs
        return DeviceGenotyper(options, samples, inputs, device, likelihoods, self._source)

    def _workers(self) -> Iterator[Device]:
        """Yield the device of each worker; a CPU thread is a worker."""
        # A stream keeps the thread busy that makes groups; otherwise that thread has little to do.
        threads = self._threads if self._reads.is_indexed else self._threads - 1
        for device in self._devices:
            if isinstance(device, CpuDevice):
                yield from [CpuDevice(1)] * max(threads, 1)
            else:
                yield from [device] * _WORKERS_PER_GPU

    @property
    def streamed(self) -> list[str]:
        """What a run without `site_count` reads, as `fraction_read` takes it: sites or regions."""
        if self.site_count is not None:
            return []
        return [self._vcf.name if self._inputs.regions.is_everything else REGIONS]

    @property
    def read_counts(self) -> Mapping[str, int]:
        """Numbers of reads and of excluded reads so far, by name."""
        return self._reads.counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
