"""Tallies: counted integers of a range, which stay small however many values there are."""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.report.charts import Spec, figure, histogram, sentence

_MAX_BARS: Final = 60
_MIN_BARS: Final = 8
_STEPS: Final = np.array([1, 2, 5])
_PER_OCTAVE: Final = 6
_SHOWN: Final = 0.99
_MAX_PENDING: Final = 1 << 17
_LONGEST: Final = (1 << 31) - 1


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
        """Count `values`, [n] of any integer dtype."""
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

    def capped(self) -> Tally:
        """Return the counts with the largest 1% of the values at the end of the range."""
        end = int(np.searchsorted(np.cumsum(self.counts), _SHOWN * len(self)))
        shown = Tally(self._low, self._low + end, self._unit)
        shown.counts[:] = self.counts[: end + 1]
        shown.counts[end] += self.counts[end + 1 :].sum()
        return shown

    def figure(
        self, title: str, x: str, y: str, note: str = "", *, x_format: str = "", height: int = 0
    ) -> str:
        """Return a histogram with its heading, as HTML; a sentence if all values are equal."""
        if np.count_nonzero(self.counts) == 1:
            value = self._low + int(np.flatnonzero(self.counts)[0])
            shown = (
                f"{100 * value * self._unit:g}%"
                if "%" in x_format
                else f"{round(value * self._unit, 6):,}"
            )
            number = f"all {len(self):,}" if len(self) > 1 else "1"
            return sentence(title, f"{shown} for {number} {y}")
        chart = self.chart(x, y, x_format)
        return figure(title, chart | {"height": height or chart["height"]}, note)

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
    """Exact counts of lengths from 1 on: as many numbers as there are different lengths."""

    def __init__(self) -> None:
        self._lengths = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)
        self._added: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._pending = 0

    def add(self, lengths: NDArray[Any]) -> Self:
        """Count `lengths`, [n] of any integer dtype, of which 0 count nothing."""
        lengths = np.minimum(lengths[lengths > 0].astype(np.int64), _LONGEST)
        self._append(*np.unique(lengths, return_counts=True))
        return self

    def merge(self, other: LengthTally) -> None:
        """Add the counts of another tally."""
        self._append(*other.counts())

    def _append(self, lengths: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._added.append((lengths, counts))
        self._pending += lengths.size
        if self._pending > _MAX_PENDING:
            self.counts()

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return int64[k] and int64[k]: the different lengths, ascending, and how many of each."""
        if self._added:
            parts = [(self._lengths, self._counts), *self._added]
            lengths, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
            self._lengths, rows = np.unique(lengths, return_inverse=True)
            self._counts = np.zeros(self._lengths.size, dtype=np.int64)
            np.add.at(self._counts, rows, counts)
            self._added, self._pending = [], 0
        return self._lengths, self._counts

    @property
    def longest(self) -> int:
        """The longest length; 0 without any."""
        return int(self.counts()[0].max(initial=0))

    def n50(self) -> int:
        """Return N50: reads of at least this length hold half of the bases; 0 without any."""
        lengths, counts = self.counts()
        if not lengths.size:
            return 0
        bases = np.cumsum((lengths * counts)[::-1])
        return int(lengths[::-1][np.searchsorted(bases, -(-bases[-1] // 2))])

    def figure(self, title: str, x: str, y: str) -> str:
        """Return a histogram with a logarithmic axis, as HTML; a sentence for a single length."""
        lengths, counts = self.counts()
        if lengths.size == 1:
            return sentence(title, f"all {counts[0]:,} {y} have {lengths[0]:,} {x}")
        edges = length_edges(_PER_OCTAVE)
        bins = np.searchsorted(edges, lengths, side="right") - 1
        binned = np.bincount(np.minimum(bins, edges.size - 2), counts, edges.size - 1)
        used = np.flatnonzero(binned)
        first, end = (int(used[0]), int(used[-1]) + 1) if used.size else (0, 1)
        shown = binned[first:end].astype(np.int64)
        return figure(title, histogram(shown, edges[first : end + 1], x, y, log=True))


def length_edges(per_octave: int) -> NDArray[np.int64]:
    """Return int64: bounds of bins of lengths that rise by a factor, from 1 to 2**31."""
    octaves = np.arange(31 * per_octave + 1) / per_octave
    return np.unique(np.round(2.0**octaves).astype(np.int64))
