"""Divergences and mapping qualities against the formulas in NumPy float32."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Mappings
from hapgpu.longread.mappings.quality import assess
from tests.example_counts import many

MAX_QUALITY = 60  # minimap2's mm_set_mapq

F = np.float32


@cache
def logf() -> Any:
    """Return the function of the C library; it is searched for by other programs."""
    library = ctypes.util.find_library("m")
    if library is None:
        pytest.skip("no C library")
    function = ctypes.CDLL(library).logf
    function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
    return function


def c_logarithm(value: int) -> np.float32:
    return F(logf()(float(value)))


def plain_quality(
    score: int, count: int, second: int, n_sub: int, total: int, repeats: int, min_score: int
) -> int:
    unique = F(total) / F(total + repeats)
    by_score = (F(1) if score > 100 else F(0.01) * F(score)) * unique
    weight = min(by_score, F(1) if count > 10 else F(0.1) * F(count))
    x = F(max(second, min_score)) / F(score)
    quality = int(F(F(weight * F(40)) * (F(1) - x)) * c_logarithm(score))
    quality -= int(F(4.343) * c_logarithm(n_sub + 1) + F(0.499))
    return min(max(quality, 0), MAX_QUALITY)


def mappings_of(
    reads: list[list[dict[str, int]]], repeats: list[int], span: float = 15
) -> Mappings:
    """Return mappings with the given columns, all others 0."""
    rows = [mapping for read in reads for mapping in read]

    def column(name: str, dtype: type = np.int32) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return np.array([row.get(name, 0) for row in rows], dtype=dtype)

    zeros = np.zeros(len(rows), dtype=np.int32)
    return Mappings(
        scores=column("score"),
        counts=column("count"),
        sequences=zeros,
        is_reverse=column("is_reverse", np.uint8),
        query_starts=zeros,
        query_ends=zeros,
        target_starts=zeros,
        target_ends=zeros,
        matches=zeros,
        lengths=zeros,
        parents=column("parent"),
        second_scores=column("second"),
        n_sub=column("n_sub"),
        is_retained=column("is_retained", np.uint8),
        seeds_matched=column("matched"),
        seeds_expected=column("expected"),
        offsets=np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64),
        mean_spans=np.full(len(reads), span, dtype=np.float32),
        repeat_lengths=np.array(repeats, dtype=np.int32),
    )


MAPPING = st.fixed_dictionaries(
    {
        "score": st.integers(1, 200_000),
        "count": st.integers(1, 30),
        "second": st.integers(0, 200_000),
        "n_sub": st.integers(0, 50),
    }
)


@given(st.lists(st.lists(MAPPING, min_size=1, max_size=4), max_size=4), st.integers(0, 10_000))
@settings(max_examples=many(200))
def test_qualities_of_primaries(reads: list[list[dict[str, int]]], repeats: int) -> None:
    for read in reads:
        for number, mapping in enumerate(read):
            mapping["parent"] = number
            mapping["second"] = min(mapping["second"], mapping["score"])
    found = assess(mappings_of(reads, [repeats] * len(reads)), 40)
    expected = [
        plain_quality(
            *(mapping[name] for name in ("score", "count", "second", "n_sub")),
            sum(other["score"] for other in read),
            repeats,
            40,
        )
        for read in reads
        for mapping in read
    ]
    assert found.qualities.tolist() == expected
    assert found.is_primary.all()


def test_scores_and_the_logarithm_of_c() -> None:
    """Each score separately; without repeats the quality is 40 log(score) (1 - 40 / score)."""
    scores = range(101, 3000, 7)
    found = assess(
        mappings_of([[{"score": score, "count": 11}] for score in scores], [0] * len(scores)), 40
    )
    expected = [plain_quality(score, 11, 0, 0, score, 0, 40) for score in scores]
    assert found.qualities.tolist() == expected


@given(st.integers(0, 500), st.integers(1, 500), st.floats(3, 255, width=32))
def test_divergence(matched: int, expected: int, span: float) -> None:
    mapping = {"score": 100, "count": 5, "matched": matched, "expected": expected}
    found = assess(mappings_of([[mapping]], [0], span), 40).divergences
    fraction = matched / expected
    assert found.tolist() == [F(0) if fraction >= 1 else F(1 - math.pow(fraction, 1 / span))]


def retained(matched: int, parent: int, expected: int = 100) -> dict[str, int]:
    return {
        "score": 5000,
        "count": 50,
        "is_retained": 1,
        "parent": parent,
        "matched": matched,
        "expected": expected,
    }


def primary(number: int, matched: int = 90, expected: int = 100) -> dict[str, int]:
    return {
        "score": 9000,
        "count": 90,
        "parent": number,
        "matched": matched,
        "expected": expected,
    }


def test_mappings_that_diverge_far_more_than_the_parent_are_dropped() -> None:
    read = [primary(0, 99), retained(5, 0), retained(98, 0), primary(3)]
    found = assess(mappings_of([read, [primary(0)]], [0, 0]), 40)
    assert found.rows.tolist() == [0, 2, 3, 4]
    assert found.offsets.tolist() == [0, 3, 4]
    assert found.is_primary.tolist() == [True, False, True, True]
    assert found.qualities.tolist()[1] == 0


@pytest.mark.parametrize(
    ("best", "matched", "expected", "is_kept"),
    [
        (7, 3, 8, False),  # 0.625, five times 0.125
        (7, 4, 8, True),
        (100, 99, 100, False),  # 0.01 in float32
        (1000, 991, 1000, True),
    ],
)
def test_retained_mappings_diverge_less_than_the_limits(
    best: int, matched: int, expected: int, is_kept: bool
) -> None:
    """With seeds of one base the divergence is the fraction of the seeds that do not match."""
    read = [primary(0, best, expected), retained(matched, 0, expected)]
    found = assess(mappings_of([read], [0], span=1), 40)
    assert found.rows.tolist() == [0, 1][: 1 + is_kept]


def test_a_parent_in_the_next_row_to_fill_has_not_moved() -> None:
    """The first retained mapping is dropped, and primary 2 leaves its row to no other."""
    read = [primary(0, 100), retained(84, 0), primary(2, 39), retained(39, 2)]
    found = assess(mappings_of([read] * 50, [0] * 50), 40)
    assert found.rows.tolist() == [k for k in range(200) if k % 4 != 1]


def test_a_moved_mapping_replaces_the_parent() -> None:
    """The first retained mapping is dropped: primary 2 moves up, and 3 to its row."""
    read = [primary(0, 99), retained(5, 0), primary(2, 99), primary(3, 20), retained(5, 2)]
    assert assess(mappings_of([read], [0]), 40).rows.tolist() == [0, 2, 3, 4]


def test_without_parents_nothing_is_primary() -> None:
    read = [{"score": 500, "count": 20, "parent": -1}, {"score": 400, "count": 20, "parent": -1}]
    found = assess(mappings_of([read, []], [0, 7]), 40)
    assert found.rows.tolist() == [0, 1]
    assert not found.is_primary.any()
    assert found.qualities.tolist() == [0, 0]
