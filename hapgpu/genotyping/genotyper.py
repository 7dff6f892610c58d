"""Genotypes of one batch of loci: windows, qualities, pair-HMM, likelihoods, calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import offsets_of
from hapgpu.genotyping.batches import Calls, ClippedReads, LocusReads
from hapgpu.genotyping.calls.genotypes import calls_of
from hapgpu.genotyping.calls.likelihoods import site_likelihoods
from hapgpu.genotyping.calls.priors import Prior
from hapgpu.genotyping.evidence.clipped_reads import clipped_reads_of
from hapgpu.genotyping.evidence.fragment_likelihoods import evidence_of
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.candidates.allele_table import allele_table
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.qualities.pcr_model import PcrModel
from hapgpu.pairhmm.qualities.prepare import (
    QualityOptions,
    check_base_qualities,
    prepared_reads,
)

MARGIN: Final = 60
"""Bases of a read that count on either side of a locus."""

MAX_PLOIDY: Final = 4

_MIN_BASES: Final = 10
"""Fewer bases of a read at a locus tell too little."""

_REMEDY: Final = "give it some, or leave it out"

LikelihoodsOf = Callable[[HmmBatch], NDArray[np.float64]]
"""`hapgpu.pairhmm.forward.dispatch.log10_likelihoods` on some device."""


@dataclass(frozen=True, slots=True)
class GenotypeOptions:
    """What the user may choose.

    Attributes
    ----------
    ploidy
        Copies of the genome in each sample, 1 to `MAX_PLOIDY`.
    prior
        Of genotypes.
    pcr_model
        How much PCR is suspected of indels in repeats.
    min_mapping_quality
        Reads mapped with less do not count.
    """

    ploidy: int = 2
    prior: Prior = Prior.POPULATION
    pcr_model: PcrModel = PcrModel.CONSERVATIVE
    min_mapping_quality: int = 20


@dataclass(frozen=True, slots=True)
class Genotyped:
    """Loci with the genotypes of their sites, and what was done for them, by name."""

    batch: LocusBatch
    calls: Calls
    counts: Mapping[str, int]


class Genotyper:
    """Genotypes batches of loci.

    Parameters
    ----------
    options
        What the user chose.
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

    def __call__(self, locus_reads: LocusReads) -> Genotyped:
        """Genotype the sites of some loci.

        Raises
        ------
        InputError
            A read has no base qualities, or a tag `BI` or `BD` that does not fit its bases.
        """
        batch, reads = locus_reads.batch, locus_reads.reads
        windows = clipped_reads_of(
            reads, locus_reads.samples, locus_reads.files, batch.loci, MARGIN, _MIN_BASES
        )
        hmm = self._hmm_batch(batch, reads, windows)
        evidence = evidence_of(windows, self._likelihoods(hmm), np.diff(batch.haplotypes.offsets))
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
        return Genotyped(batch, calls, counts)

    def _hmm_batch(self, batch: LocusBatch, reads: ReadBatch, windows: ClippedReads) -> HmmBatch:
        """Return a region for each locus: the parts of reads there, and its haplotypes."""
        used, rows = np.unique(windows.reads, return_inverse=True)
        met = reads.take(used)
        check_base_qualities(met, self._source, _REMEDY)
        prepared = prepared_reads(met, self._qualities, self._source)
        return HmmBatch(
            prepared.gather(
                met.bases.offsets[rows] + windows.begins, windows.ends - windows.begins
            ),
            batch.haplotypes.sequences,
            offsets_of(np.bincount(windows.loci, minlength=len(batch.loci))),
            batch.haplotypes.offsets,
        )
