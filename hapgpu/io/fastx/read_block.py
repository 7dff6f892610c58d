"""Block of a FASTQ or FASTA file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

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
        return self.split([(records // 2, int(newlines[records // 2 * lines - 1]) + 1)])

    def split(self, cuts: Iterable[tuple[int, int]]) -> list[ReadBlock]:
        """Split the block before some records, given by number, from 0, and offset in the text."""
        ends = [(0, 0), *cuts, (0, self.text.size)]
        return [
            ReadBlock(self.text[start:end], self.is_fasta, self.first + number, self.name)
            for (number, start), (_, end) in pairwise(ends)
        ]
