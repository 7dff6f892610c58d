"""Schedule of targets and seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_RUN: Final = 50
"""Number of successive executions of a target."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The executions of one of several workers.

    Attributes
    ----------
    targets
        Their names; each comes as often as the others.
    seed
        The first.
    worker, workers
        Number of this worker, and of all workers.
    """

    targets: tuple[str, ...]
    seed: int
    worker: int
    workers: int

    def at(self, number: int) -> tuple[int, int]:
        """Return the target, by its row, and the seed of an execution, counted from 0."""
        turns, within = divmod(number, _RUN)
        rounds, target = divmod(turns, len(self.targets))
        return target, self.seed + (rounds * _RUN + within) * self.workers + self.worker
