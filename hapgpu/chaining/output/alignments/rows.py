"""Rows of reads and reference sequences, for the compiled loops that write lines, and their sizes.

What is not used of the memory for lines costs nothing. A mismatch takes three bytes of cs, or five
with the equal base before it; a base takes at most three bytes of any tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.chaining.output.parts import LineRange, line_parts
from hapgpu.io.fastx.spans import CommentSpans, ReadSpans
from hapgpu.runtime.jit import njit

READ: Final = np.dtype(
    [
        ("name", np.int64),
        ("name_length", np.int64),
        ("comment", np.int64),
        ("comment_length", np.int64),
        ("bases", np.int64),
        ("qualities", np.int64),
        ("length", np.int64),
        ("repeats", np.int64),
        ("codes", np.int64),
    ]
)
"""A read: addresses of its name, comment and codes (`ReadCodes`), offsets of its bases and
qualities in the text of the block (-1: no qualities), lengths, and the tag rl."""

_TARGET: Final = np.dtype(
    [("name", np.int64), ("name_length", np.int64), ("length", np.int64), ("codes", np.int64)]
)
"""A reference sequence: addresses of its name and codes, and lengths."""


@dataclass(frozen=True, slots=True)
class LineTargets:
    """Reference sequences, as lines need them.

    Attributes
    ----------
    rows
        One row of addresses and lengths per sequence.
    longest_name
        Bytes of the longest name.
    names, codes
        What the addresses point to.
    """

    rows: NDArray[np.void]
    longest_name: int
    names: Ragged
    codes: TargetCodes

    @classmethod
    def of(cls, names: Sequence[str], codes: TargetCodes) -> LineTargets:
        """Make the rows of sequences with these names."""
        texts = Ragged.from_sequences(name.encode("utf-8", "surrogateescape") for name in names)
        rows = np.empty(len(names), dtype=_TARGET)
        rows["name"] = texts.data.ctypes.data + texts.offsets[:-1]
        rows["name_length"] = texts.lengths
        rows["length"] = codes.lengths
        rows["codes"] = codes.codes.ctypes.data + codes.starts
        return cls(read_only(rows), int(texts.lengths.max(initial=0)), texts, codes)


def read_rows(
    text: NDArray[np.uint8],
    spans: ReadSpans,
    codes: ReadCodes,
    repeat_lengths: NDArray[np.int32],
    comments: CommentSpans | None = None,
) -> NDArray[np.void]:
    """Return READ[n]: rows of reads; the caller holds the arrays, which the addresses point to.

    Parameters
    ----------
    text, spans
        uint8 text of n reads, and its spans.
    codes
        Bases as codes.
    repeat_lengths
        int32[n]: the tag rl.
    comments
        Comments in the text, if they are written.
    """
    address = text.ctypes.data
    rows = np.zeros(len(spans), dtype=READ)
    rows["name"] = address + spans.name_starts.astype(np.int64)
    rows["name_length"] = spans.name_lengths
    rows["bases"] = spans.base_starts
    rows["qualities"] = spans.quality_starts if spans.has_qualities else -1
    rows["length"] = spans.lengths
    rows["repeats"] = repeat_lengths
    rows["codes"] = codes.codes.ctypes.data + codes.starts
    if comments is not None:
        rows["comment"] = address + comments.starts.astype(np.int64)
        rows["comment_length"] = comments.lengths
    return read_only(rows)


class MappingRows(NamedTuple):
    """`AlignedMappings` for compiled code, read-only."""

    mappings: NDArray[np.void]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, aligned: AlignedMappings) -> MappingRows:
        """View aligned mappings."""
        return cls(
            read_only(aligned.mappings),
            read_only(np.ascontiguousarray(aligned.operations)),
            read_only(aligned.offsets),
        )


class Lines(NamedTuple):
    """Lines of a block.

    Attributes
    ----------
    text
        uint8.
    counts
        Counts by their name in the statistics: `mapped` (reads), `records` (lines), `secondary`,
        `supplementary`, `aligned_bases` (bases of reads in mappings that are not secondary).
    """

    text: NDArray[np.uint8]
    counts: dict[str, int]


def counts_of(numbers: NDArray[np.int64]) -> dict[str, int]:
    """Return counts of lines by their names; see `COUNT_NAMES`."""
    return dict(zip(COUNT_NAMES, numbers.tolist(), strict=True))


COUNT_NAMES: Final = ("mapped", "records", "secondary", "supplementary", "aligned_bases")
MAPPED, RECORDS, SECONDARY, SUPPLEMENTARY, ALIGNED_BASES = range(len(COUNT_NAMES))


_FIXED_TEXT: Final = 768
"""Characters of a line beside names, comment, read group, alignment, bases and SA: at most 12
columns and 13 tags with numbers, of up to 12 and 18 characters."""
_SUPPLEMENTARY_TEXT: Final = 96
"""Characters of a mapping in SA beside the name: seven numbers of up to 11, and separators."""
_BASE: Final = 3
_OPERATION: Final = 32
"""Characters of an operation: its text, number in CG, brackets of ds, count of MD."""


def aligned_line_parts(
    rows: MappingRows,
    reads: NDArray[np.void],
    base_counts: NDArray[np.int64],
    longest_name: int,
    read_group: int,
    most: int,
) -> list[LineRange]:
    """Cut lines into parts whose size is bounded.

    Parameters
    ----------
    rows
        m mappings with their operations as written.
    reads
        READ[n].
    base_counts
        int64[m]: bases written in the line of each mapping, with a quality each.
    longest_name
        Bytes of the longest name of a reference sequence.
    read_group
        Bytes of the tag RG.
    most
        Most bytes of a part of several lines.
    """
    fixed = _FIXED_TEXT + longest_name + read_group
    names = fixed + reads["name_length"] + reads["comment_length"]
    row_sizes = np.empty(rows.mappings.size, dtype=np.int64)
    _bound(rows, names, base_counts, _SUPPLEMENTARY_TEXT + longest_name, row_sizes)
    return line_parts(rows.offsets, names + 2 * reads["length"], row_sizes, most)


@njit
def _bound(
    rows: MappingRows,
    names: NDArray[np.int64],
    base_counts: NDArray[np.int64],
    place: Integer,
    row_sizes: NDArray[np.int64],
) -> None:
    """Set the largest sizes of the lines of mappings; `names` has the size without alignment."""
    mappings, operations, offsets = rows.mappings, rows.operations, rows.offsets
    for read in range(names.size):
        places = np.int64(0)
        for k in range(offsets[read], offsets[read + 1]):
            places += mappings[k].number == mappings[k].parent
        for k in range(offsets[read], offsets[read + 1]):
            mapping = mappings[k]
            size = names[read] + 2 * base_counts[k] + _alignment_size(mapping, operations)
            if mapping.number == mapping.parent:
                size += places * place
            row_sizes[k] = size


@njit
def _alignment_size(mapping: Any, operations: NDArray[np.uint32]) -> Integer:
    first, count = mapping.first_operation, np.int64(mapping.operations)
    columns = np.int64(0)
    for k in range(first, first + count):
        columns += operations[k] >> np.uint32(4)
    return _BASE * columns + _OPERATION * count
