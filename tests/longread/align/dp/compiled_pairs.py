"""Alignments of many pairs by compiled code, one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.align.dp.pairs import align_pair
from hapgpu.longread.align.dp.results import RESULT_COLUMNS, PairOptions, new_scratch
from hapgpu.longread.align.parameters import AlignScoring


class AlignedPairs(NamedTuple):
    """Alignments of n pairs.

    Attributes
    ----------
    results
        int32[n, 10]: the columns of `results`.
    operations
        uint32: BAM operations of all pairs, length << 4 | code.
    offsets
        int64[n + 1]: offsets of the pairs in `operations`.
    """

    results: NDArray[np.int32]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]


def align_pairs(
    queries: Ragged, targets: Ragged, options: PairOptions, scoring: AlignScoring
) -> AlignedPairs:
    """Align pairs as `align_pair` does.

    Parameters
    ----------
    queries, targets
        Rows of n pairs: uint8 codes of bases, 0 to 4.
    options, scoring
        Options and scores of all pairs.
    """
    rows = np.empty((len(queries), RESULT_COLUMNS), dtype=np.int32)
    operations = np.empty(len(queries), dtype=np.uint32)
    offsets = np.zeros(len(queries) + 1, dtype=np.int64)
    scratch = new_scratch()
    for k, (query, target) in enumerate(zip(queries, targets, strict=True)):
        scratch, operations, offsets[k + 1] = align_pair(
            *(read_only(query), read_only(target), options, scoring),
            *(scratch, rows[k], operations, int(offsets[k])),
        )
    return AlignedPairs(rows, operations[: offsets[-1]], offsets)
