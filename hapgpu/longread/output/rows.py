"""Rows of reads and reference sequences, for the compiled loops that write lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.read_block import ReadSpans, comment_spans
from hapgpu.longread.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.longread.batches import NamedReads
from hapgpu.longread.output.parts import WrittenLines

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
"""A read: offsets of its name, comment, bases and qualities in the text of the block (-1: no
qualities), offset of its codes in `ReadCodes.codes`, lengths, and the tag rl."""

TARGET: Final = np.dtype(
    [("name", np.int64), ("name_length", np.int64), ("length", np.int64), ("codes", np.int64)]
)
"""A reference sequence: offset of its name in the text of all names, offset of its codes in
`TargetCodes.codes`, and lengths."""


@dataclass(frozen=True, slots=True)
class LineTargets:
    """Reference sequences, as lines need them, read-only.

    Attributes
    ----------
    rows
        `TARGET`[s].
    names
        uint8: text of all names.
    codes
        uint8: codes of all bases; none for lines without alignments.
    """

    rows: NDArray[np.void]
    names: NDArray[np.uint8]
    codes: NDArray[np.uint8]

    @classmethod
    def of(
        cls, names: Sequence[str], lengths: NDArray[np.int64], codes: TargetCodes | None = None
    ) -> LineTargets:
        """Make the rows of s sequences with these names and `lengths`, int64[s]."""
        texts = Ragged.from_names(names)
        rows = np.zeros(len(names), dtype=TARGET)
        rows["name"] = texts.offsets[:-1]
        rows["name_length"] = texts.lengths
        rows["length"] = lengths
        if codes is not None:
            rows["codes"] = codes.starts
        bases = np.empty(0, dtype=np.uint8) if codes is None else codes.codes
        return cls(read_only(rows), read_only(texts.data), read_only(bases))


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
        """Return `READ`[n], read-only."""
        text, spans = self.text, self.spans
        named = NamedReads(text, spans.name_starts, spans.name_lengths, spans.lengths)
        rows = read_rows(named, self.repeat_lengths)
        rows["bases"] = spans.base_starts
        rows["qualities"] = spans.quality_starts if spans.has_qualities else -1
        rows["codes"] = self.codes.starts
        if has_comments:
            comments = comment_spans(text, spans.name_starts, spans.name_lengths)
            rows["comment"], rows["comment_length"] = comments.starts, comments.lengths
        return read_only(rows)


def read_rows(reads: NamedReads, repeat_lengths: NDArray[np.int32]) -> NDArray[np.void]:
    """Return `READ`[n] with names, lengths and the tag rl.

    Parameters
    ----------
    reads
        Names and lengths of n reads.
    repeat_lengths
        int32[n]: the tag rl.
    """
    rows = np.zeros(len(reads), dtype=READ)
    rows["name"] = reads.name_starts
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
        `READ`[n], and `TARGET`[s].
    text, names
        uint8: text of the reads, and names of the reference sequences.
    read_codes, target_codes
        uint8: bases of both.
    """

    mappings: NDArray[np.void]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    reads: NDArray[np.void]
    targets: NDArray[np.void]
    text: NDArray[np.uint8]
    names: NDArray[np.uint8]
    read_codes: NDArray[np.uint8]
    target_codes: NDArray[np.uint8]


LineForm: TypeAlias = Callable[
    [LineRows, Integer, Integer, NDArray[np.uint8], NDArray[np.int64]], WrittenLines
]
"""Writes lines of a form, PAF or SAM, of some rows; the other arguments are those of `PutLines`."""
