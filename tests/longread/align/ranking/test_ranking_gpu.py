"""Ranking on the GPU against the CPU."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.align.batches import MAPPING, AlignedMappings
from hapgpu.longread.align.ranking import rank as rank_on_cpu
from tests.longread.align.ranking.made_reads import (
    any_reads,
    any_rules,
    inversions,
    long_alignments,
    small_cases,
    ties,
)
from tests.longread.align.ranking.ranked_reads import RankingInputs

pytest.importorskip("cupy")

import cupy

from hapgpu.longread.cuda.align import logarithms, ranking, rows

pytestmark = pytest.mark.gpu


def check(inputs: RankingInputs) -> None:
    expected = rank_on_cpu(*inputs)
    aligned, lengths, repeat_lengths, *rules = inputs
    on_device = AlignedMappings(
        rows.uploaded_rows(aligned.mappings), *map(cupy.asarray, aligned[1:])
    )
    found = ranking.rank(on_device, cupy.asarray(lengths), cupy.asarray(repeat_lengths), *rules)
    assert found.operations is on_device.operations
    np.testing.assert_array_equal(found.offsets.get(), expected.offsets)
    ranked = rows.downloaded_rows(found.mappings, MAPPING)
    for name in MAPPING.names or ():
        np.testing.assert_array_equal(ranked[name], expected.mappings[name], err_msg=name)
    unchanged = rows.downloaded_rows(on_device.mappings, MAPPING)
    np.testing.assert_array_equal(unchanged, aligned.mappings)


def test_reads_of_all_kinds() -> None:
    for inputs in small_cases():
        check(inputs)


@pytest.mark.parametrize("seed", range(10))
def test_a_block(seed: int) -> None:
    counts = np.random.default_rng(seed).choice([0, 1, 1, 1, 1, 2, 3, 50], 600)
    check(any_reads(seed, counts.tolist(), any_rules(seed)))


@pytest.mark.parametrize("count", [1000, 5000])
def test_many_mappings(count: int) -> None:
    check(ties(count))
    check(inversions(count))
    for seed in range(5):
        check(any_reads(seed, [1, count, 2], any_rules(seed)))


def test_many_gaps() -> None:
    for seed in range(5):
        check(long_alignments(seed, 50_000))


@settings(max_examples=100)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from([0, 1, 2, 31, 33, 64, 65, 300]), max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_any_reads(seed: int, counts: list[int], rules: int) -> None:
    check(any_reads(seed, counts, any_rules(rules), gaps=80))


def test_scores_beyond_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logarithms, "MAX_SIZE", 100)
    for seed in range(10):
        check(any_reads(seed, [3, 0, 20, 1], any_rules(seed)))


def test_signature() -> None:
    parameters = inspect.signature(ranking.rank).parameters
    assert list(parameters) == list(inspect.signature(rank_on_cpu).parameters)
