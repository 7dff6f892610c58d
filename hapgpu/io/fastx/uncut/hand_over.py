"""Cuts between records of FASTQ or FASTA, whose text comes in pieces that end anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

LINES: Final = 4
"""Lines of a record of FASTQ."""

_NEWLINE, _GREATER = b"\n>"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The start of a record that no piece so far holds to its end.

    Attributes
    ----------
    parts
        uint8 arrays, in host memory: the bytes of the record, end to end.
    lines
        Number of its whole lines, 0 to 3; 0 in FASTA.
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

    def then(self, part: NDArray[np.uint8], lines: int = 0) -> Unfinished:
        """Return the record with more bytes, and another number of whole lines."""
        parts = (*self.parts, part) if part.size else self.parts
        return Unfinished(parts, lines, self.records)


class Cut(NamedTuple):
    """A piece cut after its last whole record.

    Attributes
    ----------
    end
        The end of that record in the piece; 0 if it has none, or ends before the piece.
    after
        What to hand to the next piece.
    """

    end: int
    after: Unfinished


class PieceEnd(Protocol):
    """The end of a piece of text, from which it is cut without its text."""

    def cut(self, before: Unfinished) -> Cut:
        """Cut the piece, after what the piece before hands over."""


@dataclass(frozen=True, slots=True)
class FastqEnd:
    """The end of a piece of FASTQ.

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
    last: NDArray[np.integer[Any]]
    suffix: NDArray[np.uint8]

    def cut(self, before: Unfinished) -> Cut:
        """Cut the piece after as many lines as whole records have."""
        records, lines = divmod(before.lines + self.newlines, LINES)
        if not records:
            return Cut(0, before.then(self.suffix, lines))
        end = int(self.last[self.last.size - 1 - lines]) + 1
        start = int(self.last[0]) + 1 if self.newlines >= LINES else 0
        after = Unfinished(records=before.records + records)
        return Cut(end, after.then(self.suffix[end - start :], lines))


@dataclass(frozen=True, slots=True)
class FastaEnd:
    """The end of a piece of FASTA.

    Attributes
    ----------
    starts
        Number of records that start after a newline of the piece.
    last
        Offset of the last of them; 0 without one.
    is_greater
        Whether the first byte is `>`, so a record starts there if the piece before ends a line.
    suffix
        uint8: the bytes from `last` on.
    """

    starts: int
    last: int
    is_greater: bool
    suffix: NDArray[np.uint8]

    def cut(self, before: Unfinished) -> Cut:
        """Cut the piece before the last start of a record."""
        ends_line = not before.parts or before.parts[-1][-1] == _NEWLINE
        starts = self.starts + (self.is_greater and bool(ends_line))
        if not starts:
            return Cut(0, before.then(self.suffix))
        started = before.records + bool(before.parts) + starts
        return Cut(self.last, Unfinished(records=started - 1).then(self.suffix))


def end_of_text(text: NDArray[np.uint8], *, is_fasta: bool) -> PieceEnd:
    """Return the end of a piece in host memory, which has at least one byte."""
    newlines = np.flatnonzero(text == _NEWLINE)
    if is_fasta:
        after = newlines[newlines < text.size - 1] + 1
        starts = after[text[after] == _GREATER]
        last = int(starts[-1]) if starts.size else 0
        return FastaEnd(starts.size, last, bool(text[0] == _GREATER), text[last:].copy())
    last_newlines = newlines[-LINES:]
    start = int(last_newlines[0]) + 1 if newlines.size >= LINES else 0
    return FastqEnd(newlines.size, last_newlines, text[start:].copy())
