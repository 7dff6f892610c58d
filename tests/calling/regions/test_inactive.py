"""Inactive regions: GATK's on real reads, the same from any window, and every position once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.batches import LEAD, MAX_JUNCTION
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.regions.active_regions import (
    ROOM_AFTER,
    all_regions,
    cut_inactive,
    inactive_start,
    run_end,
)
from hapgpu.calling.regions.cutting import MAX_PROPAGATION, MAX_RUN, Profile
from tests.calling.regions.made_profiles import profile_of
from tests.calling.regions.reference import Locus
from tests.calling.regions.test_active_regions import (
    END,
    OPTIONS,
    START,
    bam_of,
    made_segment,
    spans_of,
)
from tests.calling.segments import segment_reads

Span = tuple[int, int]


def regions_of(found: object) -> list[Span]:
    assert isinstance(found, tuple)
    return sorted(spans_of(found[0]) + spans_of(found[1]))


def test_recorded_regions_of_gatk(data_dir: Path) -> None:
    """Positions from 1, both ends included."""
    reads = segment_reads(bam_of(data_dir, "NA12878"), "chr20", START - 1, START + 3000)
    found = all_regions(reads, 1, VariantOptions())
    assert found is not None
    spans = [(start + 1, end) for start, end in spans_of(found[1])]
    assert spans[:6] == [
        (10000000, 10000079),
        (10000155, 10000173),
        (10000249, 10000401),
        (10000477, 10000560),
        (10000636, 10000656),
        (10000796, 10000981),
    ]
    assert {(10001710, 10002009), (10002010, 10002020)} <= set(spans)


def test_segments_give_the_regions_of_the_whole(data_dir: Path) -> None:
    path, interval = bam_of(data_dir, "NA12878"), (START, END)
    whole = regions_of(all_regions(segment_reads(path, "chr20", *interval), 1, OPTIONS))
    assert [start for start, _ in whole] == [START, *(end for _, end in whole[:-1])]
    assert whole[-1][1] == END
    assert max(end - start for start, end in whole) == 300
    rng = np.random.default_rng(0)
    cuts = sorted({START, END, *rng.integers(START, END, 9).tolist()})
    for start, end in pairwise(cuts):
        reads = segment_reads(path, "chr20", start, end, interval, room=ROOM_AFTER)
        found = all_regions(reads, 1, OPTIONS)
        if found is not None:
            own = [span for span in regions_of(found) if span[0] >= start]
            assert own == [span for span in whole if start <= span[0] < end]


@pytest.mark.parametrize("interval", [(0, 1000), (480, 1000), (0, 499), (500, 900), (499, 500)])
def test_made_intervals_are_covered_once(interval: Span) -> None:
    spans = regions_of(all_regions(made_segment(*interval, interval, 1000), 1, OPTIONS))
    assert [start for start, _ in spans] == [interval[0], *(end for _, end in spans[:-1])]
    assert spans[-1][1] == interval[1]


@pytest.mark.parametrize(("start", "is_known"), [(2461, False), (2462, True), (2463, True)])
def test_inactive_positions_before_a_segment_may_be_unknown(start: int, is_known: bool) -> None:
    """If the segment starts with the active region 2462 to 2537, or within."""
    reads = made_segment(start, 2600, (0, 5000), 5000)
    batch = replace(reads.reads, positions=reads.reads.positions + np.int32(2000))
    reads = replace(reads, window_start=start - LEAD - MAX_JUNCTION - MAX_PROPAGATION, reads=batch)
    found = all_regions(reads, 1, OPTIONS)
    assert (found is not None) == is_known
    if is_known:
        own = [span for span in regions_of(found) if span[0] > 2462]
        assert own == [(2537, 2837)]


def test_a_state_equal_to_the_threshold_is_inactive() -> None:
    loci = [Locus(state) for state in (1.0, 0.002, 0.002, 1.0)]
    profile = profile_of(loci, 100, 1000, has_filter=False)
    assert inactive_start(profile, 100, 102, is_start=False) == 101
    assert run_end(profile, 101, 104) == 103


def test_regions_that_start_in_a_range() -> None:
    """Of the regions from 0, 300, 600 and 900 on: both ends of the range are starts."""
    starts, ends = cut_inactive(np.array([0]), np.array([1000]), 300, 900, 300)
    assert (starts.tolist(), ends.tolist()) == ([300, 600], [600, 900])


def test_an_unknown_start() -> None:
    profile = Profile(10, np.zeros(50), np.zeros(50, dtype=np.int64), np.ones(1), np.zeros(50))
    assert inactive_start(profile, 10, 40, is_start=True) == 10
    assert inactive_start(profile, 10, 40, is_start=False) is None


@given(
    st.lists(st.tuples(st.integers(0, 5 * MAX_RUN - 1), st.booleans()), max_size=6),
    st.integers(0, 5 * MAX_RUN - 1),
)
def test_long_runs_do_not_depend_on_the_window(
    changes: list[tuple[int, bool]], position: int
) -> None:
    """The run of a position starts where the whole contig says, from two long runs before on."""
    size = 5 * MAX_RUN
    states = np.zeros(size)
    for at, is_active in changes:
        states[at] = float(is_active)
    if states[position]:
        return
    origin = int(np.flatnonzero(np.append(1.0, states[: position + 1]))[-1])
    multiples = range(origin + MAX_RUN + -(origin + MAX_RUN) % MAX_RUN, position + 1, MAX_RUN)
    expected = max([origin, *multiples])
    first = max(position - 2 * MAX_RUN, 0)
    part = Profile(
        first,
        np.zeros(size - first),
        np.zeros(size - first, dtype=np.int64),
        np.ones(1),
        states[first:].copy(),
    )
    assert inactive_start(part, first, position, is_start=first == 0) == expected
    end = size if not states[position:].any() else position + int(np.argmax(states[position:] > 0))
    starts, ends = np.array([expected]), np.array([end])
    whole = cut_inactive(np.array([origin]), ends, expected, position + 1, 300)
    found = cut_inactive(starts, ends, expected, position + 1, 300)
    assert [column.tolist() for column in found] == [column.tolist() for column in whole]
