"""Parts of the lines of many reads, so that their text is written piece by piece.

Compiled functions write the lines of a part, and count them in the columns of `COUNT_NAMES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.runtime.jit import njit, njit_inlined

COUNT_NAMES: Final = ("mapped", "records", "secondary", "supplementary", "aligned_bases")
"""Counts in the statistics: reads with a mapping, lines, lines of secondary and supplementary
mappings, and bases of reads in mappings that are not secondary."""
MAPPED, RECORDS, SECONDARY, SUPPLEMENTARY, ALIGNED_BASES = range(len(COUNT_NAMES))

PART_BYTES: Final = 64 << 20
"""Most bytes of a part of several lines, as bounded before they are written."""


class LineRange(NamedTuple):
    """Successive lines of n reads: those of some mappings, and of unmapped reads between them.

    Attributes
    ----------
    first_read, end_read
        The reads. The first and the last may have lines in other parts, too.
    first_row, end_row
        Rows of the mappings.
    size
        Upper bound of the characters.
    """

    first_read: Integer
    end_read: Integer
    first_row: Integer
    end_row: Integer
    size: Integer


def line_parts(
    offsets: NDArray[np.int64],
    read_sizes: NDArray[np.int64],
    row_sizes: NDArray[np.int64],
    most: int,
) -> list[LineRange]:
    """Cut the lines of n reads into parts, at least one, in order.

    Parameters
    ----------
    offsets
        int64[n + 1]: offsets of the reads in the m mappings.
    read_sizes
        int64[n]: most characters of the line of each read if it is unmapped.
    row_sizes
        int64[m]: most characters of the line of each mapping.
    most
        Most characters of a part of several lines.
    """
    total = int(read_sizes.sum() + row_sizes.sum())
    # Two successive parts have more than `most` characters together.
    parts = np.empty((2 * (total // most) + 2, len(LineRange._fields)), dtype=np.int64)
    count = _cut(read_only(offsets), read_only(read_sizes), read_only(row_sizes), most, parts)
    return [LineRange(*part) for part in parts[:count].tolist()]


@njit
def _cut(
    offsets: NDArray[np.int64],
    read_sizes: NDArray[np.int64],
    row_sizes: NDArray[np.int64],
    most: Integer,
    parts: NDArray[np.int64],
) -> Integer:
    """List the parts; return their number."""
    count, size = 0, np.int64(0)
    first_read, first_row = np.int64(0), np.int64(0)
    for read in range(read_sizes.size):
        start, end = offsets[read], offsets[read + 1]
        lines = max(end - start, 1)
        for line in range(lines):
            added = row_sizes[start + line] if end > start else read_sizes[read]
            if size > 0 and size + added > most:
                row, end_read = start + line, read + (line > 0)
                _put_part(parts, count, first_read, end_read, first_row, row, size)
                first_read, first_row, size = np.int64(read), row, np.int64(0)
                count += 1
            size += added
    _put_part(parts, count, first_read, read_sizes.size, first_row, row_sizes.size, size)
    return count + 1


@njit_inlined
def _put_part(
    parts: NDArray[np.int64],
    part: Integer,
    first_read: Integer,
    end_read: Integer,
    first_row: Integer,
    end_row: Integer,
    size: Integer,
) -> None:
    parts[part, 0], parts[part, 1] = first_read, end_read
    parts[part, 2], parts[part, 3] = first_row, end_row
    parts[part, 4] = size


def text_parts(
    put: Callable[[LineRange, NDArray[np.uint8], NDArray[np.int64]], int],
    parts: Sequence[LineRange],
    lengths: NDArray[np.int32],
    anchors: int,
    *,
    held: object,
    names: Sequence[str] = COUNT_NAMES,
) -> list[Callable[[], TextBlock]]:
    """Return functions that write the lines of n reads, each a part of them, in order.

    Parameters
    ----------
    put
        Writes a part to memory of its size, adds to the counts int64[5], and returns the used size.
    parts
        The parts; the first has the counts of the reads.
    lengths
        int32[n]: bases of each read.
    anchors
        Number of anchors of the reads.
    held
        What `put` has addresses of: it lives as long as the functions.
    names
        Names of the counts to return, the first ones of `COUNT_NAMES`.
    """
    bases = int(lengths.sum(dtype=np.int64))
    of_reads = {"reads": lengths.size, "bases": bases, "anchors": anchors}

    def written(part: LineRange, first: Mapping[str, int], _held: object) -> TextBlock:
        out = np.empty(part.size, dtype=np.uint8)
        counts = np.zeros(len(COUNT_NAMES), dtype=np.int64)
        used = put(part, out, counts)
        return TextBlock(out[:used], {**first, **dict(zip(names, counts.tolist(), strict=False))})

    return [
        partial(written, part, {"reads": 0} if number else of_reads, held)
        for number, part in enumerate(parts)
    ]
