"""Genotyping on the CPU: the stages of `genotyper`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.genotyping.batches import ClippedReads, FragmentEvidence, Genotyped, LocusReads
from hapgpu.genotyping.calls.likelihoods import site_likelihoods
from hapgpu.genotyping.deep_loci import genotyped_in_pieces
from hapgpu.genotyping.genotyper import MARGIN, MIN_BASES, REMEDY, Genotyper, GenotypingStages
from hapgpu.genotyping.options import GenotypeOptions
from hapgpu.genotyping.reads.clipped_reads import clipped_reads_of
from hapgpu.genotyping.reads.fragment_likelihoods import evidence_of
from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.windows import prepared_windows

HostGenotyper: TypeAlias = Genotyper[
    LocusReads, LocusReads, ClippedReads, HmmBatch, FragmentEvidence
]


def host_genotyper(
    options: GenotypeOptions,
    samples: int,
    likelihoods: Callable[[HmmBatch], NDArray[np.float64]],
    source: str,
) -> HostGenotyper:
    """Return a genotyper of loci whose reads are in host memory.

    Parameters
    ----------
    options
        Ploidy, prior, PCR model.
    samples
        Number of samples.
    likelihoods
        The pair-HMM, `hapgpu.pairhmm.forward.dispatch.log10_likelihoods` on a device: returns
        float64, a log10 likelihood per pair.
    source
        Name of the reads, for errors.
    """
    qualities = QualityOptions(pcr_model=options.pcr_model)

    def join(reads: LocusReads, clipped: ClippedReads) -> HmmBatch:
        parts = ReadParts(clipped.reads, clipped.base_starts, clipped.base_ends)
        return HmmBatch(
            prepared_windows(reads.reads, parts, qualities, source, REMEDY),
            reads.batch.haplotypes.sequences,
            offsets_of(_reads_per_locus(reads, clipped)),
            reads.batch.haplotypes.offsets,
        )

    def in_pieces(reads: LocusReads) -> Iterator[Genotyped]:
        return genotyped_in_pieces(genotyper, reads.batch, [reads])

    stages = GenotypingStages(
        active=nullcontext,
        in_parts=_in_one_part,
        clip=_clipped,
        count=_reads_per_locus,
        join=join,
        likelihoods=likelihoods,
        combine=_combined,
        site_likelihoods=site_likelihoods,
        in_pieces=in_pieces,
    )
    genotyper = Genotyper(options, samples, stages)
    return genotyper


def _in_one_part(
    reads: LocusReads, compute: Callable[[LocusReads], Genotyped | LocusReads]
) -> Iterator[Genotyped | LocusReads]:
    yield compute(reads)


def _clipped(reads: LocusReads) -> ClippedReads:
    loci = reads.batch.loci
    return clipped_reads_of(reads.reads, reads.samples, reads.files, loci, MARGIN, MIN_BASES)


def _reads_per_locus(reads: LocusReads, clipped: ClippedReads) -> NDArray[np.int64]:
    return np.bincount(clipped.loci, minlength=len(reads.batch.loci))


def _combined(
    reads: LocusReads, clipped: ClippedReads, likelihoods: NDArray[np.float64]
) -> FragmentEvidence:
    return evidence_of(clipped, likelihoods, np.diff(reads.batch.haplotypes.offsets))
