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


class AlignMethod(StrEnum):
    """Methods of alignment: the aligner of `hapgpu realign`, or also the design of Ren et al."""

    HAPGPU = "hapgpu"
    REN2019 = "ren2019"
