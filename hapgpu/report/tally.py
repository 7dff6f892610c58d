"""Tallies: counted integers of a range, which stay small however many values there are."""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.report.charts import Spec, histogram

_MAX_BARS: Final = 60
_MIN_BARS: Final = 8
_STEPS: Final = np.array([1, 2, 5])
_PER_OCTAVE: Final = 6


class Tally:
    """Counts of integers from `low` to `high`; others count as the nearer of the two.

    Parameters
    ----------
    low, high
        The range.
    unit
        The integers are multiples of this; charts show the products.

    Attributes
    ----------
    counts
        int64[high - low + 1]: number of values, from `low` on.
    total
        Sum of all values, without the limits.
    """

    def __init__(self, low: int, high: int, unit: float = 1) -> None:
        self._low = low
        self._unit = unit
        self.counts = np.zeros(high - low + 1, dtype=np.int64)
        self.total = 0

    def add(self, values: NDArray[Any]) -> Self:
        """Count values."""
        self.total += int(values.sum(dtype=np.int64))
        clipped = np.clip(values, self._low, self._low + self.counts.size - 1) - self._low
        self.counts += np.bincount(clipped, minlength=self.counts.size)
        return self

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally of the same range."""
        self.counts += other.counts
        self.total += other.total

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean of the values; 0 without values."""
        return self.total * self._unit / max(len(self), 1)

    @property
    def median(self) -> float:
        """Lower median of the values; 0 without values."""
        if not len(self):
            return 0
        middle = np.searchsorted(np.cumsum(self.counts), (len(self) + 1) // 2)
        return (self._low + int(middle)) * self._unit

    def below(self, value: float) -> int:
        """Return how many values are less."""
        return int(self.counts[: max(round(value / self._unit) - self._low, 0)].sum())

    def chart(self, x: str, y: str, x_format: str = "") -> Spec:
        """Return a histogram of the values, in at most 60 bars of equal width."""
        used = np.flatnonzero(self.counts)
        first, last = (int(used[0]), int(used[-1])) if used.size else (0, 0)
        # A few values, such as 0 and 1, would be as wide as the chart.
        first = max(min(first, last - _MIN_BARS + 1), 0)
        last = min(max(last, first + _MIN_BARS - 1), self.counts.size - 1)
        step = _step_of(last - first + 1)
        first -= (self._low + first) % step
        bins = (last - first) // step + 1
        padded = np.zeros(bins * step, dtype=np.int64)
        start = max(first, 0)
        padded[start - first : last + 1 - first] = self.counts[start : last + 1]
        edges = self._low + first + np.arange(bins + 1, dtype=np.float64) * step
        if step == 1 and self._unit == 1:  # the bar of a single value has it in its middle
            edges -= 0.5
        counts = padded.reshape(bins, step).sum(axis=1)
        return histogram(counts, edges * self._unit, x, y, x_format=x_format)

    def note(self, low: str = "", high: str = "") -> str:
        """Return a note on the ends of the range, if values may lie outside of it."""
        ends = [
            f"{words} {limit:,} {where} included in the {bar} bar"
            for words, limit, where, bar, count in (
                (low, self._low, "and below", "first", self.counts[0]),
                (high, self._low + self.counts.size - 1, "and above", "last", self.counts[-1]),
            )
            if words and count
        ]
        return "; ".join(ends)


def _step_of(span: int) -> int:
    """Return the width of bars: 1, 2 or 5 times a power of 10."""
    steps = (10 ** np.arange(12)[:, None] * _STEPS).ravel()
    return int(steps[np.searchsorted(steps, -(-span // _MAX_BARS))])


class LengthTally:
    """Counts of lengths in bins that rise by a factor, from 1 to 2**31."""

    def __init__(self) -> None:
        octaves = np.arange(31 * _PER_OCTAVE + 1) / _PER_OCTAVE
        self._edges = np.unique(np.round(2.0**octaves).astype(np.int64))
        self.counts = np.zeros(self._edges.size - 1, dtype=np.int64)
        self.bases = np.zeros(self._edges.size - 1, dtype=np.int64)
        self.shortest = np.iinfo(np.int64).max
        self.longest = 0

    def add(self, lengths: NDArray[Any]) -> Self:
        """Count lengths, of which 0 count nothing."""
        lengths = np.minimum(lengths[lengths > 0].astype(np.int64), self._edges[-1] - 1)
        if lengths.size:
            rows = np.searchsorted(self._edges, lengths, side="right") - 1
            self.counts += np.bincount(rows, minlength=self.counts.size)
            weights = np.bincount(rows, weights=lengths, minlength=self.counts.size)
            self.bases += weights.astype(np.int64)
            self.shortest = min(self.shortest, int(lengths.min()))
            self.longest = max(self.longest, int(lengths.max()))
        return self

    def merge(self, other: LengthTally) -> None:
        """Add the counts of another tally."""
        self.counts += other.counts
        self.bases += other.bases
        self.shortest = min(self.shortest, other.shortest)
        self.longest = max(self.longest, other.longest)

    def n50(self) -> int:
        """Return N50 to the width of a bin: longer reads hold half of the bases."""
        if not self.longest:
            return 0
        longer = np.cumsum(self.bases[::-1])
        row = self.bases.size - 1 - int(np.searchsorted(longer, longer[-1] / 2))
        return min(int(self.bases[row] / max(self.counts[row], 1)), self.longest)

    def chart(self, x: str, y: str) -> Spec:
        """Return a histogram with a logarithmic axis of lengths."""
        used = np.flatnonzero(self.counts)
        span = slice(used[0], used[-1] + 1) if used.size else slice(0, 1)
        edges = self._edges[span.start : span.stop + 1]
        return histogram(self.counts[span], edges, x, y, log=True)
