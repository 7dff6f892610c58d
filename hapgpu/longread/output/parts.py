"""Parts of the lines of many reads, so that their text is written piece by piece.

A compiled function writes whole lines to memory until the next line does not fit. The next part
starts with that line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.fastx.read_block import TextBlock
from hapgpu.io.text.builder import SLACK
from hapgpu.runtime.output import Divided
from hapgpu.runtime.pipeline import results_of

COUNT_NAMES: Final = ("mapped", "records", "secondary", "supplementary", "aligned_bases")
"""Counts in the statistics: reads with a mapping, lines, lines of secondary and supplementary
mappings, and bases of reads in mappings that are not secondary."""
MAPPED, RECORDS, SECONDARY, SUPPLEMENTARY, ALIGNED_BASES = range(len(COUNT_NAMES))

PART_BYTES: Final = (32 << 20) - (64 << 10)
"""Most bytes of a part of several lines. Memory that is not written takes none. The C library keeps
freed arrays of up to 32 MiB, with what it and a text builder add, for later ones; it gives larger
ones back."""

LinePart: TypeAlias = Callable[[], "TextBlock | Divided[LinePart, TextBlock]"]
"""Writes some lines; if there are more, they are the rest."""


class WrittenLines(NamedTuple):
    """Lines written to memory, and where the next line starts.

    Attributes
    ----------
    size
        Bytes of the lines.
    needed
        Bytes with the next line, for which there is no room; 0 if all lines are written.
    read, row
        Read of the next line, and row of its mapping, or the row after those of the reads before.
    """

    size: Integer
    needed: Integer
    read: Integer
    row: Integer


PutLines: TypeAlias = Callable[
    [Integer, Integer, NDArray[np.uint8], NDArray[np.int64]], WrittenLines
]
"""Writes lines from a read and a row on to uint8 memory, as a text with `SLACK`; adds to int64[5]
in the order of `COUNT_NAMES`. A read counts as mapped after its last line."""


@dataclass(frozen=True, slots=True)
class _LinesFrom:
    """Writes lines from a read and a row on; `fixed_counts` are those that are not of lines."""

    put: PutLines
    names: Sequence[str]
    most: int
    read: Integer
    row: Integer
    fixed_counts: Mapping[str, int]

    def __call__(self) -> TextBlock | Divided[LinePart, TextBlock]:
        out = np.empty(self.most + SLACK, dtype=np.uint8)
        counts = np.zeros(len(COUNT_NAMES), dtype=np.int64)
        lines = self.put(self.read, self.row, out, counts)
        if lines.needed and not lines.size:
            out = np.empty(lines.needed + SLACK, dtype=np.uint8)
            lines = self.put(lines.read, lines.row, out, counts)
        named = dict(zip(self.names, counts.tolist(), strict=False))
        block = TextBlock(out[: lines.size], {**self.fixed_counts, **named})
        if not lines.needed:
            return block
        rest = replace(self, read=lines.read, row=lines.row, fixed_counts={"reads": 0})
        return Divided(block, [rest])


def first_part(
    put: PutLines,
    lengths: NDArray[np.int32],
    anchors: int,
    most: int = PART_BYTES,
    *,
    names: Sequence[str] = COUNT_NAMES,
) -> LinePart:
    """Return the function that writes the first lines of n reads.

    Parameters
    ----------
    put
        Writes lines.
    lengths
        int32[n]: bases of each read.
    anchors
        Number of anchors of the reads; the first part has it among its counts.
    most
        Most bytes of a part of several lines.
    names
        Names of the counts to return, the first ones of `COUNT_NAMES`.
    """
    bases = int(lengths.sum(dtype=np.int64))
    of_reads = {"reads": lengths.size, "bases": bases, "anchors": anchors}
    return _LinesFrom(put, names, most, 0, 0, of_reads)


def all_lines(first: LinePart) -> TextBlock:
    """Write all parts, from the first one on, and join them."""
    return TextBlock.joined(list(results_of(lambda part: part(), first)))
