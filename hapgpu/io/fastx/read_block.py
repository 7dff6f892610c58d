"""A piece of a FASTQ or FASTA file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """Whole records as they lie in the file.

    Attributes
    ----------
    text
        uint8, less than 2**31 bytes, ending with a newline: four lines a record, of FASTA two (a
        sequence over several lines is joined); lines may end in a carriage return, and at the
        end of a file there may be blank lines.
    is_fasta
        Records begin with `>` and have no qualities.
    first
        The number of the first record in its file, from 1.
    name
        Of the file, for messages.
    """

    text: NDArray[np.uint8]
    is_fasta: bool
    first: int
    name: str

    def halves(self) -> list[ReadBlock]:
        """Cut the block in two, between records; a block of one record stays whole."""
        newlines = np.flatnonzero(self.text == ord("\n"))
        lines = 2 if self.is_fasta else 4
        records = newlines.size // lines
        if records < 2:
            return [self]
        cut = int(newlines[records // 2 * lines - 1]) + 1
        return [
            ReadBlock(self.text[:cut], self.is_fasta, self.first, self.name),
            ReadBlock(self.text[cut:], self.is_fasta, self.first + records // 2, self.name),
        ]
