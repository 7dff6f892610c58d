"""Intervals of regions, against a merge one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.genome.regions import END_OF_CONTIG, Region

HEADER = SamHeader.from_references(["a", "b", "c"], [100, 100, 100])

REGIONS = st.lists(
    st.builds(
        Region,
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 20),
        st.one_of(st.integers(0, 20), st.just(END_OF_CONTIG)),
    ),
    max_size=8,
)


@given(REGIONS)
def test_regions_are_merged(regions: list[Region]) -> None:
    expected: list[Region] = []
    for region in sorted(regions):
        if region.start >= region.end:
            continue
        last = expected[-1] if expected else Region("", 0, 0)
        if last.contig == region.contig and region.start <= last.end:
            expected[-1] = Region(last.contig, last.start, max(last.end, region.end))
        else:
            expected.append(region)
    intervals = Intervals.from_regions(regions, HEADER, "x.bam")
    assert intervals.offsets_by_contig().tolist() == [
        sum(region.contig < name for region in expected) for name in ("a", "b", "c", "d")
    ]
    assert intervals.starts.tolist() == [region.start for region in expected]
    assert intervals.ends.tolist() == [region.end for region in expected]


def test_an_unknown_contig() -> None:
    with pytest.raises(InputError, match=r"x\.bam: no contig 'd'"):
        Intervals.from_regions([Region("a", 0, 1), Region("d", 0, 1)], HEADER, "x.bam")
