"""A run over all sites of a VCF: the inputs opened together, and the workers on the devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.genotyper import MARGIN, GenotypeOptions, Genotyper, LikelihoodsOf
from hapgpu.genotyping.reads.aligned_reads import AlignedReads
from hapgpu.genotyping.reads.filters import FilterOptions
from hapgpu.haplotypes.locus_batches import Count, LocusOptions, locus_batches, uncounted
from hapgpu.haplotypes.sites.record_selection import within
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.io.vcf.records import open_vcf
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice, Device

_RULES: Final = LocusOptions(
    distance=MARGIN, flank=MARGIN + 40, max_combinations=64, masks=True, phased=False
)
_MAX_WORKERS: Final = 8
"""Of a GPU: more wait for each other, because Python lets one thread at a time go on."""
_MIN_WORKERS: Final = 4
"""Of a GPU: fewer leave it idle while they prepare what it computes."""

Timed = Callable[[str, LikelihoodsOf], LikelihoodsOf]
"""`hapgpu.runtime.statistics.RunStatistics.timed`, for instance."""


def _untimed(_stage: str, step: LikelihoodsOf) -> LikelihoodsOf:
    return step


@dataclass(frozen=True, slots=True)
class GenotypeInputs:
    """What is genotyped.

    Attributes
    ----------
    reads
        Names of BAM, CRAM or SAM files; `-` is standard input.
    reference
        FASTA with its index.
    sites
        Name of a VCF or BCF file; `-` is standard input.
    regions
        Which sites are chosen by where they lie.
    max_record
        Bytes of the longest record, and of the longest header, that is read.
    """

    reads: Sequence[str]
    reference: Path
    sites: str
    regions: RegionChoice = EVERYTHING
    max_record: int = MAX_RECORD


class GenotypeSession:
    """The inputs of a run, open; a context manager.

    Attributes
    ----------
    samples
        Names, in the order of the files and their headers.
    header
        The lines of the VCF that begin with `##`.
    contigs
        Lengths of the contigs of the reference.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    """

    def __init__(self, inputs: GenotypeInputs, options: GenotypeOptions, threads: int) -> None:
        self._options = options
        self._threads = threads
        self._regions = inputs.regions
        self._source = ", ".join(inputs.reads)
        with ExitStack() as stack:
            self._reference = stack.enter_context(ReferenceFasta(inputs.reference))
            self._vcf = stack.enter_context(open_vcf(inputs.sites, inputs.max_record))
            rules = FilterOptions(min_mapping_quality=options.min_mapping_quality, margin=MARGIN)
            self._reads = stack.enter_context(
                AlignedReads(
                    inputs.reads,
                    threads=threads,
                    reference=inputs.reference,
                    rules=rules,
                    max_record=inputs.max_record,
                )
            )
            self.contigs = self._reference.lengths
            self._reads.check_contigs(self.contigs)
            self._stack = stack.pop_all()
        self.samples = self._reads.samples
        self.header = self._vcf.header

    def spans(self, count: Count = uncounted) -> Iterator[Iterable[LocusReads]]:
        """Yield sites and the reads there, once, in the order of the sites.

        Each span is for one worker: as a rule it is read where it is gone through, see
        `AlignedReads.at`. `count` is told of sites and loci, see `locus_batches`.
        """
        records = within(self._vcf.records(for_vcf=True), self._regions, self.contigs)
        return self._reads.at(
            locus_batches(records, self._reference, _RULES, self._vcf.name, count)
        )

    def batches(self) -> Iterator[LocusReads]:
        """Read sites and the reads there as `spans` does, all in the calling thread."""
        return chain.from_iterable(self.spans())

    def genotypers(self, devices: Sequence[Device], timed: Timed = _untimed) -> list[Genotyper]:
        """Return workers that together keep the devices and threads busy, a span each at a time.

        Parameters
        ----------
        devices
            What computes.
        timed
            Told the name of a stage and a step of it, returns the step; it may measure it.
        """
        return [
            Genotyper(
                self._options,
                len(self.samples),
                timed("pairhmm", partial(log10_likelihoods, device=worker)),
                self._source,
            )
            for worker in self._workers(devices)
        ]

    def _workers(self, devices: Sequence[Device]) -> Iterator[Device]:
        """Yield the devices, each as often as it works on spans; a CPU thread is a worker."""
        # What is streamed keeps the thread busy that makes spans; otherwise it has little to do.
        threads = self._threads if self._reads.is_indexed else self._threads - 1
        for device in devices:
            if isinstance(device, CpuDevice):
                yield from [CpuDevice(1)] * max(threads, 1)
            else:
                workers = min(threads // len(devices), _MAX_WORKERS)
                yield from [device] * max(workers, _MIN_WORKERS)

    @property
    def read_counts(self) -> Mapping[str, int]:
        """Reads seen and reads left out so far, by name."""
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
