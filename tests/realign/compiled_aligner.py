"""The reference implementation of the aligner with a compiled recurrence, for the oracles.

`tests/realign/align/test_reference.py` compares both; in plain Python the reads of whole runs
would take minutes.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from hapgpu.realign.scoring import Overhang, Scoring
from tests.realign.align.reference import (
    Alignment,
    _border,
    _end_cell,
    _trace_back,
    align_reference,
)

LOWEST_SCORE = -100_000_000  # SmithWatermanJavaAligner: MATRIX_MIN_CUTOFF
UNREACHABLE = -(2**30)  # SmithWatermanJavaAligner: Integer.MIN_VALUE / 2


def align(reference: bytes, query: bytes, scoring: Scoring, overhang: Overhang) -> Alignment:
    """Do as `align_reference`."""
    if not reference or not query or (overhang.has_free_ends and query in reference):
        return align_reference(reference, query, scoring, overhang)
    scores, steps = filled(reference, query, scoring, overhang)
    matrix = scores.tolist()
    row, column = _end_cell(matrix, overhang)
    offset, cigar = _trace_back(steps.tolist(), row, column, overhang)
    return Alignment(matrix[row][column], offset, cigar)


def filled(reference: bytes, query: bytes, scoring: Scoring, overhang: Overhang) -> Any:
    """Return the scores and the steps of all cells, exact matches or not."""
    return _fill(
        np.frombuffer(reference, dtype=np.uint8),
        np.frombuffer(query, dtype=np.uint8),
        np.array(_border(len(reference), scoring, overhang)),
        np.array(_border(len(query), scoring, overhang)),
        scoring.weights,
    )


@numba.njit
def _fill(reference: Any, query: Any, first_column: Any, first_row: Any, weights: Any) -> Any:
    """Return scores and steps: 0 for the diagonal, k for a deletion, -k for an insertion of k."""
    match, mismatch, gap_open, gap_extend = weights
    scores = np.empty((reference.size + 1, query.size + 1), dtype=np.int64)
    steps = np.zeros(scores.shape, dtype=np.int64)
    scores[0], scores[:, 0] = first_row, first_column
    deletion = np.full(query.size + 1, UNREACHABLE)
    deleted = np.zeros(query.size + 1, dtype=np.int64)
    for i in range(1, reference.size + 1):
        insertion, inserted = UNREACHABLE, 0
        for j in range(1, query.size + 1):
            agree = reference[i - 1] == query[j - 1]
            diagonal = scores[i - 1, j - 1] + (match if agree else mismatch)
            opened, extended = scores[i - 1, j] + gap_open, deletion[j] + gap_extend
            deleted[j] = 1 if opened > extended else deleted[j] + 1
            deletion[j] = max(opened, extended)
            opened, extended = scores[i, j - 1] + gap_open, insertion + gap_extend
            inserted = 1 if opened > extended else inserted + 1
            insertion = max(opened, extended)
            best = max(diagonal, insertion, deletion[j])
            if diagonal < best:
                steps[i, j] = -inserted if insertion == best else deleted[j]
            scores[i, j] = max(best, LOWEST_SCORE)
    return scores, steps
