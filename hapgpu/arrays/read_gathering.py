"""Reads gathered from several batches into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import AnyArray, Integer
from hapgpu.arrays.memory import copy_at
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.runtime.jit import njit, njit_inlined

_CIGAR_BYTES = 4


def gathered_reads(parts: Sequence[tuple[ReadBatch, NDArray[np.int64]]]) -> ReadBatch:
    """Copy reads of batches, end to end.

    Parameters
    ----------
    parts
        Batches, each with the rows of its reads in any order, int64.
    """
    columns = [ReadColumns.from_batch(reads) for reads, _ in parts]
    rows = [part_rows for _, part_rows in parts]
    counts = [part_rows.size for part_rows in rows]
    lengths = np.empty((4, sum(counts)), dtype=np.int32)
    at = 0
    for part, part_rows, count in zip(columns, rows, counts, strict=True):
        _measure(part, part_rows, lengths[:, at : at + count])
        at += count
    out = ReadColumns.empty(*lengths)
    at = 0
    for part, part_rows, count in zip(columns, rows, counts, strict=True):
        _copy(part, part_rows, out, at)
        at += count
    return out.to_batch()


@njit
def _measure(reads: ReadColumns, rows: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    """Write the lengths of names, CIGARs, bases and tags; raise for a row that does not exist."""
    for k in range(rows.size):
        row = rows[k]
        if not 0 <= row < reads.flags.size:
            raise IndexError("row of no read")
        out[0, k] = reads.name_offsets[row + 1] - reads.name_offsets[row]
        out[1, k] = reads.cigar_offsets[row + 1] - reads.cigar_offsets[row]
        out[2, k] = reads.base_offsets[row + 1] - reads.base_offsets[row]
        out[3, k] = reads.tag_offsets[row + 1] - reads.tag_offsets[row]


@njit
def _copy(reads: ReadColumns, rows: NDArray[np.int64], out: ReadColumns, first: int) -> None:
    for k in range(rows.size):
        row, to = rows[k], first + k
        out.flags[to] = reads.flags[row]
        out.reference_ids[to] = reads.reference_ids[row]
        out.positions[to] = reads.positions[row]
        out.mapping_qualities[to] = reads.mapping_qualities[row]
        out.mate_reference_ids[to] = reads.mate_reference_ids[row]
        out.mate_positions[to] = reads.mate_positions[row]
        out.template_lengths[to] = reads.template_lengths[row]
    _copy_rows(reads.names, reads.name_offsets, rows, out.names, out.name_offsets, first, 1)
    cigars = out.cigars, out.cigar_offsets
    _copy_rows(reads.cigars, reads.cigar_offsets, rows, *cigars, first, _CIGAR_BYTES)
    _copy_rows(reads.bases, reads.base_offsets, rows, out.bases, out.base_offsets, first, 1)
    _copy_rows(reads.qualities, reads.base_offsets, rows, out.qualities, out.base_offsets, first, 1)
    _copy_rows(reads.tags, reads.tag_offsets, rows, out.tags, out.tag_offsets, first, 1)


@njit_inlined
def _copy_rows(
    data: AnyArray,
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    out: AnyArray,
    out_offsets: NDArray[np.int64],
    first: Integer,
    item: int,
) -> None:
    source, target = data.ctypes.data, out.ctypes.data
    for k in range(rows.size):
        start, end = np.int64(offsets[rows[k]]), np.int64(offsets[rows[k] + 1])
        to = np.int64(out_offsets[first + k])
        copy_at(target + item * to, source + item * start, item * (end - start))
