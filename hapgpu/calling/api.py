"""Python API of variant discovery: variants and genotypes as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import VariantCalls
from hapgpu.calling.genotypes.annotation_fields import FIELDS
from hapgpu.calling.options import AssemblyOptions, CallOptions, VariantOptions
from hapgpu.calling.pipeline import CallInputs, CallSession
from hapgpu.calling.reads.segments import EmptyIntervals
from hapgpu.calling.segment_calls import SegmentCalls, SegmentRecords
from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.pairhmm.options import PcrModel
from hapgpu.runtime.devices import resolve_devices, usable_cpus
from hapgpu.runtime.pipeline import run_pipeline

_Path = str | PathLike[str]
_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Calls:
    """v variants, with the genotypes of m samples.

    Attributes
    ----------
    samples
        Names of the samples.
    contigs
        Contig of each variant.
    positions
        int64[v], 0-based position of the first base of REF.
    alleles
        REF and ALTs of each variant; `*` is a spanning deletion.
    qualities
        float64[v]: QUAL.
    genotypes
        int16[v, m, 2]: numbers of alleles, 0 for REF, ascending; -1 for no call.
    genotype_qualities
        int16[v, m]: GQ, Phred; 0 for no call.
    depths
        int32[v, m]: DP, the informative reads.
    allele_depths
        int32 rows, v * m of them, variant by variant: AD.
    phred_likelihoods
        int32 rows, v * m of them: PL, in the order of VCF.
    total_depths
        int32[v]: DP of INFO, all reads.
    annotations
        float64[v] by the name of the INFO field, such as `FS`; NaN where it is not defined.
    """

    samples: tuple[str, ...]
    contigs: tuple[str, ...]
    positions: NDArray[np.int64]
    alleles: tuple[tuple[str, ...], ...]
    qualities: NDArray[np.float64]
    genotypes: NDArray[np.int16]
    genotype_qualities: NDArray[np.int16]
    depths: NDArray[np.int32]
    allele_depths: Ragged
    phred_likelihoods: Ragged
    total_depths: NDArray[np.int32]
    annotations: dict[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return self.positions.size


def call(
    reads: _Path | Sequence[_Path],
    reference: _Path,
    *,
    regions: Sequence[str] | None = None,
    min_confidence: float = 30.0,
    pcr_model: str = "conservative",
    max_reads_per_start: int = 50,
    gatk_strict: bool = False,
    device: str = "auto",
    processes: int = 1,
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
    min_confidence
        Phred: variants with a lower QUAL are left out.
    pcr_model
        `none`, `conservative`, `aggressive` or `hostile`.
    max_reads_per_start
        Reads of a sample that are used at each start position, at most; 0: all.
    gatk_strict
        Whether only GATK's rules are followed, also where they lose long variants.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`.
    processes
        Processes that the threads, one per usable CPU, are divided into. They are forked from this
        one, whose other threads should hold no locks then; a script needs no guard.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    UsageError
        An argument has another value than those above.
    DeviceError
        A named device cannot be used.
    """
    options = CallOptions(
        assembly=AssemblyOptions(is_strict=gatk_strict),
        genotyping=VariantOptions(min_confidence=_not_negative("min_confidence", min_confidence)),
        pcr_model=_pcr_model(pcr_model),
        max_reads_per_start=int(_not_negative("max_reads_per_start", max_reads_per_start)),
    )
    paths = [reads] if isinstance(reads, str | PathLike) else reads
    chosen = EVERYTHING if regions is None else RegionChoice(tuple(regions))
    inputs = CallInputs([str(path) for path in paths], Path(reference), chosen)
    devices, _ = resolve_devices(device)
    results: list[SegmentCalls] = []

    def keep(found: Sequence[SegmentCalls | EmptyIntervals]) -> int:
        called = [part for part in found if isinstance(part, SegmentCalls)]
        results.extend(called)
        return sum(part.segment.end - part.segment.start for part in called)

    with CallSession(inputs, options, devices, usable_cpus()) as session:
        run_pipeline(
            session.segments(), session.workers(), keep, processes=session.processes(processes)
        )
        return _concatenated(session.samples, results)


def _pcr_model(text: str) -> PcrModel:
    try:
        return PcrModel(text)
    except ValueError:
        raise UsageError(f"PCR model '{text}': must be one of {', '.join(PcrModel)}") from None


def _not_negative(name: str, value: float) -> float:
    if not 0 <= value < np.inf:
        raise UsageError(f"{name} {value}: must be at least 0")
    return value


def _concatenated(samples: tuple[str, ...], results: Sequence[SegmentCalls]) -> Calls:
    """Join the records of all segments that are theirs."""
    found = [
        (result.segment.contig, result.records, np.flatnonzero(result.records.rows))
        for result in results
        if result.records is not None and result.records.rows.any()
    ]
    n = len(samples)
    values = _joined(found, lambda of: of.annotations.values, np.empty((0, len(FIELDS))))
    by_sample = np.empty((0, n), dtype=np.int16)
    depths = np.empty((0, n), dtype=np.int32)
    return Calls(
        samples,
        tuple(contig for contig, _, rows in found for _ in rows),
        _joined(found, lambda of: of.calls.starts, np.empty(0, dtype=np.int64)),
        tuple(alleles for _, of, rows in found for alleles in _alleles(of.calls, rows)),
        _joined(found, lambda of: of.calls.qualities, np.empty(0)),
        _joined(found, lambda of: of.calls.genotypes, np.empty((0, n, 2), dtype=np.int16)),
        _joined(found, lambda of: of.calls.genotype_qualities, by_sample),
        _joined(found, lambda of: of.annotations.sample_depths, depths),
        _joined_rows([_of_samples(of.annotations.allele_depths, rows, n) for _, of, rows in found]),
        _joined_rows([_of_samples(of.calls.phred_likelihoods, rows, n) for _, of, rows in found]),
        _joined(found, lambda of: of.annotations.depths, np.empty(0, dtype=np.int32)),
        {field.name: values[:, column] for column, field in enumerate(FIELDS)},
    )


def _joined(
    found: Sequence[tuple[str, SegmentRecords, NDArray[np.int64]]],
    column: Callable[[SegmentRecords], NDArray[_Number]],
    none: NDArray[_Number],
) -> NDArray[_Number]:
    """Join a column of the chosen rows of records; `none` is that of no records."""
    return np.concatenate([none, *(column(records)[rows] for _, records, rows in found)])


def _joined_rows(parts: Sequence[Ragged]) -> Ragged:
    empty = Ragged(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    return Ragged.concatenate([empty, *parts])


def _of_samples(values: Ragged, rows: NDArray[np.int64], samples: int) -> Ragged:
    """Return the rows of all samples of some records."""
    return values.take((rows[:, None] * samples + np.arange(samples)).ravel())


def _alleles(calls: VariantCalls, rows: NDArray[np.int64]) -> Iterator[tuple[str, ...]]:
    """Yield the alleles of some records."""
    for row in rows:
        first, end = calls.allele_offsets[[row, row + 1]]
        yield tuple(calls.alleles[k].tobytes().decode() for k in range(first, end))
