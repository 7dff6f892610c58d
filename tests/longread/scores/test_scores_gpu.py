"""Scores of anchors on the GPU, against minimap2 and the CPU."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors, ChainScores
from hapgpu.longread.chain import scores as cpu
from hapgpu.longread.options import UNLIMITED_SKIP, ChainOptions
from hapgpu.longread.parameters import ChainParameters, chain_parameters
from tests.longread.chain_oracle import Anchor, colinear_reads, in_order, made_reads, to_batch

pytestmark = pytest.mark.gpu

EVERY_OPTION = st.builds(
    ChainOptions,
    max_gap=st.sampled_from([0, 10, 60, 1000, 5000]),
    bandwidth=st.sampled_from([0, 5, 80, 500, 3000]),
    max_skip=st.sampled_from([0, 1, 3, 25, UNLIMITED_SKIP]),
    max_iterations=st.sampled_from([0, 1, 4, 20, 31, 32, 33, 70, 5000, 5121]),
)


def on_gpu(anchors: Anchors, parameters: ChainParameters) -> ChainScores:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.scores import chain_scores  # noqa: PLC0415  (needs CuPy)

    columns = (cupy.asarray(part) for part in (anchors.x, anchors.y, anchors.offsets))
    found = chain_scores(Anchors(*columns), parameters)
    assert found.scores.dtype == found.predecessors.dtype == np.int32
    return ChainScores(found.scores.get(), found.predecessors.get())


def check(anchors: Anchors, parameters: ChainParameters) -> None:
    found, expected = on_gpu(anchors, parameters), cpu.chain_scores(anchors, parameters)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.predecessors, expected.predecessors)


def long_read(seed: int, anchors: int, spread: int) -> list[Anchor]:
    """Make a read with a repeat: a true diagonal, parallel ones, noise, many equal positions."""
    generator = np.random.default_rng(seed)
    queries = generator.integers(0, spread, anchors)
    shifts = generator.choice([0, 0, 0, 171, 342, -171], anchors)
    targets = queries + 1000 + shifts + generator.integers(-4, 5, anchors)
    targets = np.where(
        generator.random(anchors) < 0.3, generator.integers(0, spread, anchors), targets
    )
    sequences = generator.choice([0, 0, 0, 1, 2**31], anchors)
    spans = generator.choice([15, 15, 15, 40], anchors)
    columns = (sequences, np.maximum(targets, 0), queries, spans)
    return in_order([Anchor(*map(int, row)) for row in zip(*columns, strict=True)])


def test_same_signature() -> None:
    from hapgpu.longread.cuda.scores import chain_scores  # noqa: PLC0415  (needs CuPy)

    on_cpu = inspect.signature(cpu.chain_scores)
    shared = [parameter for name, parameter in on_cpu.parameters.items() if name != "tile"]
    assert inspect.signature(chain_scores) == on_cpu.replace(parameters=shared)


@pytest.mark.parametrize("copies", [1, 50])
@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
@pytest.mark.parametrize(("max_skip", "column"), [(25, "skip25"), (UNLIMITED_SKIP, "inf")])
def test_minimap2(data_dir: Path, name: str, copies: int, max_skip: int, column: str) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        starts = data["offsets"][:-1] + np.arange(copies)[:, None] * data["x"].size
        offsets = np.append(starts.ravel(), copies * data["x"].size)
        anchors = Anchors(np.tile(data["x"], copies), np.tile(data["y"], copies), offsets)
        found = on_gpu(anchors, chain_parameters(ChainOptions(max_skip=max_skip), 15))
        np.testing.assert_array_equal(found.scores, np.tile(data[f"f_{column}"], copies))
        np.testing.assert_array_equal(found.predecessors, np.tile(data[f"p_{column}"], copies))


@given(made_reads(), EVERY_OPTION, st.sampled_from([5, 15, 28]))
@settings(max_examples=200)
def test_tiny_reads(reads: list[list[Anchor]], options: ChainOptions, k: int) -> None:
    check(to_batch(reads), chain_parameters(options, k))


@given(colinear_reads(), EVERY_OPTION)
@settings(max_examples=100)
def test_noisy_diagonals(reads: list[list[Anchor]], options: ChainOptions) -> None:
    check(to_batch(reads), chain_parameters(options, 15))


@pytest.mark.parametrize("max_skip", [0, 1, 3, 25, UNLIMITED_SKIP])
@pytest.mark.parametrize("max_iterations", [1, 31, 32, 33, 300, 5000])
def test_long_reads(max_skip: int, max_iterations: int) -> None:
    sizes = [
        (3000, 40_000),
        (3000, 4000),
        (700, 700),
        (33, 300),
        (32, 300),
        (31, 300),
        (8, 50),
        (7, 50),
        (0, 9),
    ]
    batch = to_batch([long_read(seed, *size) for seed, size in enumerate(sizes * 3)])
    check(
        batch, chain_parameters(ChainOptions(max_skip=max_skip, max_iterations=max_iterations), 15)
    )


@pytest.mark.parametrize("max_skip", [25, UNLIMITED_SKIP])
def test_more_within_reach_than_are_considered(max_skip: int) -> None:
    batch = to_batch([long_read(seed, 9000, 4000) for seed in range(3)])
    check(batch, chain_parameters(ChainOptions(max_skip=max_skip), 15))


@pytest.mark.parametrize("max_skip", [25, UNLIMITED_SKIP])
@pytest.mark.parametrize("bandwidth", [2047, 2048, 20_000])
def test_wide_bands(bandwidth: int, max_skip: int) -> None:
    batch = to_batch([long_read(seed, 1000, 30_000) for seed in range(5)])
    check(batch, chain_parameters(ChainOptions(bandwidth=bandwidth, max_skip=max_skip), 15))


@pytest.mark.parametrize("max_skip", [25, UNLIMITED_SKIP])
def test_narrower_on_the_read(max_skip: int) -> None:
    batch = to_batch([long_read(seed, 1000, 30_000) for seed in range(5)])
    parameters = chain_parameters(ChainOptions(max_skip=max_skip), 15)
    check(batch, replace(parameters, max_distance_y=300))


def test_largest_positions() -> None:
    far = 2**31 - 1
    read = [Anchor(0, 0, far, 15), Anchor(0, 10, 0, 15), Anchor(0, far, far, 15)]
    read += [Anchor(1, 0, far - 1, 15), Anchor(2**32 - 1, far, 0, 15)]
    for max_skip in (25, UNLIMITED_SKIP):
        check(to_batch([read]), chain_parameters(ChainOptions(max_skip=max_skip, max_gap=far), 15))


def test_no_reads_and_no_anchors() -> None:
    parameters = chain_parameters(ChainOptions(), 15)
    for reads in ([], [[], []]):
        assert on_gpu(to_batch(reads), parameters).scores.size == 0


def test_reads_without_anchors_among_others() -> None:
    reads = [[], long_read(0, 100, 900), [], [], long_read(1, 1, 900), []]
    check(to_batch(reads), chain_parameters(ChainOptions(), 15))
