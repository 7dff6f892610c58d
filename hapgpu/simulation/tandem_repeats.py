"""Tandem repeats along a sequence: homopolymers, and short units that follow themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LONGEST_UNIT: Final = 6
"""Bases of the longest unit looked for."""


@dataclass(frozen=True, slots=True)
class TandemRuns:
    """r stretches in which a unit follows itself, in the order of their starts.

    Attributes
    ----------
    starts, ends
        int64[r], half-open, into the sequence; as long as the repeat holds, whole unit or not.
    units
        int64[r]: bases of the unit, 1 to `LONGEST_UNIT`; the unit is no repeat itself.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    units: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """int64[r]: how many whole units follow each other."""
        counts: NDArray[np.int64] = (self.ends - self.starts) // self.units
        return counts


def tandem_runs(bases: NDArray[np.uint8], least: int) -> TandemRuns:
    """Find the stretches of at least `least` units.

    Parameters
    ----------
    bases
        uint8 text, upper case; a stretch of N is none.
    least
        Units, at least 2.
    """
    found = [_runs_of_unit(bases, unit, least) for unit in range(1, LONGEST_UNIT + 1)]
    starts, ends, units = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((units, starts))
    return TandemRuns(starts[order], ends[order], units[order])


def _runs_of_unit(
    bases: NDArray[np.uint8], unit: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    earlier, later = bases[: max(bases.size - unit, 0)], bases[unit:]
    repeats = np.zeros(earlier.size + 2, dtype=np.int8)
    repeats[1:-1] = (earlier == later) & (later != ord("N"))
    steps = np.diff(repeats)
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) + unit
    is_long = ends - starts >= least * unit
    starts, ends = starts[is_long], ends[is_long]
    first = bases[starts[:, None] + np.arange(unit)]
    is_unit = np.ones(starts.size, dtype=np.bool_)
    for part in range(1, unit):
        if unit % part == 0:
            is_unit &= (first[:, part:] != first[:, :-part]).any(axis=1)
    starts, ends = starts[is_unit], ends[is_unit]
    return starts, ends, np.full(starts.size, unit, dtype=np.int64)
