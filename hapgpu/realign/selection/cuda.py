"""Choice of the best haplotype of a read on a GPU (`cuda/realign/selection.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.haplotypes.pairing.cuda import DeviceReadPairs
from hapgpu.realign.align.cuda import score_device_pairs
from hapgpu.realign.align.device_batches import DevicePairs
from hapgpu.realign.queries.cuda import DeviceQueries
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.by_likelihood import INFORMATIVE
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128

CHOOSE_BY_SCORE: Final = Kernel(
    "realign/selection.cu",
    "choose_by_score",
    (
        Array("scores", np.int32, "pairs"),
        Array("offsets", np.int64, "reads", 1),
        Scalar("pairs", np.int32),
        Scalar("reads", np.int32),
        Array("best", np.int64, "reads"),
        Array("second_scores", np.int32, "reads"),
    ),
)


CHOOSE_BY_LIKELIHOOD: Final = Kernel(
    "realign/selection.cu",
    "choose_by_likelihood",
    (
        Array("likelihoods", np.float64, "pairs"),
        Array("scores", np.int32, "pairs"),
        Array("offsets", np.int64, "reads", 1),
        Scalar("tolerance", np.float64),
        Scalar("pairs", np.int32),
        Scalar("reads", np.int32),
        Array("best", np.int64, "reads"),
        Array("second_scores", np.int32, "reads"),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceScoredPairs:
    """Pairs in their better orientation, and the best pair of each read, as in `ScoredPairs`.

    Attributes
    ----------
    pairs
        n reads and their p pairs.
    reads
        int64[p]: the read of each pair.
    queries
        int64[p], the row in `DeviceQueries` of the better orientation; the stored read on a tie.
    best
        int64[n], the row of the best pair, the first of equals; -1 for none.
    second_scores
        int32[n], the best score of the other pairs; NO_SCORE for none.
    values
        [p], the score or the likelihood by which the best pair was chosen.
    tolerance
        Values that differ by at most this are ties.
    """

    pairs: DeviceReadPairs
    reads: Any
    queries: Any
    best: Any
    second_scores: Any
    values: Any
    tolerance: float = 0

    @property
    def are_tied(self) -> Any:
        """bool[n]: whether a read has several pairs within the tolerance of its best."""
        highest = self.best
        if self.tolerance:
            scores = cupy.zeros(len(self.pairs), dtype=np.int32)
            highest, _ = best_by_likelihood(self.pairs.offsets, self.values, scores, 0.0)
        near = self.values >= self.values[highest[self.reads]] - self.tolerance
        return cupy.bincount(self.reads[near], minlength=int(self.best.size)) > 1


@dataclass(frozen=True, slots=True)
class OrientedPairs:
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

    reads: Any
    both: Any
    reversed_rows: Any

    @classmethod
    def of(cls, pairs: DeviceReadPairs, queries: DeviceQueries) -> OrientedPairs:
        """Find the pairs of unmapped reads."""
        reads = pairs.reads
        if not queries.has_reversed:
            return cls(reads, reads[:0], reads[:0])
        rows = queries.reversed_row[reads]
        both = cupy.flatnonzero(rows >= 0)
        return cls(reads, both, rows[both])

    def choose(self, values: Any, reversed_values: Any, tolerance: float = 0) -> Any:
        """Choose the orientation with the higher value; the stored one on a tie.

        Parameters
        ----------
        values
            [p], of the stored queries; those of the better orientation afterwards.
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
        stored, query_rows = values[self.both], self.reads.copy()
        is_better = reversed_values > stored + tolerance
        query_rows[self.both] = cupy.where(is_better, self.reversed_rows, self.reads[self.both])
        values[self.both] = cupy.where(is_better, reversed_values, stored)
        return query_rows


def has_alternatives(pairs: DeviceReadPairs, queries: DeviceQueries) -> Any:
    """Return bool[n]: whether a read has several pairs, or two orientations."""
    several = pairs.counts > 1
    return several | (queries.reversed_row >= 0) if queries.has_reversed else several


def score_device_read_pairs(
    pairs: DeviceReadPairs,
    queries: DeviceQueries,
    haplotypes: DeviceRagged,
    scoring: Scoring,
    device: CudaDevice,
) -> DeviceScoredPairs:
    """Choose the best pair of each read by score, as `score_read_pairs`, on the current GPU.

    A read with one pair in one orientation needs no score.
    """
    oriented = OrientedPairs.of(pairs, queries)
    reads, both = oriented.reads, oriented.both
    stored = cupy.flatnonzero(has_alternatives(pairs, queries)[reads])
    batch = DevicePairs(
        haplotypes,
        queries.bases,
        pairs.haplotypes[cupy.concatenate([stored, both])],
        cupy.concatenate([reads[stored], oriented.reversed_rows]).astype(np.int32),
    )
    computed = score_device_pairs(batch, scoring, Overhang.SOFTCLIP, device)
    scores = cupy.zeros(len(pairs), dtype=np.int32)
    scores[stored] = computed[: stored.size]
    query_rows = oriented.choose(scores, computed[stored.size :])
    chosen = best_by_score(pairs.offsets, scores)
    return DeviceScoredPairs(pairs, reads, query_rows, *chosen, scores)


def best_by_score(offsets: Any, scores: Any) -> tuple[Any, Any]:
    """Return the best pair of n reads by int32[p] scores, and the second-best score.

    Parameters
    ----------
    offsets
        int64[n + 1]: the pairs of read i are rows `offsets[i]` to `offsets[i + 1]`.
    scores
        The scores of the pairs.

    Returns
    -------
    int64[n], the first pair with the highest score, -1 for none; and int32[n], the best score of
    the other pairs, `NO_SCORE` for none.
    """
    count = int(offsets.size) - 1
    best, second = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (scores, offsets, scores.size, count, best, second)
    launch_threads(CHOOSE_BY_SCORE, _THREADS, count, arguments)
    return best, second


def best_by_likelihood(
    offsets: Any, likelihoods: Any, scores: Any, tolerance: float = INFORMATIVE
) -> tuple[Any, Any]:
    """Return the best pair of n reads by float64[p] likelihoods, and the second-best score.

    Parameters
    ----------
    offsets
        As in `best_by_score`.
    likelihoods, scores
        The log10 likelihoods and the scores, int32[p], of the pairs.
    tolerance
        Likelihoods that differ by at most this are ties.

    Returns
    -------
    int64[n], the first pair within the tolerance of the highest likelihood, -1 for none; and
    int32[n], the best score of the other pairs, `NO_SCORE` for none.
    """
    count = int(offsets.size) - 1
    best, second = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (likelihoods, scores, offsets, tolerance, scores.size, count, best, second)
    launch_threads(CHOOSE_BY_LIKELIHOOD, _THREADS, count, arguments)
    return best, second
