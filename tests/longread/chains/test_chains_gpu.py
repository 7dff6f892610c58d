"""Chains traced on the GPU against the CPU."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors, Chains, ChainScores
from hapgpu.longread.chain import chains as on_cpu
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import chain_parameters
from tests.longread.chains.made_scores import any_scores, in_segments

pytestmark = pytest.mark.gpu

LIMITS = st.builds(
    ChainOptions,
    bandwidth=st.sampled_from([0, 3, 20, 500, 10**6]),
    min_count=st.integers(0, 4),
    min_score=st.sampled_from([1, 15, 40]),
)


def check(anchors: Anchors, scores: ChainScores, options: ChainOptions) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.chains import trace_chains  # noqa: PLC0415  (needs CuPy)

    parameters = chain_parameters(options, 15)
    expected = on_cpu.trace_chains(anchors, scores, parameters)
    on_device = Anchors(*map(cupy.asarray, (anchors.x, anchors.y, anchors.offsets)))
    columns = map(cupy.asarray, (scores.scores, scores.predecessors))
    found = trace_chains(on_device, ChainScores(*columns), parameters)
    for field in fields(Chains):
        column, of_cpu = getattr(found, field.name).get(), getattr(expected, field.name)
        assert column.dtype == of_cpu.dtype
        np.testing.assert_array_equal(column, of_cpu)


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
@pytest.mark.parametrize("column", ["skip25", "inf"])
def test_real_scores(data_dir: Path, name: str, column: str) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        anchors = Anchors(data["x"], data["y"], data["offsets"])
        scores = ChainScores(data[f"f_{column}"], data[f"p_{column}"])
    check(anchors, scores, ChainOptions())
    check(anchors, scores, ChainOptions(min_count=1, min_score=15))


@settings(max_examples=100)
@given(
    st.integers(0, 99),
    st.lists(st.sampled_from([0, 1, 2, 31, 64, 65, 100, 1000]), max_size=5),
    st.sampled_from([16, 45, 300, 100_000]),
    st.sampled_from([1, 3, 50]),
    LIMITS,
)
def test_any_scores(
    seed: int, sizes: list[int], max_score: int, max_step: int, options: ChainOptions
) -> None:
    check(*any_scores(seed, sizes, max_score, max_step), options)


def test_a_long_read_among_many_short_ones() -> None:
    check(*any_scores(1, [*[20] * 500, 300_000, *[70] * 500], 200_000, 2), ChainOptions())


@pytest.mark.parametrize("gap", [5001, 1 << 32])
@pytest.mark.parametrize("seed", range(12))
def test_chains_of_many_segments(seed: int, gap: int) -> None:
    sizes = [0, 3, 5000, 0, 70, 40_000, 1, 33]
    check(*in_segments(seed, sizes, gap), ChainOptions())
    check(*in_segments(seed, sizes, gap), ChainOptions(bandwidth=3, min_count=1, min_score=15))


def test_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import chains as chains_cuda  # noqa: PLC0415  (needs CuPy)

    parameters = inspect.signature(chains_cuda.trace_chains).parameters
    assert list(parameters) == list(inspect.signature(on_cpu.trace_chains).parameters)
