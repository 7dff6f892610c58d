"""Blocks of a FASTQ or FASTA file, the spans of their reads, and the text computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit

_NEWLINE, _RETURN = b"\n\r"


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Raw text of whole records.

    Attributes
    ----------
    text
        uint8, less than 2**31 bytes, ending with a newline: four lines per record, in FASTA two
        (a sequence over several lines is joined). Lines may end in a carriage return; the last
        block may end in blank lines.
    is_fasta
        Whether records start with `>` and have no qualities.
    first
        Number of the first record in its file, from 1.
    name
        Name of the file, for messages.
    """

    text: NDArray[np.uint8]
    is_fasta: bool
    first: int
    name: str

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return self.text.size

    def halves(self) -> list[ReadBlock]:
        """Split the block in two, between records; a block of one record is returned whole."""
        newlines = np.flatnonzero(self.text == ord("\n"))
        lines = 2 if self.is_fasta else 4
        records = newlines.size // lines
        if records < 2:
            return [self]
        return self.split([(records // 2, int(newlines[records // 2 * lines - 1]) + 1)])

    def split(self, cuts: Iterable[tuple[int, int]]) -> list[ReadBlock]:
        """Split the block before some records, given by number, from 0, and offset in the text."""
        ends = [(0, 0), *cuts, (0, self.text.size)]
        return [
            ReadBlock(self.text[start:end], self.is_fasta, self.first + number, self.name)
            for (number, start), (_, end) in pairwise(ends)
        ]


@dataclass(frozen=True, slots=True)
class ReadSpans:
    """Spans of names, bases and qualities of n reads in a text of less than 2**31 bytes.

    Attributes
    ----------
    name_starts, name_lengths
        int32[n]: the names, up to the first blank and without a trailing /1 or /2.
    base_starts
        int32[n]: starts of the bases.
    quality_starts
        int32[n]: starts of the qualities; undefined if the reads have none.
    lengths
        int32[n]: number of bases, and of qualities.
    has_qualities
        Whether the reads have qualities: all or none.
    """

    name_starts: NDArray[np.int32]
    name_lengths: NDArray[np.int32]
    base_starts: NDArray[np.int32]
    quality_starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    has_qualities: bool

    def __len__(self) -> int:
        return self.lengths.size

    def slice(self, start: int, end: int) -> ReadSpans:
        """Return the spans of reads start to end; they share memory with these."""
        return ReadSpans(
            self.name_starts[start:end],
            self.name_lengths[start:end],
            self.base_starts[start:end],
            self.quality_starts[start:end],
            self.lengths[start:end],
            self.has_qualities,
        )


@dataclass(frozen=True, slots=True)
class CommentSpans:
    """Spans of the comments of n reads: what follows the name and one blank or tab in its line.

    Attributes
    ----------
    starts, lengths
        int32[n]; the length is 0 without a comment.
    """

    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]


def comment_spans(
    text: NDArray[np.uint8], name_starts: NDArray[np.int32], name_lengths: NDArray[np.int32]
) -> CommentSpans:
    """Find the comments of reads.

    Parameters
    ----------
    text
        uint8: whole lines, which may end in a carriage return.
    name_starts, name_lengths
        int32[n]: the names, up to the first blank.
    """
    ends = (name_starts + name_lengths).astype(np.int32, copy=False)
    starts, lengths = np.empty_like(ends), np.empty_like(ends)
    _find_comments(read_only(text), read_only(ends), starts, lengths)
    return CommentSpans(starts, lengths)


@njit
def _find_comments(
    text: NDArray[np.uint8],
    name_ends: NDArray[np.int32],
    starts: NDArray[np.int32],
    lengths: NDArray[np.int32],
) -> None:
    for row in range(name_ends.size):
        end = start = np.int64(name_ends[row])
        while text[end] != _NEWLINE:
            end += 1
        end -= np.int64(end > start and text[end - 1] == _RETURN)
        starts[row] = start = min(start + 1, end)
        lengths[row] = end - start


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines of output for the reads of one block, and its counts.

    Attributes
    ----------
    text
        uint8: whole lines.
    counts
        Counts by their name in the statistics, `reads` included.
    """

    text: NDArray[np.uint8]
    counts: Mapping[str, int]

    @classmethod
    def joined(cls, parts: Sequence[TextBlock]) -> TextBlock:
        """Join at least one successive block."""
        if len(parts) == 1:
            return parts[0]
        counts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
        return cls(np.concatenate([part.text for part in parts]), counts)


NO_LINES: Final = TextBlock(np.empty(0, dtype=np.uint8), {"reads": 0})
"""The result for no reads."""
