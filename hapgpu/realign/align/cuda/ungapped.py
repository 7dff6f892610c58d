"""Alignments without a gap that are proved to be the best, on a GPU.

Most reads match a haplotype exactly, or at all bases except one; to find that
(`cuda/realign/align/ungapped.cu`) takes far fewer steps than a matrix.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.cuda import chosen_rows
from hapgpu.realign.align.cuda.batches import PAIRS, DevicePairs
from hapgpu.realign.align.cuda.outputs import OUTPUTS, Outputs
from hapgpu.realign.align.ungapped import max_mismatches
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128


class UngappedRules(NamedTuple):
    """Most mismatches; score lost by a mismatch, and by a base outside the reference; a match."""

    max_mismatches: int
    mismatch_loss: int
    outside_loss: int
    match: int

    @classmethod
    def of(cls, scoring: Scoring, overhang: Overhang, *, reaches_lowest: bool) -> UngappedRules:
        """Return the rules for free ends.

        Mismatches are allowed if they are proved to lose less than a gap. Without that, GATK
        returns exact matches only, whatever the weights.

        Parameters
        ----------
        scoring, overhang
            Weights, and the treatment of query bases outside the reference, whose ends are free.
        reaches_lowest
            Whether GATK's lowest score could raise the score of a cell of a matrix.
        """
        limit = 0 if reaches_lowest else max(max_mismatches(scoring, overhang), 0)
        loss = scoring.match - scoring.mismatch if limit else 0
        return cls(limit, max(loss, 1), max(scoring.match, 1), scoring.match)


UNGAPPED: Final = Kernel(
    "realign/align/ungapped.cu",
    "ungapped_alignments",
    (
        PAIRS,
        Struct("rules", tuple(Scalar(name, np.int32) for name in UngappedRules._fields)),
        OUTPUTS,
        Array("is_left", np.uint8, "pairs.count"),
    ),
)


def ungapped_alignments(pairs: DevicePairs, rules: UngappedRules, outputs: Outputs) -> GpuArray:
    """Write the alignments that are proved; return int64[k], the other pairs, ascending.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    rules
        Of the weights of the pairs.
    outputs
        Of n pairs; the rows of the other pairs are not written.
    """
    is_left = cupy.empty(len(pairs), dtype=np.uint8)
    arguments = (pairs.fields, tuple(rules), outputs.fields, is_left)
    launch_threads(UNGAPPED, _THREADS, len(pairs) * WARP, arguments)
    return chosen_rows(is_left.view(np.bool_))
