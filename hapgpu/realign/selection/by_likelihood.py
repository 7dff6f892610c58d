"""The haplotype of a read chosen by the pair-HMM, as GATK HaplotypeCaller does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch, ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.qualities.prepare import (
    QualityOptions,
    check_base_qualities,
    prepared_parts,
)
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes, PairsByLocus
from hapgpu.realign.align.dispatch import score_pairs
from hapgpu.realign.queries.orientations import Queries
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.by_score import (
    ScoredPairs,
    better_orientations,
    first_of_best,
    in_all_orientations,
    reads_of_rows,
    second_scores,
)
from hapgpu.runtime.devices import Device

INFORMATIVE: Final = 0.2
"""GATK takes log10 likelihoods that differ by no more for ties."""

_REMEDY: Final = "use --best-by score, or leave the read out"
_UNMAPPED: Final = 4
_NO_CAP: Final = 255


class LikelihoodChoice:
    """Chooses the best of all candidates by likelihood, with qualities prepared as GATK does.

    Parameters
    ----------
    haplotypes
        The haplotypes of the candidates.
    scoring
        Weights of the scores that go with the choice.
    device
        Where to compute.
    source
        Name of the input, for errors.
    """

    def __init__(
        self, haplotypes: HaplotypeSet, scoring: Scoring, device: Device, source: str
    ) -> None:
        self._haplotypes = haplotypes.sequences
        self._by_locus = LocusHaplotypes.of(haplotypes)
        self._scoring = scoring
        self._device = device
        self._source = source

    def __call__(
        self,
        candidates: ReadHaplotypePairs,
        reads: ReadBatch,
        queries: Queries,
    ) -> ScoredPairs:
        """Choose the first of the likeliest candidates of each read.

        Mapped reads are clipped to each locus, and compete at the locus with most of their bases:
        likelihoods of parts of different lengths cannot be compared.

        Parameters
        ----------
        candidates
            Those of the reads; a read without bases has none.
        reads
            The reads.
        queries
            The reads in their orientations.

        Raises
        ------
        InputError
            A read that meets a choice has no base qualities, or damaged ones of indels.
        """
        tried = in_all_orientations(candidates, queries)
        of_choices = _has_choice(tried, queries)
        rows = np.flatnonzero(of_choices)
        as_tried = self._as_tried(rows, reads, queries)
        of_rows = tried.without(~of_choices).of_reads_with_any()
        likelihoods = np.zeros(len(tried), dtype=np.float64)
        rows_tried = np.repeat(of_choices, tried.counts)
        likelihoods[rows_tried] = self._at_best_locus(of_rows, as_tried)
        chosen, likelihoods = better_orientations(candidates, queries, likelihoods)
        best = first_of_best(candidates, likelihoods, INFORMATIVE)
        scores = self._scores(candidates, chosen, queries.bases)
        return ScoredPairs(candidates, chosen, best, second_scores(candidates, scores, best))

    def _as_tried(self, rows: NDArray[np.int64], reads: ReadBatch, queries: Queries) -> ReadBatch:
        """Return the reads of rows of the queries, in their orientations.

        Unmapped reads are taken as sequenced: there is no mapping to doubt and no alignment, and
        the tags of recalibration, which have one direction only, are left aside.
        """
        of_rows = reads.take(reads_of_rows(queries)[rows])
        unmapped = of_rows.flags & _UNMAPPED > 0
        caps = np.where(unmapped, _NO_CAP, of_rows.mapping_qualities)
        as_tried = replace(
            of_rows,
            bases=queries.bases.take(rows),
            qualities=queries.qualities.take(rows),
            mapping_qualities=caps.astype(np.uint8),
            cigars=_emptied(of_rows.cigars, unmapped),
            tags=_emptied(of_rows.tags, unmapped),
        )
        check_base_qualities(as_tried, self._source, _REMEDY)
        return as_tried

    def _at_best_locus(
        self, candidates: ReadHaplotypePairs, reads: ReadBatch
    ) -> NDArray[np.float64]:
        """float64[c]: of reads clipped to the locus with most of their bases; -inf at others.

        A read without bases at any locus counts with all of them, as one without an alignment.
        """
        meetings = PairsByLocus.of(candidates, self._by_locus)
        parts = meetings.clipped_reads(reads, self._by_locus)
        most = _max_bases(parts, len(reads))
        parts = parts.with_all_bases_of(reads, most == 0)
        competes = parts.lengths >= most
        rows = meetings.pairs_of(competes)
        prepared = prepared_parts(reads, parts.take(competes), QualityOptions(), self._source)
        competing = PairsByLocus.of(candidates.take(rows), self._by_locus)
        likelihoods = np.full(len(candidates), -np.inf)
        likelihoods[rows] = self._likelihoods(competing, prepared)
        return likelihoods

    def _likelihoods(self, meetings: PairsByLocus, reads: HmmReads) -> NDArray[np.float64]:
        """float64[c]: of what is weighed of the read of each meeting, in candidate order."""
        batch = meetings.hmm_batch(reads, self._by_locus)
        return meetings.in_input_order(log10_likelihoods(batch, self._device))

    def _scores(
        self, candidates: ReadHaplotypePairs, queries: NDArray[np.int64], bases: Ragged
    ) -> NDArray[np.int32]:
        """int32[c]: of each candidate in its orientation; 0 for the only one of a read."""
        among_others = np.repeat(candidates.counts > 1, candidates.counts)
        pairs = PairBatch(
            self._haplotypes, bases, candidates.haplotypes, queries.astype(np.int32)
        ).take(among_others)
        scores = np.zeros(len(candidates), dtype=np.int32)
        scores[among_others] = score_pairs(pairs, self._scoring, Overhang.SOFTCLIP, self._device)
        return scores


def _has_choice(tried: ReadHaplotypePairs, queries: Queries) -> NDArray[np.bool_]:
    """bool[rows]: whether the read meets more than one candidate, or one in two orientations."""
    reads = reads_of_rows(queries)
    choices = np.bincount(reads, weights=tried.counts)
    return choices[reads] > 1


def _emptied(rows: Ragged, empty: NDArray[np.bool_]) -> Ragged:
    """Take all elements from the rows of a mask."""
    return Ragged.gather(rows.data, rows.offsets[:-1], np.where(empty, 0, rows.lengths))


def _max_bases(parts: ReadParts, reads: int) -> NDArray[np.int64]:
    """int64[p]: bases of the longest part of the read of each part."""
    most = np.zeros(reads, dtype=np.int64)
    np.maximum.at(most, parts.reads, parts.lengths)
    return most[parts.reads]
