"""What a piece of BAM hands to the piece behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class HandOver:
    """The start of a record that no piece so far holds to its end.

    Attributes
    ----------
    parts
        uint8 arrays, in host memory: the bytes of the record, end to end; empty after a whole
        record. Many pieces may hold parts of one record.
    records
        Number of whole records so far, for messages.
    """

    parts: tuple[NDArray[np.uint8], ...] = ()
    records: int = 0

    @property
    def size(self) -> int:
        """Bytes of the record so far."""
        return sum(part.size for part in self.parts)

    def bytes(self) -> NDArray[np.uint8]:
        """Return the bytes of the record so far, uint8."""
        return np.concatenate([np.empty(0, dtype=np.uint8), *self.parts])

    def head(self, more: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
        """Return at most `count` of the first bytes of the record, if `more` follow the parts."""
        parts = [part[:count] for part in (*self.parts, more)]
        return np.concatenate(parts)[:count]

    def then(self, part: NDArray[np.uint8]) -> HandOver:
        """Return the hand-over after a piece, all bytes of which belong to the record."""
        return HandOver((*self.parts, part) if part.size else self.parts, self.records)
