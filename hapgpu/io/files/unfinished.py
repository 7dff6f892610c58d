"""The record between two pieces of a file, handed from the piece it starts in to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """The start of a record that no piece so far holds to its end.

    Attributes
    ----------
    parts
        uint8 arrays, in host memory: the bytes of the record, end to end; empty after a whole
        record. Many pieces may hold parts of one record.
    lines
        Number of its whole lines, 0 to 3; 0 in formats other than FASTQ.
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

    def head(self, more: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
        """Return uint8: at most `count` first bytes of the record, if `more`, uint8, follow."""
        parts = [part[:count] for part in (*self.parts, more)]
        return np.concatenate(parts)[:count]

    def then(self, part: NDArray[np.uint8], lines: int = 0) -> Unfinished:
        """Return the record with `part`, uint8, at its end, and another number of whole lines."""
        parts = (*self.parts, part) if part.size else self.parts
        return Unfinished(parts=parts, lines=lines, records=self.records)
