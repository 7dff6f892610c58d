"""Long reads cut to what is shown around their loci."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, row_of, view_of
from hapgpu.cigar.encoding import (
    consumes_query,
    consumes_reference,
    length_of,
    operation_of,
)
from hapgpu.cigar.read_parts import clipped_parts
from hapgpu.haplotypes.batches import Loci
from hapgpu.runtime.jit import njit

MAX_WHOLE: Final = 1000
"""Bases of the longest read that is shown as a whole."""

MARGIN: Final = 500
"""Bases of the reference on either side of a locus that longer reads are cut to."""

_WHOLE: Final = -1
_0: Final = np.int64(0)


def cut_to_loci(reads: ReadBatch, read_loci: NDArray[np.int64], loci: Loci) -> ReadBatch:
    """Cut reads of over `MAX_WHOLE` bases to their loci and a margin.

    Parameters
    ----------
    reads
        n mapped reads.
    read_loci
        int64[n]: the locus of each.
    loci
        The loci.

    Returns
    -------
    ReadBatch
        The reads; tags, which may describe the whole read, stay the same.
    """
    is_long = reads.bases.lengths > MAX_WHOLE
    if not is_long.any():
        return reads
    first, last = loci.starts[read_loci] - MARGIN, loci.ends[read_loci] + MARGIN
    parts = clipped_parts(reads, np.arange(len(reads)), first, last)
    is_cut = is_long & (parts.lengths > 0)
    starts = np.where(is_cut, parts.starts, 0)
    ends = np.where(is_cut, parts.ends, reads.bases.lengths)
    data = np.empty_like(reads.cigars.data)
    offsets = np.zeros(len(reads) + 1, dtype=np.int64)
    positions = reads.positions.copy()
    kept = read_only(np.where(is_cut, starts, _WHOLE)), read_only(ends)
    _cut(view_of(reads.cigars), *kept, positions, data, offsets)
    return replace(
        reads,
        positions=positions,
        cigars=Ragged(data[: offsets[-1]], offsets),
        bases=_part_of(reads.bases, starts, ends),
        qualities=_part_of(reads.qualities, starts, ends),
    )


def _part_of(rows: Ragged, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Ragged:
    return Ragged.gather(rows.data, rows.offsets[:-1] + starts, ends - starts)


@njit
def _cut(
    cigars: RaggedView,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    positions: NDArray[np.int32],
    out: NDArray[np.uint32],
    offsets: NDArray[np.int64],
) -> None:
    """Write the elements of bases start to end of each read; move the positions to their starts."""
    for row in range(starts.size):
        at, base = offsets[row], _0
        for element in row_of(cigars, row):
            operation, length = operation_of(element), np.int64(length_of(element))
            kept, skipped = length, _0
            if starts[row] == _WHOLE:
                pass
            elif consumes_query(operation):
                skipped = min(max(starts[row] - base, _0), length)
                kept = max(min(base + length, ends[row]) - base - skipped, _0)
                base += length
            elif base <= starts[row]:  # a deletion before the part
                kept, skipped = _0, length
            elif base >= ends[row]:  # or after it
                kept = _0
            if consumes_reference(operation):
                positions[row] += skipped
            if kept > 0:
                out[at] = kept << 4 | operation
                at += 1
        offsets[row + 1] = at
