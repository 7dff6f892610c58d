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
        Scalar("pairs", np.int32),
        Scalar("reads", np.int32),
        Scalar("tolerance", np.float64),
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
    """

    pairs: DeviceReadPairs
    reads: Any
    queries: Any
    best: Any
    second_scores: Any


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
    reads, counts = pairs.reads, pairs.counts
    reversed_rows = queries.reversed_row[reads]
    both = cupy.flatnonzero(reversed_rows >= 0) if queries.has_reversed else reads[:0]
    is_scored = counts > 1
    if queries.has_reversed:
        is_scored |= queries.reversed_row >= 0
    stored = cupy.flatnonzero(is_scored[reads])
    batch = DevicePairs(
        haplotypes,
        queries.bases,
        pairs.haplotypes[cupy.concatenate([stored, both])],
        cupy.concatenate([reads[stored], reversed_rows[both]]).astype(np.int32),
    )
    computed = score_device_pairs(batch, scoring, Overhang.SOFTCLIP, device)
    scores, query_rows = cupy.zeros(len(pairs), dtype=np.int32), reads
    scores[stored] = computed[: stored.size]
    if both.size:
        of_stored, of_reversed = scores[both], computed[stored.size :]
        query_rows = reads.copy()
        query_rows[both] = cupy.where(of_reversed > of_stored, reversed_rows[both], reads[both])
        scores[both] = cupy.maximum(of_stored, of_reversed)
    return DeviceScoredPairs(pairs, reads, query_rows, *best_by_score(pairs.offsets, scores))


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


def best_by_likelihood(offsets: Any, likelihoods: Any, scores: Any) -> tuple[Any, Any]:
    """Return the best pair of n reads by float64[p] likelihoods, and the second-best score.

    Parameters
    ----------
    offsets
        As in `best_by_score`.
    likelihoods, scores
        The log10 likelihoods and the scores, int32[p], of the pairs.

    Returns
    -------
    int64[n], the first pair within `INFORMATIVE` of the highest likelihood, -1 for none; and
    int32[n], the best score of the other pairs, `NO_SCORE` for none.
    """
    count = int(offsets.size) - 1
    best, second = cupy.empty(count, dtype=np.int64), cupy.empty(count, dtype=np.int32)
    arguments = (likelihoods, scores, offsets, scores.size, count, INFORMATIVE, best, second)
    launch_threads(CHOOSE_BY_LIKELIHOOD, _THREADS, count, arguments)
    return best, second
