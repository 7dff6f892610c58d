# ruff: noqa: FURB136  (max() and min() cost the vectorisation)
"""Score and end of the best local alignment of a pair, with one affine gap cost.

minimap2 2.30 searches inversions so (`ksw_ll_i16`). It computes the columns of the query in
interleaved vectors of 8 numbers, and pads the query to whole vectors with columns that score 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.results import LOCAL_COLUMNS, MAX_LOCAL_SCORE
from hapgpu.longread.align.parameters import CODES, AlignScoring
from hapgpu.runtime.jit import njit, njit_inlined

# Rows of numbers by column; the scores are one column further.
_SCORES, _DELETIONS, _WITHOUT_INSERTION, _INSERTIONS = range(4)
_ROWS: Final = 4


@njit
def align_locally(
    query: NDArray[np.uint8], target: NDArray[np.uint8], modes: Integer, scoring: AlignScoring
) -> tuple[Integer, Integer, Integer]:
    """Align parts of a pair.

    Parameters
    ----------
    query, target
        uint8: codes of bases, 0 to 4.
    modes
        `BACKWARDS` or 0.
    scoring
        Scores; the gap costs are those of short gaps.

    Returns
    -------
    score : int
        Best score, at most `MAX_LOCAL_SCORE`; 0 without any equal bases.
    target_end : int
        Offset of the alignment's last base on the target; of several, the last.
    query_end : int
        The same on the query. It may lie behind the query, in its padding, by up to 7 columns. Of
        several, the last in the order of minimap2's vectors.
    """
    vectors = (query.size + LOCAL_COLUMNS - 1) // LOCAL_COLUMNS
    profile = _profile_of(query, modes, scoring, vectors * LOCAL_COLUMNS)
    columns = np.zeros((_ROWS, vectors * LOCAL_COLUMNS + 1), dtype=np.int32)
    opening = np.int32(scoring.gap_open + scoring.gap_extend)
    extension = np.int32(scoring.gap_extend)
    best: Integer = 0
    target_end: Integer = -1
    query_end: Integer = -1
    for i in range(target.size):
        code = target[target.size - 1 - i if modes & results.BACKWARDS else i]
        highest = _fill_row(profile, code, opening, extension, columns)
        if highest >= best:
            best, target_end = highest, i
            query_end = _last_column(columns, highest, vectors)
    return best, target_end, query_end


@njit
def _profile_of(
    query: NDArray[np.uint8], modes: Integer, scoring: AlignScoring, columns: Integer
) -> NDArray[np.int32]:
    """Return int32[5, columns]: the scores of each base with each column, 0 in the padding."""
    profile = np.zeros((CODES, columns), dtype=np.int32)
    for code in range(CODES):
        for p in range(query.size):
            base = query[query.size - 1 - p if modes & results.BACKWARDS else p]
            profile[code, p] = scoring.matrix[code, base]
    return profile


@njit
def _fill_row(
    profile: NDArray[np.int32],
    code: Integer,
    opening: Integer,
    extension: Integer,
    columns: NDArray[np.int32],
) -> Integer:
    """Replace the scores of one target base by those of the next; return the highest.

    Three passes, of which the compiler vectorises the first and the last.
    """
    zero, top = np.int32(0), np.int32(MAX_LOCAL_SCORE)
    size = np.uint64(profile.shape[1])
    for p in range(size):
        score = np.int32(columns[_SCORES, p] + profile[code, p])
        score = score if score < top else top
        deletion = columns[_DELETIONS, p]
        score = score if score > deletion else deletion
        columns[_WITHOUT_INSERTION, p] = score if score > zero else zero
    insertion = zero
    for p in range(size):
        columns[_INSERTIONS, p] = insertion
        opened = np.int32(columns[_WITHOUT_INSERTION, p] - opening)
        insertion = np.int32(insertion - extension)
        insertion = insertion if insertion > opened else opened
    highest = zero
    for p in range(size):
        score, insertion = columns[_WITHOUT_INSERTION, p], columns[_INSERTIONS, p]
        score = score if score > insertion else insertion
        columns[_SCORES, p + np.uint64(1)] = score
        highest = score if score > highest else highest
        opened = np.int32(score - opening)
        deletion = np.int32(columns[_DELETIONS, p] - extension)
        columns[_DELETIONS, p] = deletion if deletion > opened else opened
    return highest


@njit_inlined
def _last_column(columns: NDArray[np.int32], score: Integer, vectors: Integer) -> Integer:
    """Return the last column with a score: by its vector, p modulo `vectors`, then by p."""
    for vector in range(vectors - 1, -1, -1):
        for p in range((LOCAL_COLUMNS - 1) * vectors + vector, -1, -vectors):
            if columns[_SCORES, p + 1] == score:
                return p
    return -1
