"""Genotypes of known sites as arrays: the part of the Python API that is `genotype`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import UsageError
from hapgpu.genotyping.batches import Calls, LocusReads
from hapgpu.genotyping.calls.priors import Prior
from hapgpu.genotyping.genotyper import MAX_PLOIDY, Genotyped, GenotypeOptions, Genotyper
from hapgpu.genotyping.session import GenotypeInputs, GenotypeSession
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.pairhmm.qualities.pcr_model import PcrModel
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
        Their names.
    sites
        The records of the VCF.
    genotypes
        int16[s, m, ploidy]: numbers of alleles, 0 for REF, ascending; -1 where no read speaks.
    qualities
        int16[s, m]: GQ, Phred; -1 where no read speaks.
    depths
        int32[s, m]: fragments that count at the site.
    allele_depths
        int32 rows, s * m of them, site by site: the fragments that speak for each allele.
    phred_likelihoods
        int32 rows, s * m of them: PL, in the order of VCF; none where no read speaks.
    variant_qualities
        float64[s]: QUAL; NaN where no read speaks in any sample.
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
) -> Genotypes:
    """Genotype the sites of a VCF in aligned reads, as `hapgpu genotype` does.

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

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    UsageError
        An argument is not one of those above.
    DeviceError
        A named device cannot be used.
    """
    options = GenotypeOptions(
        _checked_ploidy(ploidy),
        _one_of(Prior, "prior", prior),
        _one_of(PcrModel, "PCR model", pcr_model),
    )
    paths = [reads] if isinstance(reads, str | PathLike) else reads
    inputs = GenotypeInputs([str(path) for path in paths], Path(reference), str(sites))
    devices, _ = resolve_devices(device)
    parts: list[Genotyped] = []

    def keep(span: Sequence[Genotyped]) -> int:
        parts.extend(span)
        return sum(len(part.batch.sites) for part in span)

    with GenotypeSession(inputs, options, usable_cpus()) as session:
        workers = [partial(_genotyped, each) for each in session.genotypers(devices)]
        run_pipeline(session.spans(), workers, keep)
        return _joined(session.samples, parts, ploidy)


def _genotyped(genotyper: Genotyper, span: Iterable[LocusReads]) -> list[Genotyped]:
    return [genotyper(reads) for reads in span]


def _checked_ploidy(ploidy: int) -> int:
    if not 1 <= ploidy <= MAX_PLOIDY:
        raise UsageError(f"ploidy {ploidy} is not between 1 and {MAX_PLOIDY}")
    return ploidy


def _one_of(kind: type[_Kind], what: str, text: str) -> _Kind:
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{what} '{text}' is none of {', '.join(kind)}") from None


def _joined(samples: tuple[str, ...], parts: Sequence[Genotyped], ploidy: int) -> Genotypes:
    calls = [_no_calls(len(samples), ploidy), *(part.calls for part in parts)]
    return Genotypes(
        samples,
        tuple(record for part in parts for record in part.batch.sites.records),
        np.concatenate([part.genotypes for part in calls]),
        np.concatenate([part.qualities for part in calls]),
        np.concatenate([part.depths for part in calls]),
        Ragged.concatenate([part.allele_depths for part in calls]),
        Ragged.concatenate([part.phred_likelihoods for part in calls]),
        np.concatenate([part.variant_qualities for part in calls]),
    )


def _no_calls(samples: int, ploidy: int) -> Calls:
    """Return the calls at no sites, which give the columns their shapes where there are none."""
    nothing = Ragged(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    return Calls(
        np.empty((0, samples, ploidy), dtype=np.int16),
        np.empty((0, samples), dtype=np.int16),
        np.empty((0, samples), dtype=np.int32),
        nothing,
        nothing,
        np.empty(0),
    )
