"""Block of a FASTQ or FASTA file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
        cut = int(newlines[records // 2 * lines - 1]) + 1
        return [
            ReadBlock(self.text[:cut], self.is_fasta, self.first, self.name),
            ReadBlock(self.text[cut:], self.is_fasta, self.first + records // 2, self.name),
        ]
