"""Alignments straight back from their end cells, on a GPU (`cuda/realign/align/diagonals.cu`).

The path from the end cell along its diagonal to a border of the matrix scores the border's score
and the sum of its steps. If that is the score of the end cell, GATK's traceback takes this path:

- Each of its cells scores at least the steps before it, as a cell takes the best of its sources.
- None scores more: with the remaining steps, the end cell would score more than it does.
- So in each cell the diagonal has the best score, and it comes first where sources tie.

No sign of a weight is needed. A cell that GATK's lowest score raises scores more than its steps, so
its pair is left to other kernels.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.realign.align.cuda.batches import PAIRS, DevicePairs
from hapgpu.realign.align.cuda.end_cells import END_CELLS, EndCells
from hapgpu.realign.align.cuda.outputs import OUTPUTS, Outputs
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.gpu.kernel import Kernel, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 256
_LANES: Final = 4

BORDER: Final = Struct("border", (Scalar("open", np.int32), Scalar("extend", np.int32)))
"""Scores of the first base of a gap at a border of the matrix, and of each further one."""

DIAGONAL_ALIGNMENTS: Final = Kernel(
    "realign/align/diagonals.cu",
    f"diagonal_alignments<{_LANES}>",
    (
        *(PAIRS, END_CELLS),
        *(Scalar(name, np.int32) for name in ("match", "mismatch")),
        *(BORDER, Scalar("overhang", np.int32), OUTPUTS),
    ),
)


def border_weights(scoring: Scoring, overhang: Overhang) -> tuple[int, int]:
    """Return the fields of `BORDER`: 0 where ends are free."""
    return (0, 0) if overhang.has_free_ends else (scoring.gap_open, scoring.gap_extend)


def diagonal_alignments(
    pairs: DevicePairs, ends: EndCells, scoring: Scoring, overhang: Overhang, outputs: Outputs
) -> None:
    """Write the alignments of the pairs that have their score without a gap inside.

    The other pairs, and those without an end cell, get 0 as `cigar_counts`, and nothing else.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    ends
        Their end cells.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    outputs
        The alignments of the n pairs.
    """
    if not len(pairs):
        return
    weights = (scoring.match, scoring.mismatch, border_weights(scoring, overhang))
    arguments = (pairs.fields, ends.fields, *weights, int(overhang), outputs.fields)
    launch_threads(DIAGONAL_ALIGNMENTS, _THREADS, len(pairs) * _LANES, arguments)
