"""Choice of the best haplotype of each read on the CPU: best pairs, and likelihoods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.read_parts import ReadParts
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes, PairsByLocus
from hapgpu.pairhmm.reads.qualities import check_base_qualities, prepared_parts
from hapgpu.realign.selection.choice import NO_SCORE, REMEDY
from hapgpu.realign.selection.queries import Queries
from hapgpu.runtime.devices import Device

_Number = TypeVar("_Number", np.int32, np.float64)

_NO_CAP: Final = 255


def first_of_best(
    pairs: ReadHaplotypePairs, values: NDArray[_Number], tolerance: float = 0
) -> NDArray[np.int64]:
    """Return int64[n]: each read's first pair within the tolerance of its best; -1 for none.

    `values` are int32[p] scores or float64[p] likelihoods.
    """
    best = np.full(pairs.counts.size, -1, dtype=np.int64)
    near = _near_best(pairs, values, tolerance)
    # Reversed: of several assignments to a read the last one, of its first pair, remains.
    best[pairs.reads[near][::-1]] = near[::-1]
    return best


def are_tied(
    pairs: ReadHaplotypePairs, values: NDArray[Any], tolerance: float
) -> NDArray[np.bool_]:
    """Return bool[n]: whether a read has several pairs within the tolerance of its best.

    `values` are int32[p] scores or float64[p] likelihoods.
    """
    reads = pairs.reads[_near_best(pairs, values, tolerance)]
    result: NDArray[np.bool_] = np.bincount(reads, minlength=pairs.counts.size) > 1
    return result


def _near_best(
    pairs: ReadHaplotypePairs, values: NDArray[Any], tolerance: float
) -> NDArray[np.int64]:
    """Return the pairs within the tolerance of their read's best."""
    has_any = pairs.counts > 0
    highest = np.maximum.reduceat(values, pairs.offsets[:-1][has_any])
    return np.flatnonzero(values >= np.repeat(highest - tolerance, pairs.counts[has_any]))


def second_scores(
    pairs: ReadHaplotypePairs, scores: NDArray[np.int32], best: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return int32[n]: the best score of each read without its best pair; NO_SCORE for none.

    `scores` are int32[p]; `best` is int64[n], the best pair, -1 for none.
    """
    others = scores.copy()
    others[best[best >= 0]] = NO_SCORE
    second = np.full(pairs.counts.size, NO_SCORE, dtype=np.int32)
    has_any = pairs.counts > 0
    second[has_any] = np.maximum.reduceat(others, pairs.offsets[:-1][has_any])
    return second


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Computes likelihoods on one device; `source` names the input in errors."""

    device: Device
    source: str

    def at_best_locus(
        self,
        reads: ReadBatch,
        queries: Queries,
        rows: NDArray[np.int64],
        pairs: ReadHaplotypePairs,
        haplotypes: LocusHaplotypes,
    ) -> NDArray[np.float64]:
        """Return float64[p]: the log10 likelihoods of pairs, as `ChoiceStages.likelihoods`.

        The reads are queries, `rows`, int64[n].

        Raises
        ------
        InputError
            A read has no base qualities, or invalid indel qualities.
        """
        likelihoods = np.full(len(pairs), -np.inf)
        if not likelihoods.size:
            return likelihoods
        oriented = _oriented_reads(reads, queries, rows)
        check_base_qualities(oriented, self.source, REMEDY)
        all_loci = PairsByLocus.of(pairs, haplotypes)
        parts = all_loci.clipped_reads(oriented, haplotypes)
        max_bases = _max_bases(parts, len(oriented))
        parts = parts.with_all_bases_of(oriented, max_bases == 0)
        is_best_locus = parts.lengths >= max_bases
        best_rows = all_loci.in_input_order(all_loci.pairs_of(is_best_locus))
        best_loci = PairsByLocus.of(pairs.take(best_rows), haplotypes)
        likelihoods[best_rows] = self._of_parts(
            oriented, parts.take(is_best_locus), best_loci, haplotypes
        )
        return likelihoods

    def of_extended(
        self,
        reads: ReadBatch,
        pairs: ReadHaplotypePairs,
        extended: ExtendedHaplotypes,
        clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> NDArray[np.float64]:
        """Return log10 P(read | haplotype) of p pairs, float64[p].

        Parameters
        ----------
        reads
            n reads.
        pairs
            The pairs of the reads; their haplotypes are rows of `extended`.
        extended
            Haplotypes extended by flanks.
        clips
            int32[n] each: numbers of bases at the start and at the end of a read that are ignored.

        Raises
        ------
        InputError
            A read has no base qualities, or invalid indel qualities.
        """
        if not len(pairs):
            return np.empty(0, dtype=np.float64)
        check_base_qualities(reads, self.source, REMEDY)
        haplotypes = LocusHaplotypes.of_windows(extended)
        by_locus = PairsByLocus.of(pairs, haplotypes)
        starts, rows = clips[0].astype(np.int64), by_locus.reads
        parts = ReadParts(rows, starts[rows], (reads.bases.lengths - clips[1])[rows])
        return self._of_parts(reads, parts, by_locus, haplotypes)

    def _of_parts(
        self,
        reads: ReadBatch,
        parts: ReadParts,
        by_locus: PairsByLocus,
        haplotypes: LocusHaplotypes,
    ) -> NDArray[np.float64]:
        """Return the likelihoods of a part of a read per overlap, in the order of the pairs."""
        prepared = prepared_parts(reads, parts, QualityOptions(), self.source)
        batch = by_locus.hmm_batch(prepared, haplotypes)
        return by_locus.in_input_order(log10_likelihoods(batch, self.device))


def _oriented_reads(reads: ReadBatch, queries: Queries, rows: NDArray[np.int64]) -> ReadBatch:
    """Return the reads of rows of the queries, in their orientations; unmapped as sequenced."""
    own = reads.take(queries.reads[rows])
    unmapped = own.flags & UNMAPPED > 0
    caps = np.where(unmapped, _NO_CAP, own.mapping_qualities)
    return replace(
        own,
        bases=queries.bases.take(rows),
        qualities=queries.qualities.take(rows),
        mapping_qualities=caps.astype(np.uint8),
        cigars=_emptied(own.cigars, unmapped),
        tags=_emptied(own.tags, unmapped),
    )


def _emptied(rows: Ragged, empty: NDArray[np.bool_]) -> Ragged:
    """Remove all elements from the rows of a mask."""
    return Ragged.gather(rows.data, rows.offsets[:-1], np.where(empty, 0, rows.lengths))


def _max_bases(parts: ReadParts, reads: int) -> NDArray[np.int64]:
    """Return the length of the longest part of the same read, for each part."""
    longest = np.zeros(reads, dtype=np.int64)
    np.maximum.at(longest, parts.reads, parts.lengths)
    return longest[parts.reads]
