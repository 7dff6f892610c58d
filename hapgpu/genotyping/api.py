"""Python API of genotyping: genotypes of known sites as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import UsageError
from hapgpu.genotyping.batches import GenotypeCalls, Genotyped
from hapgpu.genotyping.genotyper import AnyGenotyper
from hapgpu.genotyping.options import MAX_PLOIDY, GenotypeOptions, Prior
from hapgpu.genotyping.pipeline import GenotypeInputs, GenotypeSession
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.pairhmm.options import PcrModel
from hapgpu.runtime.devices import resolve_devices, usable_cpus
from hapgpu.runtime.pipeline import run_pipeline

_Path = str | PathLike[str]
_Kind = TypeVar("_Kind", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Genotypes:
    """The genotypes of m samples at s sites.

    Attributes
    ----------
    samples
        Names of the samples.
    sites
        The records of the VCF.
    genotypes
        int16[s, m, ploidy]: numbers of alleles, 0 for REF, ascending; -1 for no call.
    qualities
        int16[s, m]: GQ, Phred; -1 for no call.
    depths
        int32[s, m]: DP, the fragments used at the site.
    allele_depths
        int32 rows, s * m of them, site by site: AD, the fragments that support each allele.
    phred_likelihoods
        int32 rows, s * m of them: PL, in the order of VCF; none for no call.
    variant_qualities
        float64[s]: QUAL; NaN if no sample has a call.
    """

    samples: tuple[str, ...]
    sites: tuple[VcfRecord, ...]
    genotypes: NDArray[np.int16]
    qualities: NDArray[np.int16]
    depths: NDArray[np.int32]
    allele_depths: Ragged
    phred_likelihoods: Ragged
    variant_qualities: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sites)


def genotype(
    reads: _Path | Sequence[_Path],
    reference: _Path,
    sites: _Path,
    *,
    ploidy: int = 2,
    prior: str = "population",
    pcr_model: str = "conservative",
    device: str = "auto",
    processes: int = 1,
) -> Genotypes:
    """Genotype the sites of a VCF from aligned reads, as `hapgpu genotype` does.

    Parameters
    ----------
    reads
        One or several sorted BAM or CRAM files with their indexes, or SAM files.
    reference
        FASTA with its `.fai`.
    sites
        VCF, plain or compressed, or BCF, sorted.
    ploidy
        Copies of the genome in a sample, 1 to 4.
    prior
        `flat` or `population`.
    pcr_model
        `none`, `conservative`, `aggressive` or `hostile`.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`.
    processes
        Processes that the threads of a CPU, one per usable one, are divided into. They are forked
        from this one, whose other threads should hold no locks then; a script needs no guard.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    UsageError
        An argument has another value than those above.
    DeviceError
        A named device cannot be used.
    """
    options = GenotypeOptions(
        ploidy=_checked_ploidy(ploidy),
        prior=_one_of(Prior, "prior", prior),
        pcr_model=_one_of(PcrModel, "PCR model", pcr_model),
    )
    paths = [reads] if isinstance(reads, str | PathLike) else reads
    inputs = GenotypeInputs([str(path) for path in paths], Path(reference), str(sites))
    devices, _ = resolve_devices(device)
    results: list[Genotyped] = []

    def keep(group: Sequence[Genotyped]) -> int:
        results.extend(group)
        return sum(len(result.batch.sites) for result in group)

    with GenotypeSession(inputs, options, devices, usable_cpus()) as session:
        workers = [partial(_genotyped, genotyper) for genotyper in session.genotypers()]
        run_pipeline(session.groups(), workers, keep, processes=session.processes(processes))
        return _concatenated(session.samples, results, ploidy)


def _genotyped(genotyper: AnyGenotyper, group: Iterable[Any]) -> list[Genotyped]:
    with genotyper.stages.active():
        return [found for reads in group for found in genotyper(reads)]


def _checked_ploidy(ploidy: int) -> int:
    if not 1 <= ploidy <= MAX_PLOIDY:
        raise UsageError(f"ploidy {ploidy}: must be from 1 to {MAX_PLOIDY}")
    return ploidy


def _one_of(kind: type[_Kind], name: str, text: str) -> _Kind:
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{name} '{text}': must be one of {', '.join(kind)}") from None


def _concatenated(samples: tuple[str, ...], results: Sequence[Genotyped], ploidy: int) -> Genotypes:
    calls = [_empty_calls(len(samples), ploidy), *(result.calls for result in results)]
    return Genotypes(
        samples,
        tuple(record for result in results for record in result.batch.sites.records),
        np.concatenate([part.genotypes for part in calls]),
        np.concatenate([part.qualities for part in calls]),
        np.concatenate([part.depths for part in calls]),
        Ragged.concatenate([part.allele_depths for part in calls]),
        Ragged.concatenate([part.phred_likelihoods for part in calls]),
        np.concatenate([part.variant_qualities for part in calls]),
    )


def _empty_calls(samples: int, ploidy: int) -> GenotypeCalls:
    """Return calls of no sites: they define shapes and dtypes if there are no others."""
    empty = Ragged(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    return GenotypeCalls(
        np.empty((0, samples, ploidy), dtype=np.int16),
        np.empty((0, samples), dtype=np.int16),
        np.empty((0, samples), dtype=np.int32),
        empty,
        empty,
        np.empty(0),
    )
