"""Groups of sites, against the rule written as a recursion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.haplotypes.batches import ShiftRanges
from hapgpu.haplotypes.sites.loci import OVERLAPPING_FACTOR, loci_of
from tests.example_counts import many

Interval = tuple[int, int]


def grouped(
    shift_ranges: list[Interval], counts: list[int], distance: int, max_combinations: int
) -> list[tuple[list[int], Interval]]:
    """Return the sites of each locus, and its interval."""
    starts, ends = np.array(shift_ranges, dtype=np.int64).reshape(-1, 2).T.copy()
    loci = loci_of(
        ShiftRanges(starts, ends), np.array(counts, dtype=np.int64), distance, max_combinations
    )
    offsets = loci.site_offsets.tolist()
    return [
        (list(range(first, last)), (start, end))
        for first, last, start, end in zip(
            offsets, offsets[1:], loci.starts.tolist(), loci.ends.tolist(), strict=False
        )
    ]


def site_groups(shift_ranges: list[Interval], distance: int) -> list[list[int]]:
    found: list[list[int]] = []
    for site, (start, _) in enumerate(shift_ranges):
        if found and start <= max(shift_ranges[k][1] for k in found[-1]) + distance:
            found[-1].append(site)
        else:
            found.append([site])
    return found


def split(
    sites: list[int], shift_ranges: list[Interval], counts: list[int], max_combinations: int
) -> list[list[int]]:
    combinations = math.prod(counts[k] for k in sites)
    if len(sites) == 1 or combinations <= max_combinations:
        return [sites]
    middle = len(sites) / 2

    def rank(at: int) -> tuple[float, float, int]:
        gap = shift_ranges[sites[at]][0] - max(shift_ranges[k][1] for k in sites[:at])
        return -gap, abs(at - middle), at

    at = min(range(1, len(sites)), key=rank)
    if rank(at)[0] > 0 and combinations <= OVERLAPPING_FACTOR * max_combinations:
        return [sites]
    return [
        *split(sites[:at], shift_ranges, counts, max_combinations),
        *split(sites[at:], shift_ranges, counts, max_combinations),
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 6), st.integers(0, 12), st.integers(1, 4)),
        max_size=20,
    ),
    st.integers(0, 4),
    st.integers(1, 70),
)
@settings(max_examples=many(200))
def test_by_recursion(
    sites: list[tuple[int, int, int, int]], distance: int, max_combinations: int
) -> None:
    sites.sort()
    shift_ranges = [(start - left, start + right) for start, left, right, _ in sites]
    counts = [count for *_, count in sites]
    expected = [
        part
        for group in site_groups(shift_ranges, distance)
        for part in split(group, shift_ranges, counts, max_combinations)
    ]
    assert grouped(shift_ranges, counts, distance, max_combinations) == [
        (part, (min(shift_ranges[k][0] for k in part), max(shift_ranges[k][1] for k in part)))
        for part in expected
    ]


@pytest.mark.parametrize(
    ("shift_ranges", "max_combinations", "expected"),
    [
        ([], 64, []),
        ([(5, 6)], 1, [[0]]),
        # 20 bases after the last end are near enough, 21 are not.
        ([(0, 1), (21, 22), (43, 44)], 64, [[0, 1], [2]]),
        # The second is within the first, and the third is near the end of the first.
        ([(0, 50), (10, 11), (70, 71)], 64, [[0, 1, 2]]),
        # Equal gaps: the middle one, then the first of two equally near to the middle.
        ([(k, k + 1) for k in range(4)], 4, [[0, 1], [2, 3]]),
        ([(k, k + 1) for k in range(3)], 4, [[0], [1, 2]]),
        # The widest gap, although far from the middle; overlaps are negative gaps.
        ([(0, 1), (9, 10), (11, 12), (13, 14)], 8, [[0], [1, 2, 3]]),
        ([(0, 9), (6, 8), (7, 9)], 1, [[0, 1], [2]]),
        # Four times as many are allowed where shift ranges overlap, but not where they only adjoin.
        ([(0, 9), (6, 8), (7, 9)], 2, [[0, 1, 2]]),
        ([(0, 9), (9, 11), (10, 12)], 2, [[0], [1, 2]]),
    ],
)
def test_by_hand(
    shift_ranges: list[Interval], max_combinations: int, expected: list[list[int]]
) -> None:
    found = grouped(shift_ranges, [2] * len(shift_ranges), 20, max_combinations)
    assert [sites for sites, _ in found] == expected


def test_numbers_of_combinations_above_int64() -> None:
    found = grouped([(k, k + 1) for k in range(256)], [1000] * 256, 10, 10**6)
    assert [sites for sites, _ in found] == [[k, k + 1] for k in range(0, 256, 2)]
