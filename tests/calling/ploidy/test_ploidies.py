"""Ploidies by region: the largest of overlapping ones, as of each base."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.calling.ploidies import DIPLOID_EVERYWHERE, Ploidies, PloidyRegion
from hapgpu.io.genome.regions import Region

LENGTH = 40

spans = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, LENGTH)).map(
    lambda pair: (pair[0], min(pair[0] + pair[1], LENGTH))
)
regions = st.lists(st.tuples(spans, st.integers(1, 6)), max_size=8)


def made(default: int, found: list[tuple[tuple[int, int], int]], contig: str = "1") -> Ploidies:
    """Return ploidies of some regions of a contig."""
    return Ploidies.of(
        default, [PloidyRegion(Region(contig, *span), ploidy) for span, ploidy in found]
    )


def at(ploidies: Ploidies, contig: str, *intervals: tuple[int, int]) -> list[int]:
    """Return the ploidies of intervals."""
    columns: NDArray[np.int64] = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return ploidies.at(contig, columns[:, 0], columns[:, 1]).tolist()


@given(st.integers(1, 5), regions, st.lists(spans, max_size=6))
def test_largest_ploidy_of_the_regions_that_overlap(
    default: int, found: list[tuple[tuple[int, int], int]], asked: list[tuple[int, int]]
) -> None:
    ploidies = made(default, found)
    expected = [
        max((p for (s, e), p in found if s < end and start < e), default=default)
        for start, end in asked
    ]
    assert at(ploidies, "1", *asked) == expected
    copied = pickle.loads(pickle.dumps(ploidies))  # noqa: S301  (made here)
    assert at(copied, "1", *asked) == expected
    assert ploidies.highest == max([default, *(p for _, p in found)])
    assert ploidies.is_diploid == (default == 2 and all(p == 2 for _, p in found))


@given(regions)
def test_regions_are_disjoint_and_merged(found: list[tuple[tuple[int, int], int]]) -> None:
    ploidies = made(2, found)
    for starts, ends, values in ploidies.contigs.values():
        assert (starts < ends).all()
        assert (ends[:-1] <= starts[1:]).all()
        touching = ends[:-1] == starts[1:]
        assert (values[:-1][touching] != values[1:][touching]).all()


def test_regions_of_gatk_s_test() -> None:
    """The BED file of GATK's testPloidyRegions, with -ploidy 3."""
    bed = [
        ((10_000_000, 10_010_000), 2),
        ((10_020_000, 10_030_000), 4),
        ((10_022_000, 10_026_000), 2),
        ((10_060_000, 10_080_000), 1),
    ]
    ploidies = made(3, bed, "20")
    asked = [10_010_393, 10_020_229, 10_023_689, 10_067_090, 10_005_000]
    assert at(ploidies, "20", *((p - 1, p) for p in asked)) == [3, 4, 4, 1, 2]
    assert at(ploidies, "20", (10_009_990, 10_020_001)) == [4]  # the largest that it touches
    assert at(ploidies, "20", (10_009_990, 10_010_100)) == [2]  # the default is no region
    assert at(ploidies, "21", (0, 10)) == [3]
    assert ploidies.highest == 4


def test_default_is_diploid() -> None:
    assert DIPLOID_EVERYWHERE.is_diploid
    assert DIPLOID_EVERYWHERE.highest == 2
    assert at(DIPLOID_EVERYWHERE, "1") == []
