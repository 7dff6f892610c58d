"""Choice of the best haplotype of a read by likelihood, as in GATK HaplotypeCaller."""

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
"""In GATK, log10 likelihoods that differ by at most this are ties."""

ROUNDING: Final = 1e-4
"""log10 likelihoods of equal orientations, as of a single base, differ by less than this."""

REMEDY: Final = "use --best-by score, or remove the read"
"""What to do about reads without the qualities that likelihoods need."""

_UNMAPPED: Final = 4
_NO_CAP: Final = 255


class LikelihoodChoice:
    """Chooses the best haplotype of each read by likelihood, with qualities prepared as in GATK.

    Parameters
    ----------
    haplotypes
        The haplotypes of the pairs.
    scoring
        Weights of the scores of the pairs.
    device
        The device that computes.
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
        pairs: ReadHaplotypePairs,
        reads: ReadBatch,
        queries: Queries,
    ) -> ScoredPairs:
        """Choose the pair of each read with the highest likelihood, the first of ties.

        Mapped reads are clipped to each locus. Only the pairs at the locus with most bases of the
        read are compared: likelihoods of parts of different lengths are not comparable.

        Parameters
        ----------
        pairs
            The pairs of the reads; a read without bases has none.
        reads
            The reads.
        queries
            The reads in their orientations.

        Raises
        ------
        InputError
            A read with several pairs or orientations has no base qualities, or invalid indel
            qualities.
        """
        oriented_pairs = in_all_orientations(pairs, queries)
        is_computed = _has_alternatives(oriented_pairs, queries)
        rows = np.flatnonzero(is_computed)
        oriented_reads = self._oriented_reads(rows, reads, queries)
        pairs_of_rows = oriented_pairs.without(~is_computed).of_reads_with_any()
        likelihoods = np.zeros(len(oriented_pairs), dtype=np.float64)
        is_computed_pair = np.repeat(is_computed, oriented_pairs.counts)
        likelihoods[is_computed_pair] = self._at_best_locus(pairs_of_rows, oriented_reads)
        query_rows, likelihoods = better_orientations(pairs, queries, likelihoods, ROUNDING)
        best = first_of_best(pairs, likelihoods, INFORMATIVE)
        scores = self._scores(pairs, query_rows, queries.bases)
        seconds = second_scores(pairs, scores, best)
        return ScoredPairs(pairs, query_rows, best, seconds, likelihoods, INFORMATIVE)

    def _oriented_reads(
        self, rows: NDArray[np.int64], reads: ReadBatch, queries: Queries
    ) -> ReadBatch:
        """Return the reads of rows of the queries, in their orientations.

        Unmapped reads are used as sequenced: they have no mapping quality and no alignment, and
        the tags of base recalibration, which are for one orientation, are ignored.
        """
        reads_of_queries = reads.take(reads_of_rows(queries)[rows])
        unmapped = reads_of_queries.flags & _UNMAPPED > 0
        caps = np.where(unmapped, _NO_CAP, reads_of_queries.mapping_qualities)
        oriented = replace(
            reads_of_queries,
            bases=queries.bases.take(rows),
            qualities=queries.qualities.take(rows),
            mapping_qualities=caps.astype(np.uint8),
            cigars=_emptied(reads_of_queries.cigars, unmapped),
            tags=_emptied(reads_of_queries.tags, unmapped),
        )
        check_base_qualities(oriented, self._source, REMEDY)
        return oriented

    def _at_best_locus(self, pairs: ReadHaplotypePairs, reads: ReadBatch) -> NDArray[np.float64]:
        """Return the likelihoods of pairs, float64[p]; -inf except at the read's best locus.

        The best locus has most aligned bases of the read. A read without bases at any locus is
        used whole, as a read without an alignment.
        """
        all_loci = PairsByLocus.of(pairs, self._by_locus)
        parts = all_loci.clipped_reads(reads, self._by_locus)
        max_bases = _max_bases(parts, len(reads))
        parts = parts.with_all_bases_of(reads, max_bases == 0)
        is_best_locus = parts.lengths >= max_bases
        rows = all_loci.pairs_of(is_best_locus)
        prepared = prepared_parts(reads, parts.take(is_best_locus), QualityOptions(), self._source)
        best_loci = PairsByLocus.of(pairs.take(rows), self._by_locus)
        likelihoods = np.full(len(pairs), -np.inf)
        likelihoods[rows] = self._likelihoods(best_loci, prepared)
        return likelihoods

    def _likelihoods(self, pairs_by_locus: PairsByLocus, reads: HmmReads) -> NDArray[np.float64]:
        """Return the likelihoods of prepared reads, one per overlap, in the order of the pairs."""
        batch = pairs_by_locus.hmm_batch(reads, self._by_locus)
        return pairs_by_locus.in_input_order(log10_likelihoods(batch, self._device))

    def _scores(
        self, pairs: ReadHaplotypePairs, queries: NDArray[np.int64], bases: Ragged
    ) -> NDArray[np.int32]:
        """Return int32[p]: the score of each pair in its orientation; 0 for a read's only pair."""
        is_one_of_several = np.repeat(pairs.counts > 1, pairs.counts)
        batch = PairBatch(self._haplotypes, bases, pairs.haplotypes, queries.astype(np.int32))
        scores = np.zeros(len(pairs), dtype=np.int32)
        scores[is_one_of_several] = score_pairs(
            batch.take(is_one_of_several), self._scoring, Overhang.SOFTCLIP, self._device
        )
        return scores


def _has_alternatives(oriented_pairs: ReadHaplotypePairs, queries: Queries) -> NDArray[np.bool_]:
    """Return bool[rows]: whether the read has more than one pair, in all orientations."""
    reads = reads_of_rows(queries)
    counts = np.bincount(reads, weights=oriented_pairs.counts)
    return counts[reads] > 1


def _emptied(rows: Ragged, empty: NDArray[np.bool_]) -> Ragged:
    """Remove all elements from the rows of a mask."""
    return Ragged.gather(rows.data, rows.offsets[:-1], np.where(empty, 0, rows.lengths))


def _max_bases(parts: ReadParts, reads: int) -> NDArray[np.int64]:
    """Return the length of the longest part of the same read, for each part."""
    longest = np.zeros(reads, dtype=np.int64)
    np.maximum.at(longest, parts.reads, parts.lengths)
    return longest[parts.reads]
