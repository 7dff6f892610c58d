"""The haplotype of a read chosen by the pair-HMM, as GATK HaplotypeCaller does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import PairBatch, Ragged, ReadBatch
from hapgpu.device import Device
from hapgpu.pairhmm.batch import HmmReads
from hapgpu.pairhmm.likelihoods import log10_likelihoods
from hapgpu.pairhmm.meetings import LocusHaplotypes, Meetings
from hapgpu.pairhmm.qualities import QualityOptions, check_base_qualities, prepared_reads
from hapgpu.realign.align import score_pairs
from hapgpu.realign.candidates import Candidates
from hapgpu.realign.haplotypes import HaplotypeSet
from hapgpu.realign.queries import Clips, Queries
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.select import (
    ScoredCandidates,
    better_orientations,
    first_of_best,
    in_all_orientations,
    reads_of_rows,
    second_scores,
)

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
        self._by_locus = LocusHaplotypes.of(haplotypes.sequences, haplotypes.locus_index)
        self._scoring = scoring
        self._device = device
        self._source = source

    def __call__(
        self,
        candidates: Candidates,
        reads: ReadBatch,
        queries: Queries,
        bases: Ragged,
        clips: Clips | None,
    ) -> ScoredCandidates:
        """Choose the first of the likeliest candidates of each read.

        Parameters
        ----------
        candidates
            Those of the reads; a read without bases has none.
        reads
            The reads.
        queries
            The reads in their orientations.
        bases
            uint8 text with the rows of `queries`: what is aligned of each, and likely or not.
        clips
            What it is without, or None for nothing.

        Raises
        ------
        InputError
            A read that meets a choice has no base qualities, or damaged ones of indels.
        """
        tried = in_all_orientations(candidates, queries)
        of_choices = _has_choice(tried, queries)
        rows = np.flatnonzero(of_choices)
        prepared = self._prepared(rows, reads, queries)
        if clips is not None:
            prepared = _without_clips(prepared, clips.leading, rows, bases)
        likelihoods = np.zeros(len(tried), dtype=np.float64)
        likelihoods[np.repeat(of_choices, tried.counts)] = self._likelihoods(
            tried.without(~of_choices).of_reads_with_any(), prepared
        )
        chosen, likelihoods = better_orientations(candidates, queries, likelihoods)
        best = first_of_best(candidates, likelihoods, INFORMATIVE)
        scores = self._scores(candidates, chosen, bases)
        return ScoredCandidates(candidates, chosen, best, second_scores(candidates, scores, best))

    def _prepared(self, rows: NDArray[np.int64], reads: ReadBatch, queries: Queries) -> HmmReads:
        """Give rows of the queries their qualities.

        Those of unmapped reads are taken as sequenced: there is no mapping to doubt, and the
        tags of recalibration, which have one direction only, are left aside.
        """
        of_rows = reads.take(reads_of_rows(queries)[rows])
        unmapped = of_rows.flags & _UNMAPPED > 0
        caps = np.where(unmapped, _NO_CAP, of_rows.mapping_qualities)
        tags = of_rows.tags
        tag_lengths = np.where(unmapped, 0, tags.lengths)
        as_tried = replace(
            of_rows,
            bases=queries.bases.take(rows),
            qualities=queries.qualities.take(rows),
            mapping_qualities=caps.astype(np.uint8),
            tags=Ragged.gather(tags.data, tags.offsets[:-1], tag_lengths),
        )
        check_base_qualities(as_tried, self._source, _REMEDY)
        return prepared_reads(as_tried, QualityOptions(), self._source)

    def _likelihoods(self, candidates: Candidates, reads: HmmReads) -> NDArray[np.float64]:
        """float64[c]: of each read with its candidates."""
        meetings = Meetings.of(candidates, self._by_locus)
        batch = meetings.hmm_batch(reads, self._by_locus)
        return meetings.in_candidate_order(log10_likelihoods(batch, self._device))

    def _scores(
        self, candidates: Candidates, queries: NDArray[np.int64], bases: Ragged
    ) -> NDArray[np.int32]:
        """int32[c]: of each candidate in its orientation; 0 for the only one of a read."""
        among_others = np.repeat(candidates.counts > 1, candidates.counts)
        pairs = PairBatch(
            self._haplotypes, bases, candidates.haplotypes, queries.astype(np.int32)
        ).take(among_others)
        scores = np.zeros(len(candidates), dtype=np.int32)
        scores[among_others] = score_pairs(pairs, self._scoring, Overhang.SOFTCLIP, self._device)
        return scores


def _has_choice(tried: Candidates, queries: Queries) -> NDArray[np.bool_]:
    """bool[rows]: whether the read meets more than one candidate, or one in two orientations."""
    reads = reads_of_rows(queries)
    choices = np.bincount(reads, weights=tried.counts)
    return choices[reads] > 1


def _without_clips(
    reads: HmmReads, leading: NDArray[np.int32], rows: NDArray[np.int64], bases: Ragged
) -> HmmReads:
    """Keep what is aligned of rows of the queries; those reversed had no clips."""
    begins = reads.bases.offsets[:-1].copy()
    stored = rows < leading.size
    begins[stored] += leading[rows[stored]]
    return reads.gather(begins, bases.lengths_of(rows))
