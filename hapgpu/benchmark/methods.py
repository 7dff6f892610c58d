"""Algorithms that `hapgpu bench` can measure."""

from __future__ import annotations

from enum import StrEnum


class ScoreMethod(StrEnum):
    """Methods of scoring: by predecessors as in minimap2, or by successors as in mm2-ax."""

    PREDECESSOR = "predecessor"
    SUCCESSOR = "successor"


class SearchMethod(StrEnum):
    """Search algorithm."""

    FM = "fm"
    BACKTRACKING = "backtracking"
