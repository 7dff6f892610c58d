"""Decoding of BAI and CSI indexes to columns."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_i32, load_u32
from hapgpu.runtime.jit import njit

BAI_HEAD: Final = 8
CSI_HEAD: Final = 16
"""Bytes of a bin before its chunks."""
OFFSET_BYTES: Final = 8
_CHUNK_BYTES: Final = 16


class IndexColumns(NamedTuple):
    """Columns of an index in file order: b bins, c chunks and l linear offsets of r contigs.

    Attributes
    ----------
    bin_offsets, linear_offsets
        int64[r + 1]: the first bin and the first linear offset of each contig.
    numbers, floors
        int64[b]: number and floor of each bin.
    chunk_offsets
        int64[b + 1]: the first chunk of each bin.
    chunks
        int64[c, 2]: virtual offsets of start and end.
    linear
        int64[l]: the linear index.
    """

    bin_offsets: NDArray[np.int64]
    linear_offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    floors: NDArray[np.int64]
    chunk_offsets: NDArray[np.int64]
    chunks: NDArray[np.int64]
    linear: NDArray[np.int64]

    @classmethod
    def empty(cls, size: int, references: int) -> Self:
        """Allocate the columns for an index of `size` bytes."""
        bins = size // BAI_HEAD
        return cls(
            bin_offsets=np.zeros(references + 1, dtype=np.int64),
            linear_offsets=np.zeros(references + 1, dtype=np.int64),
            numbers=np.empty(bins, dtype=np.int64),
            floors=np.zeros(bins, dtype=np.int64),
            chunk_offsets=np.zeros(bins + 1, dtype=np.int64),
            chunks=np.empty((size // _CHUNK_BYTES, 2), dtype=np.int64),
            linear=np.empty(size // OFFSET_BYTES, dtype=np.int64),
        )


def compact(columns: IndexColumns) -> IndexColumns:
    """Copy the columns to arrays without unused room."""
    bins, linear = int(columns.bin_offsets[-1]), int(columns.linear_offsets[-1])
    return columns._replace(
        numbers=columns.numbers[:bins].copy(),
        floors=columns.floors[:bins].copy(),
        chunk_offsets=columns.chunk_offsets[: bins + 1].copy(),
        chunks=columns.chunks[: columns.chunk_offsets[bins]].copy(),
        linear=columns.linear[:linear].copy(),
    )


@njit
def _load_i64(data: NDArray[np.uint8], at: Integer) -> Integer:
    return load_u32(data, at) | load_i32(data, at + 4) << 32


@njit
def _count_at(data: NDArray[np.uint8], at: Integer) -> Integer:
    """Read a count; -1 if it is negative or missing."""
    return max(load_i32(data, at), -1) if at + 4 <= data.size else -1


@njit
def _read_chunks(
    data: NDArray[np.uint8], at: Integer, count: Integer, row: Integer, chunks: NDArray[np.int64]
) -> bool:
    """Fill in chunks from a row on; return False if they are malformed."""
    if count < 0 or count > (data.size - at) // _CHUNK_BYTES:
        return False
    for k in range(count):
        start = _load_i64(data, at + _CHUNK_BYTES * k)
        end = _load_i64(data, at + _CHUNK_BYTES * k + OFFSET_BYTES)
        if start < 0 or end < 0:
            return False
        chunks[row + k, 0], chunks[row + k, 1] = start, end
    return True


@njit
def _read_bins(
    data: NDArray[np.uint8], at: Integer, head: Integer, row: Integer, out: IndexColumns
) -> tuple[Integer, Integer]:
    """Fill in the bins of a contig from a row on; return the next offset (-1 if bad) and row.

    A bin has a head of 8 bytes, in CSI of 16: its number, in CSI its floor, and its chunk count.
    """
    numbers, floors, offsets, chunks = out.numbers, out.floors, out.chunk_offsets, out.chunks
    count = _count_at(data, at)
    at += 4
    for _ in range(count):
        own = _count_at(data, at + head - 4)
        if own < 0 or not _read_chunks(data, at + head, own, offsets[row], chunks):
            return -1, row
        numbers[row] = load_u32(data, at)
        if head == CSI_HEAD:
            floors[row] = _load_i64(data, at + 4)
        offsets[row + 1] = offsets[row] + own
        at += head + _CHUNK_BYTES * own
        row += 1
    return (at if count >= 0 else -1), row


@njit
def _read_linear(
    data: NDArray[np.uint8], at: Integer, row: Integer, linear: NDArray[np.int64]
) -> tuple[Integer, Integer]:
    """Fill in the floors of leaves from a row on; return the next offset (-1 if bad) and row."""
    count = _count_at(data, at)
    at += 4
    if count < 0 or count > (data.size - at) // OFFSET_BYTES:
        return -1, row
    for k in range(count):
        linear[row + k] = _load_i64(data, at + OFFSET_BYTES * k)
    return at + OFFSET_BYTES * count, row + count


@njit
def read_columns(data: NDArray[np.uint8], at: Integer, head: Integer, out: IndexColumns) -> Integer:
    """Fill in the columns; return the end offset, -1 if the index is damaged."""
    bins: Integer = np.int64(0)
    leaves: Integer = np.int64(0)
    for reference in range(out.bin_offsets.size - 1):
        at, bins = _read_bins(data, at, head, bins, out)
        if at >= 0 and head != CSI_HEAD:
            at, leaves = _read_linear(data, at, leaves, out.linear)
        if at < 0:
            return at
        out.bin_offsets[reference + 1], out.linear_offsets[reference + 1] = bins, leaves
    return at
