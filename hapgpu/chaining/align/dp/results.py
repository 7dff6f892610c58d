"""Options and results of the alignment of one pair."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit

# Modes, added up to an integer.
SCORE_ONLY: Final = 1
"""No operations."""
RIGHT: Final = 2
"""Ties go to gaps, so that gaps lie as far right as possible; otherwise to matches, gaps left."""
APPROXIMATE: Final = 8
"""The score of the whole pair only, along one path; no best cell, no z-drop."""
APPROXIMATE_DROP: Final = 16
"""With `APPROXIMATE`: best cell and z-drop along that path."""
EXTENSION: Final = 64
"""The alignment may end anywhere: at the best cell, or at the query's end with the end bonus."""
REVERSED_OPERATIONS: Final = 128
"""The operations come in the order of the traceback, from the last one on."""
BACKWARDS: Final = 256
"""Both sequences are read from their last base on; offsets count from there."""

# Columns of a result.
SCORE: Final = 0
"""Score of the whole pair; `NO_SCORE` if the matrix was not finished."""
MAX_SCORE: Final = 1
"""Score of the best cell, at least 0."""
MAX_TARGET: Final = 2
MAX_QUERY: Final = 3
"""Offsets of the best cell; -1 if no cell has a score above 0."""
QUERY_END_SCORE: Final = 4
QUERY_END_TARGET: Final = 5
"""Best score at the last base of the query, and its offset on the target."""
TARGET_END_SCORE: Final = 6
TARGET_END_QUERY: Final = 7
"""Best score at the last base of the target, and its offset on the query."""
DROPPED: Final = 8
"""1 if the z-drop, or the end of the band, ended the alignment."""
REACHES_END: Final = 9
"""1 if an extension ends at the query's end."""
RESULT_COLUMNS: Final = 10

NO_SCORE: Final = -(2**30)

# States of a cell, in the low three bits of its direction byte; 0 is the diagonal. Bit 2 + state
# is set if the gap of that state goes on.
DELETION_STATE, INSERTION_STATE, LONG_DELETION_STATE, LONG_INSERTION_STATE = range(1, 5)

MATCH: Final = 0
INSERTION: Final = 1
DELETION: Final = 2
"""Codes of BAM operations: uint32 of length << 4 | code."""

LOCAL_COLUMNS: Final = 8
"""Columns of the query in a vector of minimap2's local alignment."""
MAX_LOCAL_SCORE: Final = 2**15 - 1


class PairOptions(NamedTuple):
    """Options for the alignment of a pair.

    Attributes
    ----------
    modes
        Sum of modes, such as `EXTENSION`.
    bandwidth
        Largest difference between the offsets on query and target; below 0, no limit.
    zdrop
        Largest drop of the score below the best one; below 0, no limit.
    end_bonus
        Added to the score of an extension that reaches the query's end.
    """

    modes: Integer = 0
    bandwidth: Integer = -1
    zdrop: Integer = -1
    end_bonus: Integer = -1


@njit
def clear_result(result: NDArray[np.int32]) -> None:
    """Set the result of a pair that is not aligned."""
    result[:] = -1
    result[SCORE] = NO_SCORE
    result[MAX_SCORE] = 0
    result[QUERY_END_SCORE] = NO_SCORE
    result[TARGET_END_SCORE] = NO_SCORE
    result[DROPPED] = 0
    result[REACHES_END] = 0
