"""Text computed from a block of reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
