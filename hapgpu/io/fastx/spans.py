"""Spans of the parts of reads in a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit

_NEWLINE, _RETURN = b"\n\r"


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
