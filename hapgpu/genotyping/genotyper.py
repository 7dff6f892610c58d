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
from hapgpu.genotyping.batches import (
    ClippedReads,
    Evidence,
    Genotyped,
    GenotypedLoci,
    LocusReads,
)
from hapgpu.genotyping.calls.genotypes import calls_of
from hapgpu.genotyping.calls.likelihoods import site_likelihoods
from hapgpu.genotyping.calls.priors import Prior
from hapgpu.genotyping.deep_loci import READS_OVER_LIMIT, genotyped_in_pieces, has_too_many
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


@dataclass(frozen=True, slots=True, kw_only=True)
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

    Attributes
    ----------
    likelihoods
        The pair-HMM.
    """

    def __init__(
        self, options: GenotypeOptions, samples: int, likelihoods: LikelihoodsOf, source: str
    ) -> None:
        self._options = options
        self._qualities = QualityOptions(pcr_model=options.pcr_model)
        self._samples = samples
        self.likelihoods = likelihoods
        self._source = source

    def active(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread reads and genotypes."""
        return nullcontext()

    def __call__(self, locus_reads: LocusReads | GenotypedLoci) -> Iterator[Genotyped]:
        """Genotype the sites of some loci, in one slice unless they were genotyped before.

        Raises
        ------
        InputError
            A read has no base qualities, or a tag `BI` or `BD` that does not fit its bases.
        """
        if isinstance(locus_reads, GenotypedLoci):
            yield from locus_reads.parts
            return
        batch, haplotypes = locus_reads.batch, np.diff(locus_reads.batch.haplotypes.offsets)
        clipped = self.clipped(locus_reads)
        if has_too_many(np.bincount(clipped.loci, minlength=len(batch.loci)), haplotypes):
            yield from genotyped_in_pieces(self, batch, [locus_reads])
            return
        evidence, hmm = self._evidence(locus_reads, clipped)
        yield self.genotyped(batch, evidence, {"likelihoods": hmm.pairs, "cells": hmm.cells})

    def evidence(self, locus_reads: LocusReads) -> tuple[ClippedReads, Evidence, HmmBatch]:
        """Return the clipped reads of some loci, their fragments, and the batch of the pair-HMM.

        Raises
        ------
        InputError
            As in a call.
        """
        clipped = self.clipped(locus_reads)
        return clipped, *self._evidence(locus_reads, clipped)

    def _evidence(
        self, locus_reads: LocusReads, clipped: ClippedReads
    ) -> tuple[Evidence, HmmBatch]:
        batch = locus_reads.batch
        hmm = self.hmm_batch(batch, locus_reads.reads, clipped)
        haplotypes = np.diff(batch.haplotypes.offsets)
        return evidence_of(clipped, self.likelihoods(hmm), haplotypes), hmm

    def genotyped(
        self, batch: LocusBatch, evidence: Evidence, work: Mapping[str, int]
    ) -> Genotyped:
        """Call the sites of some loci from all of their fragments; `work` are further counts."""
        alleles = allele_table(batch.sites, batch.loci, batch.haplotypes)
        likelihoods = site_likelihoods(
            evidence, batch, alleles, self._samples, self._options.ploidy
        )
        calls = calls_of(likelihoods, batch, self._options.prior, self._options.ploidy)
        counts = {
            "haplotypes": len(batch.haplotypes.sequences),
            "fragments": evidence.loci.size,
            "poorly_modelled_fragments": int((~evidence.is_explained).sum()),
            READS_OVER_LIMIT: 0,
            **work,
            "calls": int((calls.qualities >= 0).sum()),
            "no_calls": int((calls.qualities < 0).sum()),
        }
        return Genotyped(batch, calls, counts)

    def clipped(self, locus_reads: LocusReads) -> ClippedReads:
        """Return the clipped reads of some loci."""
        files, loci = locus_reads.files, locus_reads.batch.loci
        return clipped_reads_of(
            locus_reads.reads, locus_reads.samples, files, loci, MARGIN, MIN_BASES
        )

    def hmm_batch(self, batch: LocusBatch, reads: ReadBatch, clipped: ClippedReads) -> HmmBatch:
        """Return the pair-HMM batch, a group per locus: its clipped reads and haplotypes.

        Raises
        ------
        InputError
            As in a call.
        """
        parts = ReadParts(clipped.reads, clipped.base_starts, clipped.base_ends)
        return HmmBatch(
            prepared_windows(reads, parts, self._qualities, self._source, REMEDY),
            batch.haplotypes.sequences,
            offsets_of(np.bincount(clipped.loci, minlength=len(batch.loci))),
            batch.haplotypes.offsets,
        )
