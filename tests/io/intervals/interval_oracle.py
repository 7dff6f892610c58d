"""Sets of intervals as sets of positions, one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Interval = tuple[str, int, int]
"""Contig, start, end: 0-based, half-open."""
Position = tuple[str, int]


def positions_of(intervals: Iterable[Interval]) -> set[Position]:
    """Return the positions of intervals."""
    return {(contig, at) for contig, start, end in intervals for at in range(start, end)}


def grown(
    intervals: Iterable[Interval], padding: int, lengths: Mapping[str, int]
) -> list[Interval]:
    """Return intervals that are grown on both sides, within their contigs."""
    return [
        (contig, max(start - padding, 0), min(end + padding, lengths[contig]))
        for contig, start, end in intervals
    ]


def longest_runs(positions: set[Position], lengths: Mapping[str, int]) -> list[Interval]:
    """Return the longest intervals of positions, in the order of the contigs."""
    runs: list[Interval] = []
    for contig, length in lengths.items():
        for at in range(length):
            if (contig, at) not in positions:
                continue
            if (contig, at - 1) in positions:
                runs[-1] = (contig, runs[-1][1], at + 1)
            else:
                runs.append((contig, at, at + 1))
    return runs


def merged_if_overlapping(
    intervals: Iterable[Interval], lengths: Mapping[str, int]
) -> list[Interval]:
    """Merge intervals that have a base in common, two at a time, until none have."""
    found = list(intervals)
    while True:
        pair = next(
            (
                (one, other)
                for number, one in enumerate(found)
                for other in found[:number]
                if one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
            ),
            None,
        )
        if pair is None:
            break
        for each in pair:
            found.remove(each)
        one, other = pair
        found.append((one[0], min(one[1], other[1]), max(one[2], other[2])))
    order = list(lengths)
    return sorted(found, key=lambda each: (order.index(each[0]), each[1]))


def common(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """Return the bases that each two intervals have in common."""
    pairs = ((one, other) for one in first for other in second if one[0] == other[0])
    cut = ((one[0], max(one[1], other[1]), min(one[2], other[2])) for one, other in pairs)
    return [each for each in cut if each[1] < each[2]]


def without(intervals: Iterable[Interval], excluded: set[Position]) -> list[Interval]:
    """Return the runs of each interval that are not excluded."""
    found = []
    for contig, start, end in intervals:
        kept = {(contig, at) for at in range(start, end)} - excluded
        found += longest_runs(kept, {contig: end})
    return found
