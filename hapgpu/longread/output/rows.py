"""Rows of reads and reference sequences, for the compiled loops that write lines, and their sizes.

What is not used of the memory for lines costs nothing. A mismatch takes three bytes of cs, or five
with the equal base before it; a base takes at most three bytes of any tag.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import ReadSpans, comment_spans
from hapgpu.longread.align.batches import AlignedMappings, ReadCodes, Row, TargetCodes
from hapgpu.longread.batches import NamedReads
from hapgpu.longread.output.parts import LineRange, line_parts
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

TARGET: Final = np.dtype(
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
        What the addresses point to; no codes for lines without alignments.
    """

    rows: NDArray[np.void]
    longest_name: int
    names: Ragged
    codes: TargetCodes | None

    @classmethod
    def of(
        cls, names: Sequence[str], lengths: NDArray[np.int64], codes: TargetCodes | None = None
    ) -> LineTargets:
        """Make the rows of sequences with these names and lengths."""
        texts = Ragged.from_names(names)
        rows = np.zeros(len(names), dtype=TARGET)
        rows["name"] = texts.data.ctypes.data + texts.offsets[:-1]
        rows["name_length"] = texts.lengths
        rows["length"] = lengths
        if codes is not None:
            rows["codes"] = codes.codes.ctypes.data + codes.starts
        return cls(read_only(rows), int(texts.lengths.max(initial=0)), texts, codes)


@dataclass(frozen=True, slots=True)
class AlignedBlock:
    """A block of n reads with their aligned mappings.

    Attributes
    ----------
    text, spans
        uint8 text of the reads, and its spans.
    codes
        Bases of the reads.
    aligned
        Mappings of the reads, in the order of their lines.
    repeat_lengths
        int32[n]: bases of each read in repetitive seeds, for the tag rl.
    """

    text: NDArray[np.uint8]
    spans: ReadSpans
    codes: ReadCodes
    aligned: AlignedMappings
    repeat_lengths: NDArray[np.int32]

    def rows(self, *, has_comments: bool) -> NDArray[np.void]:
        """Return READ[n], read-only; the caller holds the arrays, which the addresses point to."""
        text, spans = self.text, self.spans
        named = NamedReads(text, spans.name_starts, spans.name_lengths, spans.lengths)
        rows = read_rows(named, self.repeat_lengths)
        rows["bases"] = spans.base_starts
        rows["qualities"] = spans.quality_starts if spans.has_qualities else -1
        rows["codes"] = self.codes.codes.ctypes.data + self.codes.starts
        if has_comments:
            comments = comment_spans(text, spans.name_starts, spans.name_lengths)
            rows["comment"] = text.ctypes.data + comments.starts.astype(np.int64)
            rows["comment_length"] = comments.lengths
        return read_only(rows)


def read_rows(reads: NamedReads, repeat_lengths: NDArray[np.int32]) -> NDArray[np.void]:
    """Return READ[n] with names, lengths and the tag rl; the caller holds the text.

    Parameters
    ----------
    reads
        Names and lengths of n reads.
    repeat_lengths
        int32[n]: the tag rl.
    """
    rows = np.zeros(len(reads), dtype=READ)
    rows["name"] = reads.text.ctypes.data + reads.name_starts.astype(np.int64)
    rows["name_length"] = reads.name_lengths
    rows["length"] = reads.lengths
    rows["repeats"] = repeat_lengths
    return rows


class LineRows(NamedTuple):
    """Mappings, reads and reference sequences for compiled code, read-only.

    Attributes
    ----------
    mappings, operations, offsets
        As in `AlignedMappings`.
    reads, targets
        READ[n], and one row per reference sequence.
    """

    mappings: NDArray[np.void]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    reads: NDArray[np.void]
    targets: NDArray[np.void]


class LineForm(NamedTuple):
    """Form of lines: PAF or SAM.

    Attributes
    ----------
    put
        Writes lines: the uint8 text of the reads, the rows, the part to write, memory of its size
        and the counts to add to; returns the used size.
    base_counts
        Returns int64[m]: bases written in the line of each mapping, with a quality each.
    read_group
        Bytes of the tag RG.
    """

    put: Callable[
        [NDArray[np.uint8], LineRows, LineRange, NDArray[np.uint8], NDArray[np.int64]], int
    ]
    base_counts: Callable[[LineRows], NDArray[np.int64]]
    read_group: int


_FIXED_TEXT: Final = 768
"""Characters of a line beside names, comment, read group, alignment, bases and SA: at most 12
columns and 13 tags with numbers, of up to 12 and 18 characters."""
_SUPPLEMENTARY_TEXT: Final = 96
"""Characters of a mapping in SA beside the name: seven numbers of up to 11, and separators."""
_BASE: Final = 3
_OPERATION: Final = 32
"""Characters of an operation: its text, number in CG, brackets of ds, count of MD."""


def bounded_parts(
    rows: LineRows, base_counts: NDArray[np.int64], longest_name: int, read_group: int, most: int
) -> list[LineRange]:
    """Cut lines into parts whose size is bounded.

    Parameters
    ----------
    rows
        m mappings with their operations as written.
    base_counts
        int64[m]: bases written in the line of each mapping, with a quality each.
    longest_name
        Bytes of the longest name of a reference sequence.
    read_group
        Bytes of the tag RG.
    most
        Most bytes of a part of several lines.
    """
    reads = rows.reads
    fixed = _FIXED_TEXT + longest_name + read_group
    names = fixed + reads["name_length"] + reads["comment_length"]
    row_sizes = np.empty(rows.mappings.size, dtype=np.int64)
    _bound(rows, names, base_counts, _SUPPLEMENTARY_TEXT + longest_name, row_sizes)
    return line_parts(rows.offsets, names + 2 * reads["length"], row_sizes, most)


@njit
def _bound(
    rows: LineRows,
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
def _alignment_size(mapping: Row, operations: NDArray[np.uint32]) -> Integer:
    first, count = mapping.first_operation, np.int64(mapping.operations)
    columns = np.int64(0)
    for k in range(first, first + count):
        columns += operations[k] >> np.uint32(4)
    return _BASE * columns + _OPERATION * count
