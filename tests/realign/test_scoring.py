"""Weights and overhang strategies by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.errors import InputError, UsageError
from hapgpu.realign.scoring import (
    LARGEST_WEIGHT,
    PRESETS,
    Overhang,
    Scoring,
    resolve_overhang,
    resolve_scoring,
)

WEIGHT = st.integers(-LARGEST_WEIGHT, LARGEST_WEIGHT)
SCORINGS = st.builds(Scoring, WEIGHT, WEIGHT, WEIGHT, WEIGHT)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("read-to-haplotype", (10, -15, -30, -5)),
        ("haplotype-to-reference", (200, -150, -260, -11)),
        ("standard-ngs", (25, -50, -110, -6)),
        ("original", (3, -1, -4, -3)),
    ],
)
def test_presets_equal_gatk(name: str, weights: tuple[int, int, int, int]) -> None:
    assert resolve_scoring(name).weights == weights


def test_no_other_presets() -> None:
    assert len(PRESETS) == 4


@given(SCORINGS)
def test_text_and_weights_are_one(scoring: Scoring) -> None:
    assert resolve_scoring(str(scoring)) == scoring
    assert resolve_scoring(scoring) is scoring


@pytest.mark.parametrize(
    "text", ["", "fast", "1,2,3", "1,2,3,4,5", "1,2,3,x", "1;2;3;4", "1.5,2,3,4"]
)
def test_unknown_scorings_are_refused_with_the_valid_values(text: str) -> None:
    with pytest.raises(UsageError, match=r"read-to-haplotype.*MATCH,MISMATCH,OPEN,EXTEND"):
        resolve_scoring(text)


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("sign", [1, -1])
def test_weights_have_a_limit(position: int, sign: int) -> None:
    weights = [1, -1, -1, -1]
    weights[position] = sign * LARGEST_WEIGHT
    assert Scoring(*weights).weights == tuple(weights)
    weights[position] += sign
    with pytest.raises(UsageError, match="100,000,000"):
        Scoring(*weights)


@given(SCORINGS)
def test_division_keeps_the_proportions(scoring: Scoring) -> None:
    small = scoring.divided()
    assert [weight * scoring.divisor for weight in small.weights] == list(scoring.weights)
    assert small.divisor == 1


@pytest.mark.parametrize(
    ("weights", "prefers"),
    [
        ((10, -15, -30, -5), True),
        ((1, 0, -1, 0), True),
        ((0, -1, -1, -1), False),
        ((1, 1, -1, -1), False),
        ((1, -1, 0, -1), False),
        ((1, -1, -1, 1), False),
    ],
)
def test_exact_matches_are_best_under_sensible_weights_only(
    weights: tuple[int, int, int, int], *, prefers: bool
) -> None:
    assert Scoring(*weights).prefers_exact_match is prefers


def test_scores_beyond_32_bits_are_refused() -> None:
    scoring = Scoring(2**20, -1, -1, -1)
    scoring.check_range(1000, 1000, Overhang.SOFTCLIP)
    with pytest.raises(InputError, match="32 bits; use smaller weights"):
        scoring.check_range(2000, 2000, Overhang.SOFTCLIP)


def test_the_largest_score_of_32_bits() -> None:
    scoring = Scoring(1, -1, -1, -1)
    scoring.check_range(2**31 - 2, 1, Overhang.SOFTCLIP)
    with pytest.raises(InputError, match="32 bits; use smaller weights"):
        scoring.check_range(2**31 - 1, 1, Overhang.SOFTCLIP)


def test_borders_beyond_32_bits_are_refused() -> None:
    scoring = Scoring(1, -1, -100_000_000, -100_000_000)
    scoring.check_range(30, 30, Overhang.SOFTCLIP)
    scoring.check_range(18, 18, Overhang.INDEL)
    with pytest.raises(InputError, match="32 bits; use smaller weights"):
        scoring.check_range(30, 1, Overhang.INDEL)


@pytest.mark.parametrize(
    ("name", "overhang", "has_free_ends"),
    [
        ("softclip", Overhang.SOFTCLIP, True),
        ("indel", Overhang.INDEL, False),
        ("leading-indel", Overhang.LEADING_INDEL, False),
        ("ignore", Overhang.IGNORE, True),
    ],
)
def test_overhangs(name: str, overhang: Overhang, *, has_free_ends: bool) -> None:
    assert resolve_overhang(name) is overhang
    assert resolve_overhang(overhang) is overhang
    assert overhang.has_free_ends is has_free_ends


@pytest.mark.parametrize("text", ["", "SOFTCLIP", "leading_indel", "0"])
def test_unknown_overhangs_are_refused_with_the_valid_values(text: str) -> None:
    with pytest.raises(UsageError, match="softclip, indel, leading-indel, ignore"):
        resolve_overhang(text)
