"""Identities of alignments, from CIGAR and NM, and against the lengths of reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.report.charts import Spec, figure
from hapgpu.report.tally import Tally, length_edges
from hapgpu.runtime.jit import njit

IDENTITY_UNIT: Final = 10_000
"""An identity is a number of these parts."""

_EDGES: Final = length_edges(3)
_PARTS: Final = 1000
"""Rows of identities in the plot against lengths, before they are joined."""

_MAX_ROWS: Final = 40
_SHOWN: Final = 0.005
_MIN_LENGTHS: Final = 3
_HEIGHT: Final = 220


@njit
def identity_of(distance: Integer, span: Integer) -> Integer:
    """Return the identity of an alignment: the fraction of its columns that match.

    Parameters
    ----------
    distance
        Edit distance, NM: mismatched, inserted and deleted bases.
    span
        Columns, at least one: M, =, X, I and D of the CIGAR.
    """
    identity = np.int64(IDENTITY_UNIT * (span - distance) // span)
    return min(max(identity, np.int64(0)), np.int64(IDENTITY_UNIT))


def identities_of(distances: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: the identities of n alignments, see `identity_of`.

    `distances` and `spans` are int64[n].
    """
    found: NDArray[np.int64] = np.clip(
        IDENTITY_UNIT * (spans - distances) // spans, 0, IDENTITY_UNIT
    )
    return found


class LengthIdentities:
    """Counts of reads by identity, and by length and identity.

    Attributes
    ----------
    tally
        The identities.
    """

    def __init__(self) -> None:
        self.tally = Tally(0, IDENTITY_UNIT, 1 / IDENTITY_UNIT)
        self._counts = np.zeros((_EDGES.size - 1, _PARTS), dtype=np.int64)

    def add(self, lengths: NDArray[np.int64], identities: NDArray[np.int64]) -> Self:
        """Count n reads by their `lengths`, int64[n] bases, and `identities`, int64[n]."""
        self.tally.add(identities)
        bins = np.clip(np.searchsorted(_EDGES, lengths, side="right") - 1, 0, _EDGES.size - 2)
        rows = np.minimum(identities * _PARTS // IDENTITY_UNIT, _PARTS - 1)
        cells = np.bincount(bins * _PARTS + rows, minlength=self._counts.size)
        self._counts += cells.reshape(self._counts.shape)
        return self

    def merge(self, other: LengthIdentities) -> None:
        """Add the counts of other reads."""
        self.tally.merge(other.tally)
        self._counts += other._counts

    def figures(self, y: str) -> Iterator[str]:
        """Yield the distribution of identities, and the plot against lengths; none without reads.

        Parameters
        ----------
        y
            What is counted, such as `reads`.
        """
        if not len(self.tally):
            return
        note = "matching columns / all columns (M, =, X, I, D), from CIGAR and NM"
        yield self.tally.figure("Identity", "identity", y, note, x_format="~%")
        if np.count_nonzero(self._counts.any(axis=1)) >= _MIN_LENGTHS:
            yield figure("Length and identity", self._plot(y), self._plot_note())

    def _rows(self) -> tuple[int, int]:
        """Return the first row that is shown, and how many are joined to one."""
        below = np.cumsum(self._counts.sum(axis=0))
        first = int(np.searchsorted(below, _SHOWN * below[-1], side="right"))
        step = -(-(_PARTS - first) // _MAX_ROWS)
        return max(_PARTS - step * -(-(_PARTS - first) // step), 0), step  # rows end at 100%

    def _plot_note(self) -> str:
        first, _ = self._rows()
        if not self._counts[:, :first].any():
            return ""
        return f"identities below {first / _PARTS:.1%} are included in the lowest row"

    def _plot(self, y: str) -> Spec:
        first, step = self._rows()
        counts = self._counts[:, first:].copy()
        counts[:, 0] += self._counts[:, :first].sum(axis=1)
        starts = np.arange(0, counts.shape[1], step)
        joined = np.add.reduceat(counts, starts, axis=1)
        ends = np.append(starts[1:], counts.shape[1])
        values: list[Spec] = [
            {
                "from": int(_EDGES[length]),
                "to": int(_EDGES[length + 1]),
                "low": round(float(first + starts[row]) / _PARTS, 4),
                "high": round(float(first + ends[row]) / _PARTS, 4),
                "count": int(joined[length, row]),
            }
            for length, row in np.argwhere(joined).tolist()
        ]
        return _heat_map(values, y)


def _heat_map(values: list[Spec], y: str) -> Spec:
    length = {"field": "from", "type": "quantitative", "title": "read length (bases)"}
    identity = {"field": "low", "type": "quantitative", "title": "identity"}
    count = {"field": "count", "type": "quantitative", "title": y}
    return {
        "data": {"values": values},
        "height": _HEIGHT,
        "mark": {"type": "rect"},
        "encoding": {
            "x": {**length, "scale": {"type": "log", "nice": False}, "axis": {"format": "~s"}},
            "x2": {"field": "to"},
            "y": {**identity, "scale": {"zero": False}, "axis": {"format": "~%"}},
            "y2": {"field": "high"},
            # Few reads beside many: the square root keeps them visible.
            "color": {
                **count,
                "scale": {"type": "sqrt", "scheme": "viridis"},
                "legend": {"tickMinStep": 1},
            },
            "tooltip": [
                {**length, "title": "length from", "format": ","},
                {"field": "to", "type": "quantitative", "title": "to (below)", "format": ","},
                {**identity, "title": "identity from", "format": ".1%"},
                {"field": "high", "type": "quantitative", "title": "to (below)", "format": ".1%"},
                {**count, "format": ","},
            ],
        },
    }
