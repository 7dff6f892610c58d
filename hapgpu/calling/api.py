"""Python API of variant discovery: variants and genotypes as arrays."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from hapgpu.arrays.arguments import (
    PathName,
    Resources,
    file_name,
    file_names,
    mapping_quality,
    number_from_0,
    one_of,
    whole_number,
)
from hapgpu.arrays.called_variants import not_empty
from hapgpu.calling.calls import Calls, calls_of, no_calls
from hapgpu.calling.options import AssemblyOptions, CallOptions, VariantOptions
from hapgpu.calling.ploidies import MAX_PLOIDY, Ploidies
from hapgpu.calling.reads.segments import EmptyIntervals
from hapgpu.calling.segment_calls import SegmentCalls
from hapgpu.calling.session import CallInputs, CallSession
from hapgpu.io.genome.regions import choice_of
from hapgpu.pairhmm.options import PcrModel
from hapgpu.runtime.pipeline import ordered_results

_MANY: Final = 10**6


def call(
    reads: PathName | Sequence[PathName],
    reference: PathName,
    *,
    regions: Sequence[str] | None = None,
    min_mapping_quality: int = 20,
    max_reads_per_start: int = 50,
    min_confidence: float = 30.0,
    ploidy: int = 2,
    pcr_model: str = "conservative",
    gatk_strict: bool = False,
    device: str = "auto",
    threads: int | None = None,
    processes: int = 1,
    progress: bool = False,
) -> Calls:
    """Find and genotype the variants of aligned reads, as `hapgpu call` does.

    Parameters
    ----------
    reads
        One or several sorted BAM or CRAM files with their indexes, or SAM files.
    reference
        FASTA with its `.fai`.
    regions
        Regions to call, such as `chr20:10,000,001-10,050,000`, 1-based, both ends included; None
        for all contigs.
    min_mapping_quality
        Reads with a lower MAPQ are excluded; from 0 to 255.
    max_reads_per_start
        Reads of a sample that are used at each start position, at most, up to 1,000,000; 0: all.
    min_confidence
        Phred, from 0: variants with a lower QUAL are left out.
    ploidy
        Copies of each contig in a sample, from 1 to 100; of a pool, in all its members.
    pcr_model
        `none`, `conservative`, `aggressive` or `hostile`.
    gatk_strict
        Whether only GATK's rules are followed, also where they lose long variants.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the variants do not depend on it.
    threads
        CPU threads, from 1; None: one per usable CPU.
    processes
        Processes that the threads are divided into, from 1 to 4,096. They are forked from this one,
        whose other threads should hold no locks then; a script needs no guard.
    progress
        Whether to show a bar, in bases.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    UsageError
        An argument has another value than those above, or a region is not in the reference.
    DeviceError
        A named device cannot be used, or failed.
    """
    genotyping = _genotyping(min_confidence, ploidy)
    options = _options(
        min_mapping_quality, max_reads_per_start, genotyping, pcr_model, is_strict=gatk_strict
    )
    inputs = _inputs(reads, reference, regions)
    resources = Resources.of(device, threads, processes, progress=progress)
    return Calls.concatenate(list(_parts(inputs, options, resources)))


def call_batches(
    reads: PathName | Sequence[PathName],
    reference: PathName,
    *,
    regions: Sequence[str] | None = None,
    min_mapping_quality: int = 20,
    max_reads_per_start: int = 50,
    min_confidence: float = 30.0,
    ploidy: int = 2,
    pcr_model: str = "conservative",
    gatk_strict: bool = False,
    device: str = "auto",
    threads: int | None = None,
    processes: int = 1,
    progress: bool = False,
) -> Generator[Calls]:
    """Find and genotype variants as `call` does; yield them in batches, in the order of the genome.

    Few batches are computed ahead, so memory does not grow with the genome. Closing the iterator
    ends the run, and its threads and processes.

    Parameters
    ----------
    reads, reference, regions, min_mapping_quality, max_reads_per_start, min_confidence
        As in `call`.
    ploidy, pcr_model, gatk_strict, device, threads, processes, progress
        As in `call`.

    Yields
    ------
    Variants of one contig, at least one; all batches together are the result of `call`.

    Raises
    ------
    InputError, UsageError, DeviceError
        As `call`: for values at once, for files and regions while batches are taken.
    """
    genotyping = _genotyping(min_confidence, ploidy)
    options = _options(
        min_mapping_quality, max_reads_per_start, genotyping, pcr_model, is_strict=gatk_strict
    )
    inputs = _inputs(reads, reference, regions)
    resources = Resources.of(device, threads, processes, progress=progress)
    return not_empty(_parts(inputs, options, resources))


def _options(
    min_mapping_quality: int,
    max_reads_per_start: int,
    genotyping: VariantOptions,
    pcr_model: str,
    *,
    is_strict: bool,
) -> CallOptions:
    return CallOptions(
        assembly=AssemblyOptions(is_strict=is_strict),
        genotyping=genotyping,
        pcr_model=one_of(PcrModel, "pcr_model", pcr_model),
        min_mapping_quality=mapping_quality("min_mapping_quality", min_mapping_quality),
        max_reads_per_start=whole_number("max_reads_per_start", max_reads_per_start, 0, _MANY),
    )


def _genotyping(min_confidence: float, ploidy: int) -> VariantOptions:
    copies = whole_number("ploidy", ploidy, 1, MAX_PLOIDY)
    return VariantOptions(
        min_confidence=number_from_0("min_confidence", min_confidence),
        ploidies=Ploidies.of(copies, []),
    )


def _inputs(
    reads: PathName | Sequence[PathName], reference: PathName, regions: Sequence[str] | None
) -> CallInputs:
    return CallInputs(
        file_names(reads, "input"), Path(file_name(reference, "reference")), choice_of(regions)
    )


def _parts(inputs: CallInputs, options: CallOptions, resources: Resources) -> Generator[Calls]:
    """Yield no variants, which have the samples, then the variants of each segment."""
    with CallSession(inputs, options, resources.devices, resources.threads) as session:
        names = tuple(session.contigs)
        numbers = {name: number for number, name in enumerate(names)}
        yield no_calls(session.samples, names, options.genotyping.ploidies.highest)
        with closing(_segments(session, resources)) as found:
            for segment in found:
                if segment.records is not None:
                    number = numbers[segment.segment.contig]
                    yield calls_of(segment.records, number, session.samples, names)


def _segments(session: CallSession, resources: Resources) -> Generator[SegmentCalls]:
    """Yield the results of segments with reads, in the order of the genome."""
    results = ordered_results(
        session.segments(),
        session.workers(),
        _bases,
        progress=resources.progress("calling", "bases"),
        extent=session.bases,
        threaded=resources.threads > 1,
        processes=session.processes(resources.processes),
    )
    with closing(results):
        for result in results:
            yield from (part for part in result if isinstance(part, SegmentCalls))


def _bases(found: Sequence[SegmentCalls | EmptyIntervals]) -> int:
    """Return the number of bases of segments, and of intervals without reads."""
    return sum(
        part.size if isinstance(part, EmptyIntervals) else part.segment.end - part.segment.start
        for part in found
    )
