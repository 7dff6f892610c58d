"""Likelihoods of reads given haplotypes with flanks, for the choice of the best haplotype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
from hapgpu.runtime.devices import Device

_REMEDY: Final = "use --best-by score, or leave the read out"


@dataclass(frozen=True, slots=True)
class ExtendedLikelihoods:
    """Computes likelihoods on one device; `source` names the input in errors."""

    device: Device
    source: str

    def __call__(
        self,
        reads: ReadBatch,
        candidates: ReadHaplotypePairs,
        rows: NDArray[np.int32],
        extended: ExtendedHaplotypes,
        clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> NDArray[np.float64]:
        """Return log10 P(read | haplotype) of c candidates, float64[c].

        Parameters
        ----------
        reads
            n reads.
        candidates
            Their candidates, read by read.
        rows
            int32[c], where among `extended` the candidates are.
        extended
            Haplotypes with flanks.
        clips
            int32[n] each: bases of a read, at its start and its end, that are not weighed.

        Raises
        ------
        InputError
            A read has no base qualities, or damaged ones of indels.
        """
        check_base_qualities(reads, self.source, _REMEDY)
        leading, trailing = clips
        haplotypes = LocusHaplotypes.of_windows(extended)
        meetings = PairsByLocus.of(ReadHaplotypePairs(candidates.offsets, rows), haplotypes)
        ends = (reads.bases.lengths - trailing)[meetings.reads]
        parts = ReadParts(meetings.reads, leading[meetings.reads].astype(np.int64), ends)
        prepared = prepared_parts(reads, parts, QualityOptions(), self.source)
        batch = meetings.hmm_batch(prepared, haplotypes)
        return meetings.in_input_order(log10_likelihoods(batch, self.device))
