"""Likelihoods of one batch of aligned reads: pairs, qualities, pair-HMM."""

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

REMEDY: Final = "add them, or remove the read"
"""Of a read without base qualities."""

_UNMAPPED: Final = 4
_PAIRED, _FIRST, _SECOND = 1, 64, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """Options of the likelihoods.

    Attributes
    ----------
    qualities
        Options of the qualities.
    normalize
        Raise likelihoods to at least the best of their read and locus less 4.5, and exclude reads
        at loci where no haplotype explains them.
    whole_reads
        Use all bases of a read at each of its loci, instead of the bases aligned within the
        locus; haplotypes are not extended.
    require_flags, exclude_flags
        A read must have all of the first flags and none of the second.
    """

    qualities: QualityOptions
    normalize: bool
    whole_reads: bool
    require_flags: int
    exclude_flags: int


def extender_of(
    haplotypes: HaplotypeSet, header: SamHeader, options: ScorerOptions, reference: Path | None
) -> Extender | None:
    """Return a new extender of the haplotypes; None if they are not extended.

    Raises
    ------
    InputError
        The reference cannot be read, lacks a contig, or ends before a locus.
    """
    if reference is None or not haplotypes.loci or options.whole_reads:
        return None
    return Extender(haplotypes, reference, header)


@dataclass(frozen=True, slots=True)
class ReadLikelihoods:
    """n reads with their likelihoods, in input order, and counts.

    Attributes
    ----------
    names
        uint8 text, n rows.
    mates
        uint8[n]: 1 or 2, or 0 for reads that are not paired or whose flags do not say.
    pairs
        The haplotypes paired with each read, at least one.
    likelihoods
        float64[pairs], log10.
    counts
        Numbers of reads, likelihoods, cells and excluded reads, by name.
    """

    names: Ragged
    mates: NDArray[np.uint8]
    pairs: ReadHaplotypePairs
    likelihoods: NDArray[np.float64]
    counts: Mapping[str, int]


class Scorer:
    """Computes the likelihoods of batches of reads on one device.

    Parameters
    ----------
    haplotypes
        The haplotypes; each read is paired with the haplotypes of the loci it overlaps.
    header
        The header of the input.
    options
        Options of the likelihoods.
    device
        The device that computes.
    source
        Name of the input, for errors.
    reference
        FASTA with its index. If given, haplotypes with loci are extended by its bases as far as
        each read reaches, and reads are not clipped; then threads must not share the object.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks; or the reference cannot be read, lacks a
        contig, or ends before a locus.
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
        self._extender = extender_of(haplotypes, header, options, reference)

    def __call__(self, reads: ReadBatch) -> ReadLikelihoods:
        """Compute the likelihoods of reads; reads that the flags exclude are not in the result.

        Also excluded are reads at no locus, unmapped reads (their orientation is unknown), reads
        without bases, or without bases at their loci, and, where haplotypes are extended, spliced
        reads.

        Raises
        ------
        InputError
            A read has no base qualities, a tag `BI` or `BD` without one quality per base, or
            fewer bases than its CIGAR clips; or the reference is damaged.
        """
        counts = {"reads": len(reads)}
        reads = reads.take(
            reads.has_flags(self._options.require_flags, self._options.exclude_flags)
        )
        unmapped = reads.flags & _UNMAPPED > 0
        empty = ~unmapped & (reads.bases.lengths == 0)
        counts |= {"unmapped": int(unmapped.sum()), "without_bases": int(empty.sum())}
        reads = reads.take(~unmapped & ~empty)
        pairs = self._finder.find(reads)
        if self._extender is not None:
            # Extended haplotypes have the introns that spliced reads lack.
            spliced = (skipped_lengths(reads.cigars) > 0) & (pairs.counts > 0)
            counts["spliced"] = int(spliced.sum())
            pairs = pairs.without(spliced)
        reads = reads.take(pairs.counts > 0)
        return self._scored(reads, pairs.of_reads_with_any(), counts)

    def _scored(
        self, reads: ReadBatch, pairs: ReadHaplotypePairs, counts: dict[str, int]
    ) -> ReadLikelihoods:
        """Compute the likelihoods of reads with at least one haplotype each."""
        check_base_qualities(reads, self._source, REMEDY)
        haplotypes, extended_pairs = self._extended(reads, pairs)
        pairs_by_locus = PairsByLocus.of(extended_pairs, haplotypes)
        parts = self._parts(reads, pairs_by_locus, haplotypes)
        if not (has_bases := parts.lengths > 0).all():
            kept = pairs_by_locus.pairs_of(has_bases)
            pairs, extended_pairs = pairs.take(kept), extended_pairs.take(kept)
            pairs_by_locus = PairsByLocus.of(extended_pairs, haplotypes)
            parts = parts.take(has_bases)
        prepared = prepared_parts(reads, parts, self._options.qualities, self._source)
        batch = pairs_by_locus.hmm_batch(prepared, haplotypes)
        likelihoods = log10_likelihoods(batch, self._device)
        kept = np.ones(len(pairs), dtype=np.bool_)
        counts["without_bases_at_locus"] = int((~has_bases).sum())
        if self._options.normalize:
            likelihoods, best = normalized(likelihoods, pairs_by_locus.counts)
            is_explained = is_well_modelled(best, parts.lengths)
            counts["poorly_modelled"] = int((~is_explained).sum())
            kept = pairs_by_locus.pairs_of(is_explained)
        counts |= {"likelihoods": int(kept.sum()), "cells": batch.cells}
        likelihoods = pairs_by_locus.in_input_order(likelihoods)[kept]
        pairs = pairs.take(kept)
        has_any = pairs.counts > 0
        return ReadLikelihoods(
            reads.names.take(has_any),
            _mates(reads.flags[has_any]),
            pairs.of_reads_with_any(),
            likelihoods,
            counts,
        )

    def _extended(
        self, reads: ReadBatch, pairs: ReadHaplotypePairs
    ) -> tuple[LocusHaplotypes, ReadHaplotypePairs]:
        """Return the haplotypes as used for the reads, and the pairs with row numbers of these.

        An extended haplotype has a row for each pair of flanks.
        """
        if self._extender is None:
            return self._haplotypes, pairs
        clips = clips_of(reads, self._source)
        needed = self._extender.flanks_needed(reads, clips, pairs.reads, pairs.haplotypes)
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        return LocusHaplotypes.of_windows(extended), ReadHaplotypePairs(pairs.offsets, rows)

    def _parts(
        self, reads: ReadBatch, pairs_by_locus: PairsByLocus, haplotypes: LocusHaplotypes
    ) -> ReadParts:
        """Return the part of the read that each overlap uses; it may have no bases."""
        if self._options.whole_reads:
            return pairs_by_locus.whole_reads(reads)
        return pairs_by_locus.clipped_reads(reads, haplotypes)


def _mates(flags: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Return uint8[n]: 1 or 2 for the reads of a pair, else 0."""
    number = np.where(flags & _FIRST, 1, np.where(flags & _SECOND, 2, 0))
    return np.where(flags & _PAIRED, number, 0).astype(np.uint8)
