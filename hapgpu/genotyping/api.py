"""Python API of genotyping: genotypes of known sites as arrays."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from hapgpu.arrays.arguments import (
    PathName,
    Resources,
    file_name,
    file_names,
    mapping_quality,
    one_of,
    whole_number,
)
from hapgpu.arrays.called_variants import not_empty
from hapgpu.genotyping.batches import Genotyped
from hapgpu.genotyping.genotyper import AnyGenotyper
from hapgpu.genotyping.genotypes import Genotypes, genotypes_of, no_genotypes
from hapgpu.genotyping.options import MAX_PLOIDY, GenotypeOptions, Prior
from hapgpu.genotyping.pipeline import GenotypeInputs, GenotypeSession
from hapgpu.io.genome.regions import choice_of
from hapgpu.pairhmm.options import PcrModel
from hapgpu.runtime.pipeline import ordered_results


def genotype(
    reads: PathName | Sequence[PathName],
    reference: PathName,
    sites: PathName,
    *,
    regions: Sequence[str] | None = None,
    min_mapping_quality: int = 20,
    ploidy: int = 2,
    prior: str = "population",
    pcr_model: str = "conservative",
    device: str = "auto",
    threads: int | None = None,
    processes: int = 1,
    progress: bool = False,
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
    regions
        Regions whose sites are genotyped, such as `chr20:10,000,001-10,050,000`, 1-based, both
        ends included; None for all sites.
    min_mapping_quality
        Reads with a lower MAPQ are excluded; from 0 to 255.
    ploidy
        Copies of the genome in a sample, 1 to 4.
    prior
        `flat` or `population`.
    pcr_model
        `none`, `conservative`, `aggressive` or `hostile`.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`; the genotypes do not depend on it.
    threads
        CPU threads, from 1; None: one per usable CPU.
    processes
        Processes that the threads of a CPU are divided into, from 1 to 4,096. They are forked from
        this one, whose other threads should hold no locks then; a script needs no guard.
    progress
        Whether to show a bar, in sites.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    UsageError
        An argument has another value than those above, or a region is not in the reference.
    DeviceError
        A named device cannot be used, or failed.
    """
    options = _options(min_mapping_quality, ploidy, prior, pcr_model)
    inputs = _inputs(reads, reference, sites, regions)
    resources = Resources.of(device, threads, processes, progress=progress)
    return Genotypes.concatenate(list(_parts(inputs, options, resources)))


def genotype_batches(
    reads: PathName | Sequence[PathName],
    reference: PathName,
    sites: PathName,
    *,
    regions: Sequence[str] | None = None,
    min_mapping_quality: int = 20,
    ploidy: int = 2,
    prior: str = "population",
    pcr_model: str = "conservative",
    device: str = "auto",
    threads: int | None = None,
    processes: int = 1,
    progress: bool = False,
) -> Generator[Genotypes]:
    """Genotype sites as `genotype` does; yield them in batches, in their order.

    Few batches are computed ahead, so memory does not grow with the sites. Closing the iterator
    ends the run, and its threads and processes.

    Parameters
    ----------
    reads, reference, sites, regions, min_mapping_quality, ploidy, prior, pcr_model
        As in `genotype`.
    device, threads, processes, progress
        As in `genotype`.

    Yields
    ------
    Genotypes of sites of one contig, at least one; all batches together are the result of
    `genotype`.

    Raises
    ------
    InputError, UsageError, DeviceError
        As `genotype`: for values at once, for files and regions while batches are taken.
    """
    options = _options(min_mapping_quality, ploidy, prior, pcr_model)
    inputs = _inputs(reads, reference, sites, regions)
    resources = Resources.of(device, threads, processes, progress=progress)
    return not_empty(_parts(inputs, options, resources))


def _options(min_mapping_quality: int, ploidy: int, prior: str, pcr_model: str) -> GenotypeOptions:
    return GenotypeOptions(
        ploidy=whole_number("ploidy", ploidy, 1, MAX_PLOIDY),
        prior=one_of(Prior, "prior", prior),
        pcr_model=one_of(PcrModel, "pcr_model", pcr_model),
        min_mapping_quality=mapping_quality("min_mapping_quality", min_mapping_quality),
    )


def _inputs(
    reads: PathName | Sequence[PathName],
    reference: PathName,
    sites: PathName,
    regions: Sequence[str] | None,
) -> GenotypeInputs:
    return GenotypeInputs(
        file_names(reads, "input"),
        Path(file_name(reference, "reference")),
        file_name(sites, "sites"),
        choice_of(regions),
    )


def _parts(
    inputs: GenotypeInputs, options: GenotypeOptions, resources: Resources
) -> Generator[Genotypes]:
    """Yield the genotypes of no sites, which have the samples, then those of batches of sites."""
    with GenotypeSession(inputs, options, resources.devices, resources.threads) as session:
        names = tuple(session.contigs)
        numbers = {name: number for number, name in enumerate(names)}
        yield no_genotypes(session.samples, names, options.ploidy)
        with closing(_groups(session, resources)) as groups:
            for found in chain.from_iterable(groups):
                contig = numbers[found.batch.sites.records.contig]
                yield genotypes_of(found, contig, session.samples, names)


def _groups(session: GenotypeSession, resources: Resources) -> Generator[list[Genotyped]]:
    """Return a generator of the results of groups of loci, in the order of the sites."""
    return ordered_results(
        session.groups(),
        [partial(_genotyped, genotyper) for genotyper in session.genotypers()],
        lambda group: sum(len(found.batch.sites) for found in group),
        progress=resources.progress("genotyping", "sites"),
        extent=session.extent,
        threaded=resources.threads > 1,
        processes=session.processes(resources.processes),
    )


def _genotyped(genotyper: AnyGenotyper, group: Iterable[Any]) -> list[Genotyped]:
    with genotyper.stages.active():
        return [found for reads in group for found in genotyper(reads)]
