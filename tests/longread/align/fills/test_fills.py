"""Global alignments side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.longread.align.dp.fills import MIN_LANES, align_fills
from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.longread.align.fills.made_pairs import Codes, mutated, packed
from tests.longread.align.fills.plain_alignment import plain_alignment
from tests.longread.align.fills.recorded_fills import recorded_fills

DEFAULT = align_scoring(2, 4, (4, 2), (24, 1))


def cigar_of(operations: NDArray[np.uint32]) -> str:
    return "".join(f"{int(word) >> 4}{'MID'[int(word) & 15]}" for word in operations)


def expected(query: Codes, target: Codes, scoring: AlignScoring) -> tuple[int, str]:
    costs = (scoring.gap_open, scoring.gap_extend, scoring.gap_open2, scoring.gap_extend2)
    score, columns = plain_alignment(query, target, scoring.dp_matrix, costs)
    changes = np.flatnonzero(np.diff(columns, prepend=-1))
    lengths = np.diff(changes, append=columns.size)
    runs = zip(lengths, columns[changes], strict=True)
    return int(score), "".join(f"{length}{'MID'[kind]}" for length, kind in runs)


def aligned(
    pairs: list[tuple[Codes, Codes]], scoring: AlignScoring
) -> tuple[list[tuple[int, str]], list[int]]:
    scores, operations, offsets, remaining = align_fills(*packed(pairs), scoring)
    cigars = [cigar_of(piece) for piece in np.split(operations, offsets[1:-1])]
    return list(zip(map(int, scores), cigars, strict=True)), list(remaining)


@st.composite
def scorings(draw: Any) -> AlignScoring:
    match, mismatch = draw(st.integers(1, 10)), draw(st.integers(1, 19))
    gap_open, extend = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    long_open, long_extend = gap_open, extend
    if draw(st.booleans()) and extend > 1:
        long_extend = draw(st.integers(1, extend - 1))
        long_open = draw(st.integers(gap_open + extend - long_extend + 1, 90))
    return align_scoring(
        match,
        mismatch,
        (gap_open, extend),
        (long_open, long_extend),
        ambiguous=draw(st.integers(0, mismatch - 1)),
        transition=draw(st.integers(0, mismatch)),
    )


@given(
    seed=st.integers(0, 1 << 32),
    scoring=st.just(DEFAULT) | scorings(),
    rate=st.sampled_from((1e-3, 0.1, 0.3, 2.0)),
    ambiguous=st.booleans(),
)
def test_equals_the_whole_matrix(
    seed: int, scoring: AlignScoring, rate: float, ambiguous: bool
) -> None:
    generator = np.random.default_rng(seed)
    pairs = []
    for length in generator.integers(0, generator.choice((5, 40, 300)), 12):
        target = generator.integers(0, 4, length).astype(np.uint8)
        query = mutated(generator, target, rate)
        if ambiguous and length and generator.random() < 0.3:
            target[generator.integers(length)] = 4
            query[generator.random(query.size) < 0.02] = 4
        pairs += [(query, target)] * MIN_LANES
    results, remaining = aligned(pairs, scoring)
    for k in range(0, len(pairs), MIN_LANES):
        query, target = pairs[k]
        want = expected(query, target, scoring) if query.size and target.size else (0, "")
        for row in range(k, k + MIN_LANES):
            assert row in remaining or results[row] == want


def test_recorded_alignments(data_dir: Path) -> None:
    compared = {"extd2": 0, "extz2": 0}
    for fill in recorded_fills(data_dir):
        results, remaining = aligned([(fill.query, fill.target)] * MIN_LANES, fill.scoring)
        if not remaining:
            compared[fill.function] += 1
            assert results == [(fill.score, fill.cigar)] * MIN_LANES, fill.name
    assert compared["extd2"] > 300
    assert compared["extz2"] > 20


def test_ambiguous_bases_are_not_equal() -> None:
    # A pair of them costs 12 and the other gap 6; an insertion and a longer deletion cost 14.
    scoring = align_scoring(2, 4, (4, 2), (24, 1), ambiguous=12)
    pair = np.array([0, 4, 3], np.uint8), np.array([0, 4, 4, 3], np.uint8)
    results, remaining = aligned([pair] * MIN_LANES, scoring)
    assert not remaining
    assert results == [(-10, "1M1I2D1M")] * MIN_LANES


def noisy_pairs(count: int, length: int, rate: float) -> list[tuple[Codes, Codes]]:
    generator = np.random.default_rng(count)
    targets = [
        generator.integers(0, 4, length + generator.integers(60)).astype(np.uint8)
        for _ in range(count)
    ]
    return [(mutated(generator, target, rate), target) for target in targets]


@pytest.mark.parametrize("rate", [0.005, 0.08, 0.3])
def test_a_batch_of_usual_pairs(rate: float) -> None:
    pairs = noisy_pairs(500, 200, rate)
    results, remaining = aligned(pairs, DEFAULT)
    assert len(remaining) < 20
    for row in range(0, 500, 5):
        assert row in remaining or results[row] == expected(*pairs[row], DEFAULT)


def test_pairs_do_not_depend_on_others() -> None:
    some, others = noisy_pairs(200, 200, 0.1), noisy_pairs(300, 100, 0.4)
    alone, alone_remaining = aligned(some, DEFAULT)
    together, together_remaining = aligned([*others, *some], DEFAULT)
    remaining = {*alone_remaining, *(row - len(others) for row in together_remaining)}
    compared = set(range(len(some))) - remaining
    assert len(compared) > 150
    for row in compared:
        assert together[len(others) + row] == alone[row]


def test_unusual_pairs_remain() -> None:
    usual, long = noisy_pairs(40, 200, 0.05), noisy_pairs(MIN_LANES - 1, 3000, 0.05)
    results, remaining = aligned([*usual[:20], *long, *usual[20:]], DEFAULT)
    assert set(remaining) >= set(range(20, 20 + len(long)))
    assert all(results[row] == (0, "") for row in remaining)


def test_scores_that_do_not_fit_in_bytes() -> None:
    empty, some = np.zeros(0, np.uint8), np.zeros(3, np.uint8)
    pairs = [*noisy_pairs(10, 100, 0.05), (empty, some), (some, empty)]
    results, remaining = aligned(pairs, align_scoring(120, 4, (4, 2), (24, 1)))
    assert remaining == list(range(10))
    assert results == [(0, "")] * 12


def test_no_pairs() -> None:
    empty = np.zeros(0, np.uint8)
    assert aligned([(empty, empty)], DEFAULT) == ([(0, "")], [])
