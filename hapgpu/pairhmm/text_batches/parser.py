"""Parser of pieces of text batches on the CPU, which names the line of a fault."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column
from hapgpu.pairhmm.text_batches.lines import (
    HAPLOTYPE_FIELDS,
    HEADER_FIELDS,
    MAX_QUALITY,
    MAX_ROWS,
    PHRED_OFFSET,
    READ_FIELDS,
    TextBatchLines,
    copy_fields,
)

_SHOWN_BYTES: Final = 40

_COLUMNS = ("bases", "base qualities", "insertion qualities", "deletion qualities", "continuations")
_MEANING = {
    READ_FIELDS: "a read is five strings (bases and base, insertion, deletion and gap continuation"
    " qualities)",
    HAPLOTYPE_FIELDS: "a haplotype is one string",
}


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class TextPiece:
    """Whole text batches of a file, as text.

    Attributes
    ----------
    text
        uint8, at least one line; all lines end in a newline. If the counts of a text batch are
        wrong, or the file is truncated, the last text batch is not whole.
    text_and_next_line
        uint8: the text and the line that follows, which starts a text batch; only the text if the
        file ends.
    name
        Name of the file for messages.
    number
        Number of the piece, from 0.
    first_line
        Number of the first line in the file, from 1.
    """

    text: NDArray[np.uint8]
    text_and_next_line: NDArray[np.uint8]
    name: str
    number: int
    first_line: int


def parse_piece(piece: TextPiece) -> HmmBatch:
    """Parse the text batches of a piece.

    Returns
    -------
    HmmBatch
        One group per text batch, bases as in the file; no groups if all lines are blank.

    Raises
    ------
    InputError
        A line is malformed, or a text batch is not whole; the message names the file and the line.
    """
    parsed = _Parsed(piece, piece.text)
    batch = parsed.batch()
    parsed.reject_fault()
    if parsed.lines.end < piece.text.size:
        _Parsed(piece, piece.text_and_next_line).reject_fault()
        parsed.reject_incomplete()
    return batch


def whole_batches_end(piece: TextPiece) -> int:
    """Return the offset after the whole text batches at the start of a piece.

    Raises
    ------
    InputError
        A line after them is malformed.
    """
    parsed = _Parsed(piece, piece.text)
    parsed.reject_fault()
    return parsed.lines.end


class _Parsed:
    """Lines of the text of a piece, or of its start or continuation."""

    def __init__(self, piece: TextPiece, text: NDArray[np.uint8]) -> None:
        self._name = piece.name
        self._first_line = piece.first_line
        self._text = read_only(text)
        self.lines = TextBatchLines.measure(self._text)

    def batch(self) -> HmmBatch:
        """Copy the reads and haplotypes of the whole text batches."""
        *starts, lengths = self.lines.reads
        offsets = offsets_of(lengths)
        bases, base_qualities, insertions, deletions, continuations = (
            self._copied(start, offsets, column)
            for start, column in zip(starts, _COLUMNS, strict=True)
        )
        reads = HmmReads(
            Ragged(bases, offsets),
            base_qualities,
            insertions,
            deletions,
            uniform_column(continuations),
        )
        start, lengths = self.lines.haplotypes
        offsets = offsets_of(lengths)
        haplotypes = Ragged(self._copied(start, offsets, "bases"), offsets)
        return HmmBatch(reads, haplotypes, *(offsets_of(counts) for counts in self.lines.counts))

    def reject_fault(self) -> None:
        """Raise the error of the first malformed line, if there is one.

        Raises
        ------
        InputError
            There is one; the message names the line.
        """
        start = self.lines.fault
        if start >= 0:
            line = self._text[start:].tobytes().partition(b"\n")[0]
            reason = _reason(line, self.lines.fields)
            raise InputError(f"{self._name}, line {self._line_at(start)}: {reason}")

    def reject_incomplete(self) -> NoReturn:
        """Raise the error for a file that ends in the middle of a text batch.

        Raises
        ------
        InputError
            Always; the message names the line where the text batch starts.
        """
        start = self.lines.end
        header = self._text[start:].tobytes().partition(b"\n")[0]
        raise InputError(
            f"{self._name}, line {self._line_at(start)}: the file ends within the text batch that"
            f" starts here with {_shown(header)}; copy the file again, or correct the counts"
        )

    def _copied(
        self, starts: NDArray[np.int64], offsets: NDArray[np.int64], column: str
    ) -> NDArray[np.uint8]:
        """Copy bases as they are, qualities as Phred."""
        out = np.empty(int(offsets[-1]), dtype=np.uint8)
        base = np.uint8(PHRED_OFFSET if column == "bases" else 0)
        row = copy_fields(self._text, starts, offsets, base, out)
        if row >= 0:
            start = int(starts[row])
            field = self._text[start : start + int(offsets[row + 1] - offsets[row])]
            invalid = field[field - np.uint8(PHRED_OFFSET) > MAX_QUALITY][0]
            raise InputError(
                f"{self._name}, line {self._line_at(start)}: invalid character"
                f" {chr(invalid)!a} in the {column}; use printable ones, '!' to '~'"
            )
        return out

    def _line_at(self, offset: int) -> int:
        return self._first_line + int(np.count_nonzero(self._text[:offset] == ord("\n")))


def _reason(line: bytes, fields: int) -> str:
    """Return the error in a line that should have a number of fields."""
    if fields == HEADER_FIELDS:
        return (
            f"expected the numbers of reads and haplotypes of a text batch, at most {MAX_ROWS:,},"
            f" found {_shown(line)}; give a file of text batches, or correct the previous counts"
        )
    lengths = [str(len(field)) for field in re.findall(rb"[^ \t\r]+", line)]
    if len(lengths) != fields:
        return (
            f"{_MEANING[fields]}, this line has {len(lengths)}; complete it, or correct the counts"
            " of its text batch"
        )
    return (
        "the bases and qualities of a read must have equal lengths, these have"
        f" {', '.join(lengths)}; correct the line"
    )


def _shown(line: bytes) -> str:
    text = ascii(line[:_SHOWN_BYTES].decode("latin-1").strip())
    return text if len(line) <= _SHOWN_BYTES else f"{text}..."
