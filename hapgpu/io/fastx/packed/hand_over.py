"""Cuts between records of FASTQ, whose text comes in pieces that end anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LINES: Final = 4
"""Lines of a record."""

_NEWLINE: Final = ord("\n")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The start of a record that no piece so far holds to its end.

    Attributes
    ----------
    parts
        uint8 arrays, in host memory: the bytes of the record, end to end.
    lines
        Number of its whole lines, 0 to 3.
    records
        Number of whole records before it, for messages.
    """

    parts: tuple[NDArray[np.uint8], ...] = ()
    lines: int = 0
    records: int = 0

    @property
    def size(self) -> int:
        """Bytes of the record so far."""
        return sum(part.size for part in self.parts)

    def bytes(self) -> NDArray[np.uint8]:
        """Return the bytes of the record so far, uint8."""
        return np.concatenate([np.empty(0, dtype=np.uint8), *self.parts])


@dataclass(frozen=True, slots=True)
class PieceEnd:
    """The end of a piece of text, from which it is cut without its text.

    Attributes
    ----------
    newlines
        Number of newlines of the piece.
    last
        int[k]: offsets of the last newlines, ascending; k is 4, or all newlines if there are fewer.
    suffix
        uint8: the bytes after the first of four newlines; all bytes if there are fewer.
    """

    newlines: int
    last: NDArray[np.integer]
    suffix: NDArray[np.uint8]

    def cut(self, before: Unfinished) -> tuple[int, Unfinished]:
        """Return the end of the last whole record, and what to hand to the next piece.

        Parameters
        ----------
        before
            What the piece before hands over. The end is 0 if the record does not end here.
        """
        records, lines = divmod(before.lines + self.newlines, LINES)
        if not records:
            parts = (*before.parts, self.suffix) if self.suffix.size else before.parts
            return 0, Unfinished(parts, lines, before.records)
        end = int(self.last[self.last.size - 1 - lines]) + 1
        start = int(self.last[0]) + 1 if self.newlines >= LINES else 0
        rest = self.suffix[end - start :]
        parts = (rest,) if rest.size else ()
        return end, Unfinished(parts, lines, before.records + records)


def end_of_text(text: NDArray[np.uint8]) -> PieceEnd:
    """Return the end of a piece in host memory."""
    newlines = np.flatnonzero(text == _NEWLINE)
    last = newlines[-LINES:]
    start = int(last[0]) + 1 if newlines.size >= LINES else 0
    return PieceEnd(newlines.size, last, text[start:].copy())
