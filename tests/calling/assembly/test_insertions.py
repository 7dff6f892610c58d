"""Joined insertions of haplotypes: against plain Python, and each rule."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.assembly.haplotypes import with_joined_insertions
from hapgpu.cigar.encoding import cigar_strings, parse_cigar, query_lengths, reference_lengths
from tests.example_counts import many

MIN_LENGTH = 20
Cigar = list[tuple[int, str]]


def joined(regions: list[list[str]], chosen: list[bool] | None = None) -> list[list[str]]:
    """Return the CIGARs of regions with joined insertions."""
    elements = [parse_cigar(cigar) for region in regions for cigar in region]
    data = np.concatenate([np.empty(0, np.uint32), *elements])
    cigars = Ragged.from_lengths(data, [each.size for each in elements])
    owners = np.repeat(np.arange(len(regions)), [len(region) for region in regions])
    is_chosen = np.array([True] * len(regions) if chosen is None else chosen, dtype=np.bool_)
    before = data.copy()
    found = with_joined_insertions(cigars, owners, is_chosen)
    assert (data == before).all()
    np.testing.assert_array_equal(query_lengths(found), query_lengths(cigars))
    np.testing.assert_array_equal(reference_lengths(found), reference_lengths(cigars))
    texts = cigar_strings(found)
    return [[texts[row] for row in np.flatnonzero(owners == k)] for k in range(len(regions))]


def elements_of(text: str) -> Cigar:
    return [(int(length), letter) for length, letter in re.findall(r"(\d+)(\D)", text)]


def insertions_of(cigar: Cigar) -> list[tuple[int, int]]:
    """Return position and length of each insertion."""
    return [
        (sum(n for n, other in cigar[:at] if other != "I"), length)
        for at, (length, letter) in enumerate(cigar)
        if letter == "I"
    ]


def plain_joined(region: list[str]) -> list[str]:
    """Move each insertion to the first position of its length, if only matches are between."""
    rows = [elements_of(text) for text in region]
    positions = [set(insertions_of(row)) for row in rows]
    found = []
    for row in rows:
        moved = list(row)
        for (position, length), at in zip(
            insertions_of(row), [k for k, e in enumerate(row) if e[1] == "I"], strict=True
        ):
            near = [
                other
                for each in positions
                for other, size in each
                if size == length and position - length <= other <= position
            ]
            shift = position - min(near)
            if length < MIN_LENGTH or not 0 < at < len(row) - 1:
                continue
            (before, left), (after, right) = moved[at - 1], moved[at + 1]
            if left == right == "M" and before > shift:
                moved[at - 1], moved[at + 1] = (before - shift, "M"), (after + shift, "M")
        found.append("".join(f"{length}{letter}" for length, letter in moved))
    return found


@st.composite
def made_regions(draw: st.DrawFn) -> list[list[str]]:
    """Draw haplotypes that start and end in matches, with insertions of few lengths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    regions = []
    for _ in range(rng.integers(1, 4)):
        lengths = [*rng.integers(19, 80, 2).tolist(), 19, 20]
        region = []
        for _ in range(rng.integers(1, 7)):
            text = f"{rng.integers(1, 90)}M"
            for _ in range(rng.integers(0, 4)):
                letter = str(rng.choice(["I", "I", "D"]))
                length = rng.choice(lengths) if letter == "I" else rng.integers(1, 40)
                text += f"{length}{letter}{rng.integers(1, 60)}M"
            region.append(text)
        regions.append(region)
    return regions


@given(made_regions(), st.integers(0, 7))
@settings(max_examples=many(600))
def test_as_plain(regions: list[list[str]], chosen: int) -> None:
    is_chosen = [chosen >> k & 1 == 1 for k in range(len(regions))]
    expected = [
        plain_joined(region) if flag else region
        for region, flag in zip(regions, is_chosen, strict=True)
    ]
    assert joined(regions, is_chosen) == expected


def test_two_haplotypes_of_one_duplication() -> None:
    assert joined([["100M60I100M", "130M60I70M"]]) == [["100M60I100M", "100M60I100M"]]
    assert joined([["130M60I70M", "100M60I100M"]]) == [["100M60I100M", "100M60I100M"]]


def test_regions_are_apart() -> None:
    regions = [["100M60I100M"], ["130M60I70M"]]
    assert joined(regions) == regions


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("160M60I40M", "100M60I100M"),
        ("161M60I39M", "161M60I39M"),
        ("130M59I70M", "130M59I70M"),
        ("110M5I20M60I70M", "110M5I20M60I70M"),
        ("110M5D15M60I70M", "110M5D15M60I70M"),
        ("90M5I40M60I70M", "90M5I10M60I100M"),
        ("95M5D30M60I70M", "95M5D30M60I70M"),
        ("94M5D31M60I70M", "94M5D1M60I100M"),
        ("130M60I5D65M", "130M60I5D65M"),
    ],
)
def test_what_is_moved(other: str, expected: str) -> None:
    """At most by its length, and not over or up to another insertion or deletion."""
    assert joined([["100M60I100M", other]]) == [["100M60I100M", expected]]


@pytest.mark.parametrize(("length", "to"), [(19, 110), (20, 100)])
def test_short_insertions_stay(length: int, to: int) -> None:
    region = [f"100M{length}I100M", f"110M{length}I90M"]
    assert joined([region])[0][1] == f"{to}M{length}I{200 - to}M"


def test_nothing_to_move() -> None:
    assert joined([]) == []
    assert joined([[], ["50M"], []]) == [[], ["50M"], []]
    assert joined([["100M60I100M", "130M60I70M"]], [False]) == [["100M60I100M", "130M60I70M"]]


def test_an_insertion_at_the_end_of_a_haplotype_stays() -> None:
    cigars = ["100M30I", "80M30I50M", "30I100M"]
    assert joined([cigars]) == [cigars]
