"""Ends of CIGARs that a traceback writes as runs, the last run first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, SOFT_CLIP
from hapgpu.realign.align.lanes import Array, Trace
from hapgpu.realign.scoring import Overhang


def start_runs(trace: Trace, query_lengths: Array, overhang: Overhang) -> None:
    """Start each CIGAR with the query bases to the right of the end cell."""
    overhanging = query_lengths - trace.columns
    if overhang is Overhang.SOFTCLIP:
        _add_runs(trace, overhanging, SOFT_CLIP)
    elif overhang is Overhang.IGNORE:
        _add_runs(trace, overhanging, MATCH)


def finish_runs(trace: Trace, overhang: Overhang) -> NDArray[np.int32]:
    """Add the rest of each query; return the start positions in the reference, int32[lanes]."""
    rows, columns = trace.rows, trace.columns
    if overhang is Overhang.SOFTCLIP:
        _add_runs(trace, columns, SOFT_CLIP)
        return rows
    if overhang is Overhang.IGNORE:
        # GATK adds the overhang to the first run of any operation.
        lanes = np.arange(columns.size)
        trace.runs[lanes, trace.counts - 1] += columns.astype(np.uint32) << 4
        return rows - columns
    _add_runs(trace, rows, DELETION)
    _add_runs(trace, np.where(rows, 0, columns), INSERTION)
    return np.zeros(rows.size, dtype=np.int32)


def _add_runs(trace: Trace, lengths: Array, operation: int) -> None:
    """Lengthen the current run, or start a new one, in the lanes whose length is not 0."""
    lanes = np.flatnonzero(lengths)
    added = lengths[lanes].astype(np.uint32) << 4
    last = trace.counts[lanes] - 1
    merges = (last >= 0) & (trace.runs[lanes, last] & 15 == operation)
    trace.runs[lanes[merges], last[merges]] += added[merges]
    is_new = ~merges
    trace.runs[lanes[is_new], last[is_new] + 1] = added[is_new] | operation
    trace.counts[lanes[is_new]] += 1
