"""Likelihoods of one batch of aligned reads: candidates, qualities, pair-HMM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.clips import clips_of
from hapgpu.cigar.encoding import skipped_lengths
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.haplotypes.pairing.extended_haplotypes import Extender
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.io.bam.header import SamHeader
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.normalize import is_well_modelled, normalized
from hapgpu.pairhmm.qualities.prepare import (
    QualityOptions,
    check_base_qualities,
    prepared_parts,
)
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes, PairsByLocus
from hapgpu.runtime.devices import Device

_REMEDY: Final = "give it some, or leave it out"
_UNMAPPED: Final = 4
_PAIRED, _FIRST, _SECOND = 1, 64, 128


@dataclass(frozen=True, slots=True)
class ScorerOptions:
    """What the user may choose.

    Attributes
    ----------
    qualities
        How reads are prepared.
    normalize
        Keep likelihoods within 4.5 of the best of their read and locus, and leave out reads
        where no haplotype of the locus explains them.
    whole_reads
        Weigh all bases of a read at each of its loci, instead of those aligned within the locus;
        haplotypes are not extended either.
    require_flags, exclude_flags
        Flags that a read must all have, and none of which it may have.
    """

    qualities: QualityOptions
    normalize: bool
    whole_reads: bool
    require_flags: int
    exclude_flags: int


@dataclass(frozen=True, slots=True)
class Scored:
    """n reads with their likelihoods, in input order, and what was done for them.

    Attributes
    ----------
    names
        uint8 text, n rows.
    mates
        uint8[n]: 1 or 2, or 0 for reads that are not paired or do not tell.
    candidates
        The haplotypes that each read met, at least one.
    likelihoods
        float64[candidates], log10.
    counts
        Of what the batch held, what was computed and what was left out, by name.
    """

    names: Ragged
    mates: NDArray[np.uint8]
    candidates: ReadHaplotypePairs
    likelihoods: NDArray[np.float64]
    counts: Mapping[str, int]


class Scorer:
    """Computes the likelihoods of batches of reads on one device.

    Parameters
    ----------
    haplotypes
        The haplotypes, which reads meet by locus.
    header
        The header of the input.
    options
        What the user chose.
    device
        Where to compute.
    source
        Name of the input, for errors.
    reference
        FASTA with its index: haplotypes with loci are extended by its bases as far as each read
        reaches, and reads are not clipped. Then not to be shared between threads.

    Raises
    ------
    InputError
        A locus lies on a contig that the header does not have; or the reference cannot be read,
        lacks a contig, or ends before a locus.
    """

    def __init__(
        self,
        haplotypes: HaplotypeSet,
        header: SamHeader,
        options: ScorerOptions,
        device: Device,
        source: str,
        reference: Path | None = None,
    ) -> None:
        self._haplotypes = LocusHaplotypes.of(haplotypes)
        self._options = options
        self._device = device
        self._source = source
        self._finder = PairFinder(haplotypes, header, source)
        self._extender: Extender | None = None
        if reference is not None and haplotypes.loci and not options.whole_reads:
            self._extender = Extender(haplotypes, reference, header)

    def __call__(self, reads: ReadBatch) -> Scored:
        """Score reads; those that the flags or the loci leave out are not in the result.

        Neither are unmapped reads, whose orientation is unknown, and reads without bases, be it at
        their loci only; nor spliced reads where haplotypes are extended.

        Raises
        ------
        InputError
            A read has no base qualities, a tag `BI` or `BD` that does not fit its bases, or fewer
            bases than its CIGAR clips; or the reference is damaged.
        """
        counts = {"reads": len(reads)}
        wanted = reads.has_flags(self._options.require_flags, self._options.exclude_flags)
        reads = reads.take(wanted)
        unmapped = reads.flags & _UNMAPPED > 0
        empty = ~unmapped & (reads.bases.lengths == 0)
        counts |= {"unmapped": int(unmapped.sum()), "without_bases": int(empty.sum())}
        reads = reads.take(~unmapped & ~empty)
        candidates = self._finder.find(reads)
        if self._extender is not None:
            # Extended haplotypes have the introns that spliced reads lack.
            spliced = (skipped_lengths(reads.cigars) > 0) & (candidates.counts > 0)
            counts["spliced"] = int(spliced.sum())
            candidates = candidates.without(spliced)
        reads = reads.take(candidates.counts > 0)
        return self._scored(reads, candidates.of_reads_with_any(), counts)

    def _scored(
        self, reads: ReadBatch, candidates: ReadHaplotypePairs, counts: dict[str, int]
    ) -> Scored:
        """Score reads, each with at least one candidate."""
        check_base_qualities(reads, self._source, _REMEDY)
        haplotypes, met = self._extended(reads, candidates)
        meetings = PairsByLocus.of(met, haplotypes)
        parts = self._parts(reads, meetings, haplotypes)
        if not (has_bases := parts.lengths > 0).all():
            kept = meetings.candidates_of(has_bases)
            candidates, met = candidates.take(kept), met.take(kept)
            meetings, parts = PairsByLocus.of(met, haplotypes), parts.take(has_bases)
        prepared = prepared_parts(reads, parts, self._options.qualities, self._source)
        batch = meetings.hmm_batch(prepared, haplotypes)
        values = log10_likelihoods(batch, self._device)
        kept = np.ones(len(candidates), dtype=np.bool_)
        counts["without_bases_at_locus"] = int((~has_bases).sum())
        if self._options.normalize:
            values, best = normalized(values, meetings.counts)
            well = is_well_modelled(best, parts.lengths)
            counts["poorly_modelled"] = int((~well).sum())
            kept = meetings.candidates_of(well)
        counts |= {"likelihoods": int(kept.sum()), "cells": batch.cells}
        values = meetings.in_candidate_order(values)[kept]
        candidates = candidates.take(kept)
        has_any = candidates.counts > 0
        return Scored(
            reads.names.take(has_any),
            _mates(reads.flags[has_any]),
            candidates.of_reads_with_any(),
            values,
            counts,
        )

    def _extended(
        self, reads: ReadBatch, candidates: ReadHaplotypePairs
    ) -> tuple[LocusHaplotypes, ReadHaplotypePairs]:
        """Return the haplotypes that reads meet, and the candidates as rows of them.

        Where haplotypes are extended, there is a row for each with each pair of flanks.
        """
        if self._extender is None:
            return self._haplotypes, candidates
        clips = clips_of(reads, self._source)
        needed = self._extender.flanks_needed(reads, clips, candidates.reads, candidates.haplotypes)
        extended, rows = self._extender.extend(candidates.haplotypes, needed)
        return LocusHaplotypes.of_windows(extended), ReadHaplotypePairs(candidates.offsets, rows)

    def _parts(
        self, reads: ReadBatch, meetings: PairsByLocus, haplotypes: LocusHaplotypes
    ) -> ReadParts:
        """Return what is weighed of the read of each meeting; it may have no bases."""
        if self._options.whole_reads:
            return meetings.whole_reads(reads)
        return meetings.clipped_reads(reads, haplotypes)


def _mates(flags: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """uint8[n]: which read of its pair each read is."""
    number = np.where(flags & _FIRST, 1, np.where(flags & _SECOND, 2, 0))
    return np.where(flags & _PAIRED, number, 0).astype(np.uint8)
