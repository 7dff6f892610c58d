"""Genotyping of batches of loci on any device: clipped reads, pair-HMM, likelihoods, calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.genotyping.batches import Genotyped, GenotypedLoci, SiteLikelihoods
from hapgpu.genotyping.calls.genotypes import calls_of
from hapgpu.genotyping.deep_loci import READS_OVER_LIMIT, has_too_many
from hapgpu.genotyping.options import GenotypeOptions
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.sites.allele_table import allele_table
from hapgpu.runtime.gpu_array import GpuArray

if TYPE_CHECKING:
    from hapgpu.genotyping.batches import FragmentEvidence, LocusReads
    from hapgpu.genotyping.reads.cuda.aligned_reads import DeviceLocusReads
    from hapgpu.genotyping.reads.cuda.evidence import DeviceEvidence  # imports CuPy
    from hapgpu.pairhmm.batches import HmmBatch
    from hapgpu.pairhmm.cuda.batches import DeviceHmmBatch

MARGIN: Final = 60
"""Bases of the reference on either side of a locus that reads are clipped to."""

MIN_BASES: Final = 10
"""Clipped reads with fewer bases are excluded."""

REMEDY: Final = "add them, or remove the read"

Given = TypeVar("Given")
Reads = TypeVar("Reads", bound="LocusReads | DeviceLocusReads")
Clipped = TypeVar("Clipped")
Batch = TypeVar("Batch", bound="HmmBatch | DeviceHmmBatch")
Found = TypeVar("Found", bound="FragmentEvidence | DeviceEvidence")


@dataclass(frozen=True, slots=True)
class GenotypingStages(Generic[Given, Reads, Clipped, Batch, Found]):
    """Stages of genotyping on one kind of device, in their order.

    Attributes
    ----------
    active
        Returns a context in which the calling thread reads and genotypes.
    in_parts
        Yields the results of a function for some loci with their reads, on the device: one, or one
        per part of the loci if memory runs out.
    clip
        Clips the reads to the loci.
    count
        Returns int64[l]: clipped reads of each locus.
    join
        Returns the pair-HMM batch, a group per locus: its clipped reads and haplotypes. Raises an
        error for a read without base qualities, or with a tag `BI` or `BD` that does not fit.
    likelihoods
        The pair-HMM: float64, log10, as ordered in the batch.
    combine
        Combines the likelihoods of the clipped reads of each fragment.
    site_likelihoods
        Computes genotype likelihoods, of so many samples and of a ploidy, with the allele of each
        haplotype at each site.
    in_pieces
        Genotypes loci with more reads than are used, piece by piece.
    """

    active: Callable[[], AbstractContextManager[None]]
    in_parts: Callable[[Given, Callable[[Reads], Genotyped | Reads]], Iterable[Genotyped | Reads]]
    clip: Callable[[Reads], Clipped]
    count: Callable[[Reads, Clipped], NDArray[np.int64]]
    join: Callable[[Reads, Clipped], Batch]
    likelihoods: Callable[[Batch], GpuArray]
    combine: Callable[[Reads, Clipped, GpuArray], Found]
    site_likelihoods: Callable[[Found, LocusBatch, Ragged, int, int], SiteLikelihoods]
    in_pieces: Callable[[Reads], Iterator[Genotyped]]


class Genotyper(Generic[Given, Reads, Clipped, Batch, Found]):
    """Genotyping of batches of loci on a device; on a GPU, threads must not share an object.

    Parameters
    ----------
    options
        Ploidy, prior, PCR model.
    samples
        Number of samples.
    stages
        Stages of the device.

    Attributes
    ----------
    stages
        The stages.
    """

    def __init__(
        self,
        options: GenotypeOptions,
        samples: int,
        stages: GenotypingStages[Given, Reads, Clipped, Batch, Found],
    ) -> None:
        self._options = options
        self._samples = samples
        self.stages = stages

    def __call__(self, locus_reads: Given | GenotypedLoci) -> Iterator[Genotyped]:
        """Genotype the sites of some loci, in order, in slices where memory is too small.

        Raises
        ------
        InputError
            A read has no base qualities, or a tag `BI` or `BD` that does not fit its bases.
        MemoryError
            The GPU has too little memory for one locus.
        """
        if isinstance(locus_reads, GenotypedLoci):
            yield from locus_reads.parts
            return
        for found in self.stages.in_parts(locus_reads, self._genotyped):
            if isinstance(found, Genotyped):
                yield found
            else:
                yield from self.stages.in_pieces(found)

    def _genotyped(self, reads: Reads) -> Genotyped | Reads:
        """Return the calls; the reads as they are, if a locus has too many."""
        clipped = self.stages.clip(reads)
        haplotypes = np.diff(reads.batch.haplotypes.offsets)
        if has_too_many(self.stages.count(reads, clipped), haplotypes):
            return reads
        evidence, hmm = self._evidence(reads, clipped)
        return self.called(reads.batch, evidence, {"likelihoods": hmm.pairs, "cells": hmm.cells})

    def evidence(self, reads: Reads) -> tuple[Clipped, Found, Batch]:
        """Return the clipped reads of some loci, their fragments, and the batch of the pair-HMM.

        Raises
        ------
        InputError
            As in a call.
        """
        clipped = self.stages.clip(reads)
        return clipped, *self._evidence(reads, clipped)

    def _evidence(self, reads: Reads, clipped: Clipped) -> tuple[Found, Batch]:
        hmm = self.stages.join(reads, clipped)
        return self.stages.combine(reads, clipped, self.stages.likelihoods(hmm)), hmm

    def called(self, batch: LocusBatch, evidence: Found, work: Mapping[str, int]) -> Genotyped:
        """Call the sites of some loci from all of their fragments; `work` are further counts."""
        is_explained: GpuArray = evidence.is_explained
        poor = (~is_explained).sum()
        alleles = allele_table(batch.sites, batch.loci, batch.haplotypes)
        ploidy = self._options.ploidy
        likelihoods = self.stages.site_likelihoods(evidence, batch, alleles, self._samples, ploidy)
        calls = calls_of(likelihoods, batch, self._options.prior, ploidy)
        counts = {
            "haplotypes": len(batch.haplotypes.sequences),
            "fragments": is_explained.size,
            "poorly_modelled_fragments": int(poor),
            READS_OVER_LIMIT: 0,
            **work,
            "calls": int((calls.qualities >= 0).sum()),
            "no_calls": int((calls.qualities < 0).sum()),
        }
        return Genotyped(batch, calls, counts)


AnyGenotyper: TypeAlias = Genotyper[Any, Any, Any, Any, Any]
"""Genotyper on a device of any kind."""
