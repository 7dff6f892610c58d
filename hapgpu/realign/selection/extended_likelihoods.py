"""Likelihoods of reads given extended haplotypes, for the choice of the best haplotype."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.qualities.prepare import (
    QualityOptions,
    check_base_qualities,
    prepared_parts,
)
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes, PairsByLocus
from hapgpu.realign.selection.by_likelihood import REMEDY
from hapgpu.runtime.devices import Device


@dataclass(frozen=True, slots=True)
class ExtendedLikelihoods:
    """Computes likelihoods on one device; `source` names the input in errors."""

    device: Device
    source: str

    def __call__(
        self,
        reads: ReadBatch,
        pairs: ReadHaplotypePairs,
        rows: NDArray[np.int32],
        extended: ExtendedHaplotypes,
        clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> NDArray[np.float64]:
        """Return log10 P(read | haplotype) of p pairs, float64[p].

        Parameters
        ----------
        reads
            n reads.
        pairs
            The pairs of the reads.
        rows
            int32[p], the row in `extended` of the haplotype of each pair.
        extended
            Haplotypes extended by flanks.
        clips
            int32[n] each: numbers of bases at the start and at the end of a read that are ignored.

        Raises
        ------
        InputError
            A read has no base qualities, or invalid indel qualities.
        """
        check_base_qualities(reads, self.source, REMEDY)
        leading, trailing = clips
        haplotypes = LocusHaplotypes.of_windows(extended)
        pairs_by_locus = PairsByLocus.of(ReadHaplotypePairs(pairs.offsets, rows), haplotypes)
        ends = (reads.bases.lengths - trailing)[pairs_by_locus.reads]
        parts = ReadParts(
            pairs_by_locus.reads, leading[pairs_by_locus.reads].astype(np.int64), ends
        )
        prepared = prepared_parts(reads, parts, QualityOptions(), self.source)
        batch = pairs_by_locus.hmm_batch(prepared, haplotypes)
        return pairs_by_locus.in_input_order(log10_likelihoods(batch, self.device))
