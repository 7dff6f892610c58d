"""Sets of intervals on a genome whose contigs lie on one line, with a base between them.

Sets are sorted and disjoint; intervals that abut may stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class IntervalSet:
    """Intervals on the line.

    Attributes
    ----------
    starts, ends
        int64[n]: 0-based, half-open; start < end.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    def merged(self, *, keeps_abutting: bool = False) -> IntervalSet:
        """Return any intervals as a set: sorted; those that overlap, or abut, are merged.

        Parameters
        ----------
        keeps_abutting
            Whether intervals that abut stay apart.
        """
        order = np.argsort(self.starts, kind="stable")
        starts, ends = self.starts[order], np.maximum.accumulate(self.ends[order])
        is_first = starts[1:] >= ends[:-1] if keeps_abutting else starts[1:] > ends[:-1]
        firsts = np.flatnonzero(np.concatenate([np.ones(min(len(self), 1), np.bool_), is_first]))
        return IntervalSet(
            starts[firsts], ends[np.append(firsts[1:], len(self))[: len(firsts)] - 1]
        )

    def common(self, other: IntervalSet) -> IntervalSet:
        """Return the intervals that two sets have in common, a set."""
        first = np.searchsorted(other.ends, self.starts, side="right")
        after = np.searchsorted(other.starts, self.ends, side="left")
        counts = np.maximum(after - first, 0)
        rows = np.repeat(np.arange(len(self)), counts)
        within = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        others = first[rows] + within
        return IntervalSet(
            np.maximum(self.starts[rows], other.starts[others]),
            np.minimum(self.ends[rows], other.ends[others]),
        )

    def without(self, other: IntervalSet) -> IntervalSet:
        """Return the bases of a set that another lacks, a set."""
        merged = other.merged()
        last = max(int(self.ends.max(initial=0)), int(merged.ends.max(initial=0)))
        starts = np.concatenate([[0], merged.ends])
        ends = np.concatenate([merged.starts, [last]])
        kept = starts < ends
        return self.common(IntervalSet(starts[kept], ends[kept]))


NO_INTERVALS = IntervalSet(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Line:
    """The line on which the contigs of a reference lie.

    Parameters
    ----------
    lengths
        Length of each contig, in order.

    Attributes
    ----------
    lengths
        int64[c]: the length of each contig.
    """

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self._names: Sequence[str] = tuple(lengths)
        self._numbers = dict(zip(self._names, range(len(lengths)), strict=True))
        self.lengths = np.array(list(lengths.values()), dtype=np.int64)
        self._offsets = np.cumsum(self.lengths + 1) - self.lengths - 1

    def numbers_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return int64[n]: the numbers of contigs, -1 for others."""
        return np.array([self._numbers.get(name, -1) for name in names], dtype=np.int64)

    def set_of(
        self,
        contigs: NDArray[np.int64],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        padding: int = 0,
    ) -> IntervalSet:
        """Return intervals on the line, each grown on both sides, but not beyond its contig.

        Parameters
        ----------
        contigs
            int64[n]: numbers of contigs.
        starts, ends
            int64[n]: 0-based, half-open, within the contigs.
        padding
            Bases on each side.

        Returns
        -------
        The intervals in the same order, not merged.
        """
        offsets = self._offsets[contigs]
        ends = np.minimum(ends + padding, self.lengths[contigs])
        return IntervalSet(offsets + np.maximum(starts - padding, 0), offsets + ends)

    def whole(self, names: Iterable[str]) -> IntervalSet:
        """Return whole contigs, those without bases excepted."""
        numbers = np.sort(self.numbers_of(names))
        numbers = numbers[self.lengths[numbers] > 0]
        return self.set_of(numbers, np.zeros_like(numbers), self.lengths[numbers])

    def placed(self, found: IntervalSet) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
        """Return the contig of each interval, and int64[n] each: starts and ends on it."""
        numbers = np.searchsorted(self._offsets, found.starts, side="right") - 1
        offsets = self._offsets[numbers]
        contigs = list(map(self._names.__getitem__, numbers.tolist()))
        return contigs, found.starts - offsets, found.ends - offsets
