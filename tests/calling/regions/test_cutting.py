"""Cutting of states, compared with GATK's serial list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.regions import cutting
from hapgpu.calling.regions.cutting import (
    MAX_PROPAGATION,
    MAX_RUN,
    Profile,
    cut_regions,
    known_start,
)
from tests.calling.regions.made_profiles import profile_of, random_loci
from tests.calling.regions.reference import Locus, SerialProfile, serial_regions

ALL_ONE = [1.0] * 30


def _seeds(ordinary: int, all_seeds: int) -> list[Any]:
    more = range(ordinary, all_seeds)
    return [*range(ordinary), *(pytest.param(k, marks=pytest.mark.exhaustive) for k in more)]


def with_values(values: dict[int, float]) -> list[float]:
    return [values.get(at, 1.0) for at in range(30)]


@pytest.mark.parametrize(
    ("states", "size"),
    [
        (ALL_ONE, 20),
        ([(at + 1) / 30 for at in range(30)], 20),
        ([1.0] * 7, 7),
        (with_values({7: 0.5, 12: 0.75}), 8),
        (with_values({3: 0.5, 12: 0.75}), 13),
        (with_values({3: 0.5, 4: 0.75}), 20),
        # not of the unit test: the last of equal minima, and the first of equal states
        (with_values({7: 0.5, 12: 0.5}), 13),
        (with_values({7: 0.5, 8: 0.5}), 8),
    ],
)
def test_gatk_cases(states: list[float], size: int) -> None:
    """Cases of ActivityProfileUnitTest: regions of 5 to 20 positions, without the filter."""
    loci = [Locus(state) for state in states] + [Locus(0.0)] * (71 - len(states))
    profile = profile_of(loci, 0, 1000, has_filter=False)
    starts, ends = cut_regions(profile, 0, 1, min_size=5, max_size=20)
    assert (starts.tolist(), ends.tolist()) == ([0], [size])
    serial = SerialProfile(None, 1000)
    for position, locus in enumerate(loci):
        serial.add(position, locus)
    assert serial.pop(is_end=False, min_size=5, max_size=20)[0] == (0, size, True)


def test_the_last_state_of_an_interval_is_no_minimum() -> None:
    loci = [Locus(state) for state in with_values({10: 0.75, 19: 0.5})[:20]]
    profile = profile_of(loci, 0, 1000, has_filter=False)
    longer = np.append(profile.states, 1.0)  # what follows in memory is higher
    profile = profile._replace(states=read_only(longer[:20]))
    starts, ends = cut_regions(profile, 0, 1, min_size=5, max_size=20)
    assert (starts.tolist(), ends.tolist()) == ([0], [11])
    serial = SerialProfile(None, 1000)
    for position, locus in enumerate(loci):
        serial.add(position, locus)
    assert serial.pop(is_end=True, min_size=5, max_size=20)[0] == (0, 11, True)


def test_a_state_equal_to_the_threshold_is_inactive() -> None:
    loci = [Locus(state) for state in (0.002, 1.0, 1.0, 0.002, 1.0)]
    profile = profile_of(loci, 100, 1000, has_filter=False)
    starts, ends = cut_regions(profile, 100, 105)
    assert (starts.tolist(), ends.tolist()) == ([101, 104], [103, 105])
    assert known_start(profile, 100, 104, is_start=False) == 103


@pytest.mark.parametrize(("position", "clip"), [(500, 0), (500, 10), (500, 80), (20, 30)])
def test_soft_clips_of_the_plain_profile(position: int, clip: int) -> None:
    """Without the filter, positions within the soft clip, at most 50, have its probability."""
    serial = SerialProfile(None, 1000)
    for at in range(700):
        serial.add(at, Locus(1.0, clip) if at == position else Locus(0.0))
    reached = np.flatnonzero(serial.states).tolist()
    reach = min(clip, 50)
    assert reached == list(range(max(position - reach, 0), position + reach + 1))


def test_a_single_active_locus_reaches_37_bases() -> None:
    loci = [Locus(float(at == 400)) for at in range(1000)]
    profile = profile_of(loci, 5000, 100_000)
    starts, ends = cut_regions(profile, 5000, 6000)
    assert (starts.tolist(), ends.tolist()) == ([5363], [5438])


@pytest.mark.parametrize(("distance", "regions"), [(85, 1), (86, 2)])
def test_two_active_loci_merge_within_85_bases(distance: int, regions: int) -> None:
    loci = [Locus(float(at in (400, 400 + distance))) for at in range(1000)]
    assert cut_regions(profile_of(loci, 0, 100_000), 0, 1000)[0].size == regions


def window_of(
    loci: list[Locus], start: int, end: int, contig_length: int, segment: tuple[int, int]
) -> list[tuple[int, int]] | None:
    """Cut a window of an interval from `start` to the end of the loci."""
    first, last = segment
    window_start = max(first - 900, start)
    window_end = min(last + 351, end)
    profile = profile_of(
        loci[window_start - start : window_end - start], window_start, contig_length
    )
    is_start = window_start == start
    finished = window_start + (0 if is_start else MAX_PROPAGATION)
    begin = known_start(profile, finished, first, is_start=is_start)
    if begin is None:
        return None
    starts, ends = cut_regions(profile, begin, last)
    kept = starts >= first
    return list(zip(starts[kept].tolist(), ends[kept].tolist(), strict=True))


@pytest.mark.parametrize("seed", _seeds(3, 12))
def test_windows_equal_the_serial_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, count = int(rng.integers(0, 30)), int(rng.integers(1, 12_000))
    loci = random_loci(rng, count)
    contig_length = start + count + int(rng.choice([0, 1, 40, 1000]))
    serial = serial_regions(loci, start, contig_length, MAX_RUN)
    end = start + count
    profile = profile_of(loci, start, contig_length)
    starts, ends = cut_regions(profile, start, end)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == serial
    compared = 0
    for _ in range(20):
        first = int(rng.integers(start, end))
        last = min(first + int(rng.integers(1, 3000)), end)
        found = window_of(loci, start, end, contig_length, (first, last))
        if found is not None:
            compared += 1
            assert found == [region for region in serial if first <= region[0] < last]
    assert compared


def test_the_state_after_a_long_region_may_be_unfinished() -> None:
    """The best cut compares with state 300, before the locus 50 positions after it is added."""
    is_active = np.random.default_rng(5).random((217, 420))[216] < 0.8
    loci = [Locus(float(value)) for value in is_active]
    profile = profile_of(loci, 0, 10_000)
    starts, ends = cut_regions(profile, 0, 420)
    found = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert found == serial_regions(loci, 0, 10_000) == [(0, 166), (166, 420)]
    finished = profile._replace(probabilities=read_only(np.zeros(420)))
    assert cut_regions(finished, 0, 1)[1].tolist() == [300]


@pytest.mark.parametrize("seed", _seeds(1, 4))
def test_long_runs_end_at_multiples(seed: int) -> None:
    """Windows of two lengths of a long run always hold a position to start at."""
    rng = np.random.default_rng(seed)
    max_run = MAX_RUN
    start, count = int(rng.integers(0, max_run)), 6 * max_run
    loci = [Locus(float(rng.random() < 0.2)) for _ in range(count)]
    for gap in rng.integers(0, count, int(rng.integers(0, 3))):
        loci[gap : gap + 130] = [Locus(0.0)] * len(loci[gap : gap + 130])
    profile = profile_of(loci, start, 10**6)
    starts, ends = cut_regions(profile, start, start + count)
    whole = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert whole == serial_regions(loci, start, 10**6, max_run)
    assert whole != serial_regions(loci, start, 10**6) or seed
    for _ in range(10):
        first = int(rng.integers(start + 2 * max_run + 50, start + count))
        window = profile_after(profile, first - 2 * max_run - 50)
        begin = known_start(window, window.start + 50, first, is_start=False)
        assert begin is not None
        starts, ends = cut_regions(window, begin, start + count)
        found = list(zip(starts.tolist(), ends.tolist(), strict=True))
        assert [r for r in found if r[0] >= first] == [r for r in whole if r[0] >= first]


def profile_after(profile: Profile, start: int) -> Profile:
    """Return a profile that starts later; its first 50 states are unfinished, here -1."""
    cut = start - profile.start
    states = profile.states[cut:].copy()
    states[:MAX_PROPAGATION] = -1.0
    return Profile(
        start,
        read_only(profile.probabilities[cut:].copy()),
        read_only(profile.counts[cut:].copy()),
        profile.kernel,
        read_only(states),
    )


def test_no_start_is_known_within_a_run() -> None:
    profile = profile_of([Locus(1.0)] * 3000, 100_000, 10**6)
    assert known_start(profile, 100_050, 102_000, is_start=False) is None
    assert known_start(profile, 100_000, 102_000, is_start=True) == 100_000
    assert cutting.MAX_RUN == 16_384
