"""Choice of the best haplotype of each read, on the CPU and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import numpy as np

from hapgpu.arrays.kinds import AnyArray, AnyRagged, ArrayKind, Rows_co

NO_SCORE: Final = -(2**31)

INFORMATIVE: Final = 0.2
"""In GATK, log10 likelihoods that differ by at most this are ties."""

ROUNDING: Final = 1e-4
"""log10 likelihoods of equal orientations, as of a single base, differ by less than this."""

REMEDY: Final = "use --best-by score, or remove the read"
"""What to do about reads without the qualities that likelihoods need."""


class AnyPairs(Protocol):
    """Pairs of reads and haplotypes: `ReadHaplotypePairs`, or `DeviceReadPairs`."""

    @property
    def offsets(self) -> AnyArray:
        """int64[n + 1]: the pairs of read i are rows `offsets[i]` to `offsets[i + 1]`."""
        ...

    @property
    def haplotypes(self) -> AnyArray:
        """int32[p]: the haplotype of each pair."""
        ...

    @property
    def reads(self) -> AnyArray:
        """[p], any integer dtype: the read of each pair."""
        ...

    @property
    def counts(self) -> AnyArray:
        """int64[n]: the number of haplotypes of each read."""
        ...

    def __len__(self) -> int: ...


class AnyQueries(Protocol):
    """Reads in one orientation or in both: `Queries`, or `DeviceQueries`."""

    @property
    def bases(self) -> AnyRagged:
        """The n reads as stored, then the reversed reads."""
        ...

    @property
    def reads(self) -> AnyArray:
        """int64: the read of each row."""
        ...

    @property
    def reversed_row(self) -> AnyArray:
        """int64[n], the row of the reversed read; -1 for a read with one orientation."""
        ...

    @property
    def has_reversed(self) -> bool:
        """Whether any read has two orientations."""
        ...


class WithSequences(Protocol[Rows_co]):
    """Haplotypes to align with."""

    @property
    def sequences(self) -> Rows_co:
        """uint8 text."""
        ...


class WithBases(Protocol[Rows_co]):
    """Bases of reads to align."""

    @property
    def bases(self) -> Rows_co:
        """uint8 text."""
        ...


Pairs = TypeVar("Pairs", bound=AnyPairs)
Reads_contra = TypeVar("Reads_contra", contravariant=True)
Queries_contra = TypeVar("Queries_contra", bound=AnyQueries, contravariant=True)
Targets_contra = TypeVar("Targets_contra", contravariant=True)


class ChoiceStages(Protocol[Reads_contra, Pairs, Queries_contra, Targets_contra]):
    """Steps of the choice on one device; `targets` are the haplotypes of the pairs."""

    @property
    def arrays(self) -> ArrayKind[AnyRagged]:
        """The functions on the device's arrays."""
        ...

    def pairs(self, offsets: AnyArray, haplotypes: AnyArray, /) -> Pairs:
        """Make pairs of their columns, `offsets`, int64[n + 1], and `haplotypes`, int32[p]."""
        ...

    def score(
        self,
        targets: Targets_contra,
        queries: Queries_contra,
        haplotypes: AnyArray,
        rows: AnyArray,
        /,
    ) -> AnyArray:
        """Return int32[k]: scores of `haplotypes`, int32[k], with queries, `rows`, int64[k]."""
        ...

    def likelihoods(
        self,
        targets: Targets_contra,
        reads: Reads_contra,
        queries: Queries_contra,
        rows: AnyArray,
        pairs: Pairs,
        /,
    ) -> AnyArray:
        """Return float64[k]: the log10 likelihoods of k pairs, -inf except at the best locus.

        The pairs are of queries, `rows`, int64[n], each of which is a read in one orientation.
        Mapped reads are clipped to each locus. Only the pairs at the locus with most bases of the
        read are compared: likelihoods of parts of different lengths are not comparable. A read
        without bases at any locus is used whole, as a read without an alignment. Unmapped reads
        are used as sequenced: without mapping quality and alignment, and without the tags of base
        recalibration, which are for one orientation.
        """
        ...

    def best_by_score(self, pairs: Pairs, scores: AnyArray, /) -> tuple[AnyArray, AnyArray]:
        """Return the best pair of n reads by `scores`, int32[p], and the second-best score.

        int64[n], the first pair with the highest score, -1 for none; and int32[n], the best score
        of the other pairs, `NO_SCORE` for none.
        """
        ...

    def best_by_likelihood(
        self, pairs: Pairs, likelihoods: AnyArray, scores: AnyArray, /
    ) -> tuple[AnyArray, AnyArray]:
        """Return the best pair of n reads by `likelihoods`, float64[p], and the second-best score.

        int64[n] and int32[n], of `scores`, int32[p], as `best_by_score`; likelihoods that differ by
        at most `INFORMATIVE` are ties.
        """
        ...


@dataclass(frozen=True, slots=True)
class ScoredPairs(Generic[Pairs]):
    """Pairs in their better orientation, and the best pair of each read.

    Attributes
    ----------
    pairs
        n reads and their p pairs.
    reads
        int64[p]: the read of each pair.
    queries
        int64[p], the row in the queries of the better orientation; the stored read on a tie.
    best
        int64[n], the row of the best pair, the first of equals; -1 for none.
    second_scores
        int32[n], the best score of the other pairs; NO_SCORE for none.
    values
        int32[p] or float64[p]: the score or the likelihood by which the best pair was chosen.
    tolerance
        Values that differ by at most this are ties.
    """

    pairs: Pairs
    reads: AnyArray
    queries: AnyArray
    best: AnyArray
    second_scores: AnyArray
    values: AnyArray
    tolerance: float = 0


@dataclass(frozen=True, slots=True)
class _OrientedPairs:
    """p pairs, of which some have a second orientation.

    Attributes
    ----------
    reads
        int64[p]: the read of each pair, which is the row of the stored query.
    both
        int64[b], ascending: the pairs with two orientations.
    reversed_rows
        int64[b]: the row of their reversed query.
    """

    reads: AnyArray
    both: AnyArray
    reversed_rows: AnyArray

    @classmethod
    def of(
        cls, pairs: AnyPairs, queries: AnyQueries, arrays: ArrayKind[AnyRagged]
    ) -> _OrientedPairs:
        """Find the pairs of reads with two orientations."""
        reads = pairs.reads.astype(np.int64, copy=False)
        if not queries.has_reversed:
            return cls(reads, reads[:0], reads[:0])
        rows = queries.reversed_row[reads]
        both = arrays.module.flatnonzero(rows >= 0)
        return cls(reads, both, rows[both])

    def choose(
        self,
        arrays: ArrayKind[AnyRagged],
        values: AnyArray,
        reversed_values: AnyArray,
        tolerance: float = 0,
    ) -> AnyArray:
        """Choose the orientation with the higher value; the stored one on a tie.

        Parameters
        ----------
        arrays
            The functions on the arrays.
        values
            [p], of the stored queries; overwritten by the values of the better orientation.
        reversed_values
            [b], of the reversed queries.
        tolerance
            Values that differ by at most this are ties.

        Returns
        -------
        int64[p]: the row of the query in the better orientation.
        """
        if not self.both.size:
            return self.reads
        where = arrays.module.where
        stored, query_rows = values[self.both], self.reads.copy()
        is_better = reversed_values > stored + tolerance
        query_rows[self.both] = where(is_better, self.reversed_rows, self.reads[self.both])
        values[self.both] = where(is_better, reversed_values, stored)
        return query_rows


def _have_alternatives(pairs: AnyPairs, queries: AnyQueries) -> AnyArray:
    """Return bool[n]: whether a read has more than one pair, in all orientations."""
    if not queries.has_reversed:
        return pairs.counts > 1
    return pairs.counts * (1 + (queries.reversed_row >= 0)) > 1


def choose_by_score(
    stages: ChoiceStages[Reads_contra, Pairs, Queries_contra, Targets_contra],
    targets: Targets_contra,
    pairs: Pairs,
    queries: Queries_contra,
) -> ScoredPairs[Pairs]:
    """Choose the best pair of each read by score, with soft-clipped overhangs.

    A read with one pair in one orientation needs no score. A read without bases has no pair.
    """
    xp = stages.arrays.module
    oriented = _OrientedPairs.of(pairs, queries, stages.arrays)
    reads, both = oriented.reads, oriented.both
    stored = xp.flatnonzero(_have_alternatives(pairs, queries)[reads])
    haplotypes = pairs.haplotypes[xp.concatenate([stored, both])]
    rows = xp.concatenate([reads[stored], oriented.reversed_rows])
    computed = stages.score(targets, queries, haplotypes, rows)
    scores = xp.zeros(len(pairs), dtype=np.int32)
    scores[stored] = computed[: stored.size]
    query_rows = oriented.choose(stages.arrays, scores, computed[stored.size :])
    chosen = stages.best_by_score(pairs, scores)
    return ScoredPairs(pairs, reads, query_rows, *chosen, scores)


def choose_by_likelihood(
    stages: ChoiceStages[Reads_contra, Pairs, Queries_contra, Targets_contra],
    targets: Targets_contra,
    pairs: Pairs,
    reads: Reads_contra,
    queries: Queries_contra,
) -> ScoredPairs[Pairs]:
    """Choose the pair of each read with the highest likelihood, the first of ties, as in GATK.

    Raises
    ------
    InputError
        A read with several pairs or orientations has no base qualities, or invalid indel
        qualities.
    """
    arrays, xp = stages.arrays, stages.arrays.module
    oriented = _OrientedPairs.of(pairs, queries, arrays)
    # Reads with several pairs, as stored, then all reversed reads with pairs.
    rows = xp.flatnonzero(_have_alternatives(pairs, queries)[queries.reads])
    own = queries.reads[rows]
    offsets = arrays.offsets_of(pairs.counts[own])
    total = int(offsets[-1])
    row = arrays.rows_of(offsets, total)
    pair_rows = xp.arange(total) + (pairs.offsets[own] - offsets[:-1])[row]
    is_reversed = rows >= queries.reversed_row.size
    stored = total - int(is_reversed[row].sum())
    computed_pairs = stages.pairs(offsets, pairs.haplotypes[pair_rows])
    computed = stages.likelihoods(targets, reads, queries, rows, computed_pairs)
    likelihoods = xp.zeros(len(pairs), dtype=np.float64)
    likelihoods[pair_rows[:stored]] = computed[:stored]
    query_rows = oriented.choose(arrays, likelihoods, computed[stored:], ROUNDING)
    several = xp.flatnonzero((pairs.counts > 1)[oriented.reads])
    scores = xp.zeros(len(pairs), dtype=np.int32)
    scores[several] = stages.score(targets, queries, pairs.haplotypes[several], query_rows[several])
    chosen = stages.best_by_likelihood(pairs, likelihoods, scores)
    return ScoredPairs(pairs, oriented.reads, query_rows, *chosen, likelihoods, INFORMATIVE)
