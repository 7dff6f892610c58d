"""Ranking of aligned mappings: rules by hand, and the CPU against the reference implementation."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.longread.align.ranking import reference
from tests.longread.align.ranking.made_reads import any_read
from tests.longread.align.ranking.ranked_reads import RULES, mapping_at, ranked
from tests.longread.align.ranking.reference import AlignedMapping, Rules
from tests.longread.mappings.reference import Interval
from tests.longread.sort.reference import sort_ascending


def rank_one(
    mappings: list[AlignedMapping], length: int = 2000, repeats: int = 0, rules: Rules = RULES
) -> list[AlignedMapping]:
    """Rank the mappings of one read between two others."""
    other = [mapping_at(0, 900)]
    before, found, behind = ranked(
        [other, mappings, other], [900, length, 900], [0, repeats, 0], rules
    )
    assert before == behind
    return found


def targets(mappings: list[AlignedMapping]) -> list[int]:
    return [mapping.target.start for mapping in mappings]


def test_poor_mappings_are_dropped() -> None:
    read = [
        mapping_at(0, 100, anchors=2),
        mapping_at(100, 200, anchors=3),
        mapping_at(200, 300, anchors=0, is_inversion=True),
        mapping_at(300, 400, matches=39),
        mapping_at(400, 500, matches=40),
        mapping_at(500, 600, dp_max=79),
        mapping_at(600, 700, dp_max=80),
        mapping_at(700, 800, is_aligned=False),
        mapping_at(800, 900, is_inversion=True, matches=39),
    ]
    assert sorted(targets(rank_one(read))) == [10_100, 10_200, 10_400, 10_600]
    assert rank_one([read[0]]) == []
    assert rank_one([]) == []


SECOND = {"target": 50_000, "hash": 1}


def test_scores_of_two_good_places_are_rescaled() -> None:
    """Best: 60 of 1000 pairs differ, divergence 0.06, a difference costs 0.5 / 0.06 = 8.33.

    One more mismatch then costs a second mapping 1 + 8.33 matches. A gap of three bases costs 8.33
    and the logarithm of 4; the parabola gives 2.005.
    """
    best = mapping_at(0, 1000, matches=940, dp_max=1500)
    second = mapping_at(0, 1000, matches=900, length=963, gaps=[3], dp_max=1400, **SECOND)
    found = rank_one([second, best], length=1000)
    cost = 0.5 / (1 - 940 / 1000)
    assert [mapping.dp_max for mapping in found] == [
        int(2 * (940 - cost * 60) + 0.499),
        int(2 * (900 - cost * 60 - (cost + 2.0049398)) + 0.499),
    ]
    assert [mapping.dp_max for mapping in found] == [880, 779]


NEARLY = 7_549_747  # 2**23 times the float32 0.9


@pytest.mark.parametrize(
    ("length", "end", "second", "is_rescaled"),
    [
        (1000, 1000, 1400, True),
        (1000, 900, 1350, True),
        (1000, 899, 1400, False),  # less than 0.9 of the read
        (1000, 1000, 1349, False),  # less than 0.9 of the best score
        (500, 450, 1400, True),
        (499, 499, 1400, False),  # a short read
        (2**23, NEARLY, 1400, True),
    ],
)
def test_conditions_of_rescaling(length: int, end: int, second: int, is_rescaled: bool) -> None:
    best = mapping_at(0, end, dp_max=1500)
    other = mapping_at(0, end, dp_max=second, **SECOND)
    found = rank_one([best, other], length=length)
    assert (found[0].dp_max != 1500) is is_rescaled


def test_a_second_score_of_just_enough() -> None:
    for second, expected in ((NEARLY, [2000, 2000]), (NEARLY - 1, [2**23, NEARLY - 1])):
        read = [mapping_at(0, 1000, dp_max=2**23), mapping_at(0, 1000, dp_max=second, **SECOND)]
        assert [each.dp_max for each in rank_one(read, length=1000)] == expected


def test_the_first_of_equal_scores_is_the_best_one() -> None:
    """It covers the whole read, the other one only half of it."""
    half = mapping_at(0, 500, score=1000, dp_max=1500, **SECOND)
    read = [mapping_at(0, 1000, dp_max=1500), half]
    assert [each.dp_max for each in rank_one(read, length=1000)] == [2000, 1000]
    assert [each.dp_max for each in rank_one(read[::-1], length=1000)] == [1500, 1500]


def test_rescaling_within_limits() -> None:
    """A perfect read: the divergence is 0.02, a mismatch costs 25 matches; scores end at 0."""
    best = mapping_at(0, 1000)
    second = mapping_at(0, 1000, matches=996, dp_max=1950, **SECOND)
    third = mapping_at(0, 1000, matches=900, dp_max=900, hash=2, target=80_000)
    found = rank_one([best, second, third], length=1000, rules=RULES._replace(min_score=0))
    assert [mapping.dp_max for mapping in found] == [2000, 2 * (996 - 100), 0]
    assert len(rank_one([best, second, third], length=1000)) == 2  # filtered again


def test_a_mismatch_costs_no_less_than_the_match_per_mismatch() -> None:
    """Half of the bases differ: 0.5 / 0.5 = 1 times match 2 is below mismatch 4: 2 / 4.

    With a quarter, 0.5 / 0.25 = 2 times match 2 is 4: 2 * (750 - 2 * 250).
    """
    for matches in (500, 750):
        best = mapping_at(0, 1000, matches=matches, dp_max=300)
        second = mapping_at(0, 1000, matches=matches, dp_max=290, **SECOND)
        assert [each.dp_max for each in rank_one([best, second], length=1000)] == [500, 500]


def test_the_highest_score_is_first_and_the_hash_breaks_ties() -> None:
    read = [
        mapping_at(0, 100, dp_max=100, hash=7),
        mapping_at(100, 200, dp_max=300, hash=1),
        mapping_at(200, 300, dp_max=100, hash=2**32 - 1),
        mapping_at(300, 400, dp_max=100, hash=2**31),
    ]
    assert targets(rank_one(read)) == [10_100, 10_200, 10_300, 10_000]


@pytest.mark.parametrize("count", [63, 64, 65, 300])
def test_equal_scores_and_hashes_are_in_the_order_of_the_unstable_sort(count: int) -> None:
    generator = np.random.default_rng(count)
    scores = (1000 + 300 * generator.integers(0, 3, count)).tolist()
    read = [
        mapping_at(100 * k, 100 * k + 50, dp_max=score, hash=5) for k, score in enumerate(scores)
    ]
    expected = sort_ascending(read, key=lambda mapping: mapping.dp_max)[::-1]
    assert targets(rank_one(read, length=100 * count)) == targets(expected)


def test_scores_and_secondaries_of_chaining_carry_on() -> None:
    """The first mapping keeps its n_sub, any primary its second score."""
    read = [
        mapping_at(0, 600, n_sub=3, second_score=77),
        mapping_at(600, 1000, n_sub=5, second_score=333),
        mapping_at(0, 590, dp_max=900, score=500, n_sub=9, second_score=8, **SECOND),
        mapping_at(600, 990, dp_max=700, score=320, anchors=19, target=70_000),
    ]
    found = rank_one(read)
    assert [mapping.parent for mapping in found] == [0, 0, 2, 2]
    assert [mapping.second_score for mapping in found] == [500, 8, 333, 0]
    assert [mapping.n_sub for mapping in found] == [3 + 1, 9, 0, 0]
    assert [mapping.second_dp_max for mapping in found] == [900, 0, 700, 0]
    assert [mapping.is_first_primary for mapping in found] == [True, False, False, False]


@pytest.mark.parametrize(
    ("fields", "n_sub", "second_dp_max"),
    [
        ({"anchors": 20, "dp_max": 1000}, 1, 1000),
        ({"anchors": 19, "dp_max": 1000}, 0, 1000),
        ({"anchors": 19, "dp_max": 1992}, 1, 1992),  # near: 2 * 2 + 4
        ({"anchors": 19, "dp_max": 1991}, 0, 1991),
    ],
)
def test_secondaries(fields: dict[str, int], n_sub: int, second_dp_max: int) -> None:
    read = [mapping_at(0, 1000), mapping_at(0, 1000, target=30_000, **fields)]
    first, _ = rank_one(read)
    assert (first.n_sub, first.second_dp_max) == (n_sub, second_dp_max)


@pytest.mark.parametrize(
    ("query", "is_same"), [((100, 900), True), ((0, 1010), True), ((-1, 999), False)]
)
def test_the_same_place_of_the_reference_is_no_second_place(
    query: tuple[int, int], is_same: bool
) -> None:
    first = mapping_at(0, 1000)
    second = replace(first, query=Interval(*query), dp_max=1999, anchors=19)
    found, other = rank_one([first, second])
    assert other.parent == 0
    assert (found.second_dp_max, found.n_sub) == ((0, 0) if is_same else (1999, 1))
    found, _ = rank_one([first, replace(second, anchors=20)])
    assert found.n_sub == 1


def secondary(number: int, score: int, **fields: int) -> AlignedMapping:
    """Return a secondary mapping of a read of 1000 bases; the lower the number, the better."""
    return mapping_at(
        0, 1000, score=score, dp_max=1000 - number, target=20_000 * (number + 1), **fields
    )


def test_secondaries_are_selected_by_the_scores_of_chains() -> None:
    read = [
        mapping_at(0, 1000, score=1000),
        secondary(1, 800),  # 0.8 of the parent's score
        secondary(2, 799),
        secondary(3, 1000),
        replace(mapping_at(0, 1000, score=1000), dp_max=990),  # the parent's coordinates
        secondary(4, 0, is_inversion=True, anchors=0),
    ]
    found = rank_one(read)
    assert targets(found) == [10_000, 40_000, 80_000, 100_000]
    assert [mapping.number for mapping in found] == [0, 1, 2, 3]
    assert [mapping.parent for mapping in found] == [0, 0, 0, 0]
    few = rank_one(read, rules=RULES._replace(max_secondary=1))
    assert targets(few) == [10_000, 40_000, 100_000]
    assert len(rank_one(read, rules=RULES._replace(score_ratio=0.0))) == 6


def test_a_short_parent_keeps_scores_near() -> None:
    """60 - 2 * 15 is a lower limit than 0.8 * 60."""
    read = [mapping_at(0, 1000, score=60), secondary(1, 30), secondary(2, 29)]
    assert targets(rank_one(read)) == [10_000, 40_000]


def test_a_moved_mapping_replaces_the_parent() -> None:
    """Secondary 1 is dropped, primaries 2 and 3 move up; secondary 4 is compared with 3, not 2."""
    read = [
        mapping_at(0, 1000, score=1000),
        secondary(1, 1),
        mapping_at(1000, 1300, score=300),
        mapping_at(1300, 1500, score=10),
        mapping_at(1000, 1300, score=100, dp_max=200, target=60_000),
    ]
    found = rank_one(read)
    assert targets(found) == [10_000, 11_000, 11_300, 61_000]
    assert [mapping.parent for mapping in found] == [0, 1, 2, 1]


def test_quality_of_a_single_mapping() -> None:
    """0.9 * 40 * (1 - 40 / 1000) * ln(1400 / 2) = 226 is limited; a low score lowers it."""
    (found,) = rank_one([mapping_at(0, 1000, matches=900, dp_max=1400)])
    assert found.quality == 60
    (found,) = rank_one([mapping_at(0, 60, matches=54, dp_max=100)])
    assert found.quality == int(0.9 * 0.6 * 40 * (1 - 40 / 60) * np.log(50)) == 28
    (found,) = rank_one([mapping_at(0, 60, matches=54, dp_max=100)], repeats=60)
    assert found.quality == 14
    (found,) = rank_one([mapping_at(0, 60, matches=54, dp_max=100, anchors=4)])
    assert found.quality == int(0.9 * 0.4 * 40 * (1 - 40 / 60) * np.log(50)) == 18
    (found,) = rank_one([mapping_at(0, 60, matches=54, dp_max=100, n_sub=3)])
    assert found.quality == 28 - int(4.343 * np.log(4) + 0.499) == 22
    (found,) = rank_one([mapping_at(0, 60, matches=54, dp_max=100, first_score=41)])
    assert found.quality == int(0.9 * 0.6 * 40 * (1 - 40 / 41) * np.log(50)) == 2
    (found,) = rank_one([mapping_at(0, 60, matches=54, dp_max=100, second_score=60)])
    assert found.quality == 1  # 0, but better than any other mapping


def test_quality_with_a_second_mapping() -> None:
    """The lower of two terms: squared ratios of scores, and 6.02 for each match that it is better.

    A second mapping with as many anchors is a rival, which costs 3.
    """
    best = mapping_at(0, 1000, dp_max=1000)
    other = mapping_at(0, 1000, score=900, dp_max=900, **SECOND)
    first, second = rank_one([best, other], length=4000)
    assert int(40 * (1 - (0.9 * 0.9) ** 2) * np.log(500)) - 3 > 60
    assert first.quality == 60
    assert second.quality == 0
    first, _ = rank_one([best, replace(other, score=990, dp_max=990)], length=4000)
    assert first.quality == int(40 * (1 - (0.99 * 0.99) ** 2) * np.log(500)) - 3 == 6
    first, _ = rank_one([best, replace(other, score=900, dp_max=994)], length=4000)
    assert first.quality == int(6.02 * 6 / 2 + 0.499) - 3 == 15
    first, _ = rank_one([best, replace(other, dp_max=1000)], length=4000)
    assert first.quality == 0


def test_an_inversion_has_the_lower_quality_of_its_neighbours() -> None:
    inversion = mapping_at(400, 500, score=0, anchors=0, is_inversion=True)
    left = mapping_at(0, 400, second_score=300, first_score=400)
    right = mapping_at(500, 900)
    found = rank_one([left, inversion, right], repeats=3000)
    qualities = {mapping.target.start: mapping.quality for mapping in found}
    assert 0 < qualities[10_000] < qualities[10_500]
    assert qualities[10_400] == qualities[10_000]
    for two in ([left, inversion], [inversion, right]):
        assert {each.quality for each in rank_one(two) if each.is_inversion} == {0}


@pytest.mark.parametrize("number", [0, 1])
def test_neighbours_of_an_inversion_are_primary(number: int) -> None:
    """The secondary mapping at 10,450, of parent `number`, is none; both must be there."""
    read = [
        mapping_at(0, 400, dp_max=801 - 2 * number),
        mapping_at(400, 500, score=0, anchors=0, is_inversion=True),
        replace(mapping_at(0, 400), target=Interval(10_450, 10_850), dp_max=790),
        mapping_at(500, 900),
    ]
    found = rank_one(read)
    assert {each.quality for each in found if each.is_inversion} == {
        min(each.quality for each in found if each.is_primary and not each.is_inversion)
    }
    read[3] = replace(read[3], target=Interval(10_000, 10_400))
    assert {each.quality for each in rank_one(read) if each.is_inversion} == {0}


def test_all_chains_have_no_parents() -> None:
    """Only a part of a split mapping, whose number is -1 as its parent, is primary."""
    rules = RULES._replace(all_chains=True)
    read = [
        mapping_at(0, 900, dp_max=1700, number=0, parent=-1, second_dp_max=9),
        mapping_at(900, 1000, number=-1, parent=-1),
        mapping_at(0, 900, number=1, parent=-1, target=50_000),
        mapping_at(0, 30, number=2, parent=-1),
    ]
    found = rank_one(read, length=1000, rules=rules)
    assert targets(found) == [50_000, 10_000, 10_900]
    assert [mapping.dp_max for mapping in found] == [1800, 1700, 200]
    assert [mapping.number for mapping in found] == [1, 0, -1]
    assert [mapping.parent for mapping in found] == [-1, -1, -1]
    assert [mapping.quality for mapping in found] == [0, 0, 60]
    assert not any(mapping.is_first_primary or mapping.second_dp_max for mapping in found)


@st.composite
def read_of(draw: st.DrawFn, length: int) -> list[AlignedMapping]:
    """Draw mappings at few different places, so that many overlap and some are equal."""
    places = st.integers(0, 8).map(lambda eighth: eighth * length // 8)
    return any_read(
        np.random.default_rng(draw(st.integers(0, 2**32))),
        length,
        draw(st.integers(0, 10) | st.just(80)),
        draw(st.lists(st.tuples(places, places), min_size=1, max_size=4)),
        spread=draw(st.sampled_from([3, 30, 500])),
        covers=draw(st.booleans()),
    )


@st.composite
def rules_of(draw: st.DrawFn) -> Rules:
    return Rules(
        min_anchors=draw(st.integers(1, 5)),
        min_chain_score=draw(st.sampled_from([10, 40, 90])),
        min_score=draw(st.sampled_from([1, 80, 200])),
        match=draw(st.integers(1, 4)),
        mismatch=draw(st.integers(2, 9)),
        k=draw(st.sampled_from([5, 15, 19])),
        mask_level=draw(st.sampled_from([0.0, 0.5, 0.9])),
        score_ratio=draw(st.sampled_from([0.0, 0.1, 0.8, 1.0])),
        max_secondary=draw(st.integers(0, 6)),
        all_chains=draw(st.integers(0, 5)) == 0,
    )


@given(st.data(), rules_of())
@settings(max_examples=250)
def test_ranking_equals_the_reference_implementation(data: st.DataObject, rules: Rules) -> None:
    lengths = data.draw(st.lists(st.sampled_from([400, 500, 3000]), max_size=3))
    reads = [data.draw(read_of(length)) for length in lengths]
    repeat_lengths = [data.draw(st.integers(0, 300)) for _ in reads]
    expected = [
        reference.rank(deepcopy(read), length, repeats, rules)
        for read, length, repeats in zip(reads, lengths, repeat_lengths, strict=True)
    ]
    assert ranked(reads, lengths, repeat_lengths, rules) == expected
