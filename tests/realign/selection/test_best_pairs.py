"""The best pair of each read, and the best of its other pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.ragged import offsets_of
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.realign.selection.choice import NO_SCORE
from hapgpu.realign.selection.cpu import are_tied, first_of_best, second_scores

SCORES = st.lists(st.lists(st.integers(-3, 3), max_size=5), max_size=6)


def pairs_of(values: list[list[int]]) -> ReadHaplotypePairs:
    offsets = offsets_of([len(row) for row in values])
    return ReadHaplotypePairs(offsets, np.zeros(offsets[-1], dtype=np.int32))


@given(SCORES, st.sampled_from([0, 1, 1.5]))
def test_the_first_that_is_near_the_best(values: list[list[int]], tolerance: float) -> None:
    pairs = pairs_of(values)
    likelihoods = np.array([value for row in values for value in row], dtype=np.float64)
    best = first_of_best(pairs, likelihoods, tolerance)
    for row, start, found in zip(values, pairs.offsets, best, strict=False):
        near = [k for k, value in enumerate(row) if value >= max(row) - tolerance]
        assert found == (start + near[0] if row else -1)


@given(SCORES)
def test_best_and_second_scores(values: list[list[int]]) -> None:
    pairs = pairs_of(values)
    scores = np.array([value for row in values for value in row], dtype=np.int32)
    best = first_of_best(pairs, scores)
    second = second_scores(pairs, scores, best)
    assert second.dtype == np.int32
    for row, found in zip(values, second, strict=True):
        assert found == (sorted(row)[-2] if len(row) > 1 else NO_SCORE)


@given(SCORES, st.sampled_from([0, 1, 1.5]))
def test_ties(values: list[list[int]], tolerance: float) -> None:
    pairs = pairs_of(values)
    likelihoods = np.array([value for row in values for value in row], dtype=np.float64)
    expected = [sum(value >= max(row) - tolerance for value in row) > 1 for row in values]
    assert are_tied(pairs, likelihoods, tolerance).tolist() == expected
