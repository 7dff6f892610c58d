"""Options of realignment."""

from __future__ import annotations

from enum import StrEnum


class BestBy(StrEnum):
    """Criterion for a read's best haplotype."""

    SCORE = "score"
    LIKELIHOOD = "likelihood"
