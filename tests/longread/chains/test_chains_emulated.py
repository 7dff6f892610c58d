"""Chains traced by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from hapgpu.longread.batches import Anchors, Chains, ChainScores
from hapgpu.longread.chain import chains as on_cpu
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import chain_parameters
from tests.emulation.emulator import emulate
from tests.longread.chains.made_scores import any_scores, in_segments


def check(
    anchors: Anchors, scores: ChainScores, options: ChainOptions, patch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import chains, row_sort  # noqa: PLC0415  (imports CuPy)

    emulate(patch, chains, row_sort)
    parameters = chain_parameters(options, 15)
    expected = on_cpu.trace_chains(anchors, scores, parameters)
    found = chains.trace_chains(anchors, scores, parameters)
    for field in fields(Chains):
        column, of_cpu = getattr(found, field.name), getattr(expected, field.name)
        assert column.dtype == of_cpu.dtype
        np.testing.assert_array_equal(column, of_cpu)


@pytest.mark.parametrize("max_score", [16, 45, 300, 100_000])
@pytest.mark.parametrize(
    "options",
    [
        ChainOptions(),
        ChainOptions(bandwidth=0, min_count=0, min_score=15),
        ChainOptions(bandwidth=20, min_count=4, min_score=1),
    ],
)
def test_any_scores(max_score: int, options: ChainOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, sizes in enumerate(([], [0], [1, 0, 2], [64, 65, 0, 100], [31, 700])):
        made = any_scores(seed, sizes, max_score, (1, 3, 50)[seed % 3])
        check(*made, options, monkeypatch)


@pytest.mark.parametrize("gap", [5001, 1 << 32])
@pytest.mark.parametrize("seed", range(6))
def test_many_segments(seed: int, gap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = in_segments(seed, [0, 3, 900, 0, 70, 1500, 1, 33], gap)
    check(*made, ChainOptions(), monkeypatch)
    check(*made, ChainOptions(bandwidth=3, min_count=1, min_score=15), monkeypatch)
