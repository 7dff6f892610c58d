"""Genotyping of one batch of loci: clipped reads, qualities, pair-HMM, likelihoods, calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import offsets_of
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.genotyping.batches import Calls, ClippedReads, Evidence, LocusReads
from hapgpu.genotyping.calls.genotypes import calls_of
from hapgpu.genotyping.calls.likelihoods import site_likelihoods
from hapgpu.genotyping.calls.priors import Prior
from hapgpu.genotyping.evidence.clipped_reads import clipped_reads_of
from hapgpu.genotyping.evidence.fragment_likelihoods import evidence_of
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.candidates.allele_table import allele_table
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.qualities.pcr_model import PcrModel
from hapgpu.pairhmm.qualities.prepare import QualityOptions
from hapgpu.pairhmm.qualities.windows import prepared_windows

MARGIN: Final = 60
"""Bases of the reference on either side of a locus that reads are clipped to."""

MAX_PLOIDY: Final = 4

MIN_BASES: Final = 10
"""Clipped reads with fewer bases are excluded."""

REMEDY: Final = "add them, or remove the read"

LikelihoodsOf = Callable[[HmmBatch], NDArray[np.float64]]
"""`hapgpu.pairhmm.forward.dispatch.log10_likelihoods` on a device."""


@dataclass(frozen=True, slots=True)
class GenotypeOptions:
    """Options of genotyping.

    Attributes
    ----------
    ploidy
        Copies of the genome in each sample, 1 to `MAX_PLOIDY`.
    prior
        Prior of genotypes.
    pcr_model
        Model of PCR indel errors in repeats.
    min_mapping_quality
        Reads with a lower MAPQ are excluded.
    """

    ploidy: int = 2
    prior: Prior = Prior.POPULATION
    pcr_model: PcrModel = PcrModel.CONSERVATIVE
    min_mapping_quality: int = 20


@dataclass(frozen=True, slots=True)
class Genotyped:
    """Loci, the calls of their sites, and named counts of the work."""

    batch: LocusBatch
    calls: Calls
    counts: Mapping[str, int]


class Genotyper:
    """Genotyping of batches of loci on a device.

    Parameters
    ----------
    options
        Ploidy, prior, PCR model.
    samples
        Number of samples.
    likelihoods
        The pair-HMM on a device.
    source
        Name of the reads, for errors.
    """

    def __init__(
        self, options: GenotypeOptions, samples: int, likelihoods: LikelihoodsOf, source: str
    ) -> None:
        self._options = options
        self._qualities = QualityOptions(pcr_model=options.pcr_model)
        self._samples = samples
        self._likelihoods = likelihoods
        self._source = source

    def active(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread reads and genotypes."""
        return nullcontext()

    def __call__(self, locus_reads: LocusReads) -> Iterator[Genotyped]:
        """Genotype the sites of some loci, in one slice.

        Raises
        ------
        InputError
            A read has no base qualities, or a tag `BI` or `BD` that does not fit its bases.
        """
        batch = locus_reads.batch
        _, evidence, hmm = self.evidence(locus_reads)
        alleles = allele_table(batch.sites, batch.loci, batch.haplotypes)
        likelihoods = site_likelihoods(
            evidence, batch, alleles, self._samples, self._options.ploidy
        )
        calls = calls_of(likelihoods, batch, self._options.prior, self._options.ploidy)
        counts = {
            "haplotypes": len(batch.haplotypes.sequences),
            "fragments": evidence.loci.size,
            "poorly_modelled_fragments": int((~evidence.is_explained).sum()),
            "likelihoods": hmm.pairs,
            "cells": hmm.cells,
            "calls": int((calls.qualities >= 0).sum()),
            "no_calls": int((calls.qualities < 0).sum()),
        }
        yield Genotyped(batch, calls, counts)

    def evidence(self, locus_reads: LocusReads) -> tuple[ClippedReads, Evidence, HmmBatch]:
        """Return the clipped reads of some loci, their fragments, and the batch of the pair-HMM.

        Raises
        ------
        InputError
            As in a call.
        """
        batch, reads = locus_reads.batch, locus_reads.reads
        clipped = clipped_reads_of(
            reads, locus_reads.samples, locus_reads.files, batch.loci, MARGIN, MIN_BASES
        )
        hmm = self._hmm_batch(batch, reads, clipped)
        evidence = evidence_of(clipped, self._likelihoods(hmm), np.diff(batch.haplotypes.offsets))
        return clipped, evidence, hmm

    def _hmm_batch(self, batch: LocusBatch, reads: ReadBatch, clipped: ClippedReads) -> HmmBatch:
        """Return the pair-HMM batch, a group per locus: its clipped reads and haplotypes."""
        parts = ReadParts(clipped.reads, clipped.base_starts, clipped.base_ends)
        return HmmBatch(
            prepared_windows(reads, parts, self._qualities, self._source, REMEDY),
            batch.haplotypes.sequences,
            offsets_of(np.bincount(clipped.loci, minlength=len(batch.loci))),
            batch.haplotypes.offsets,
        )
