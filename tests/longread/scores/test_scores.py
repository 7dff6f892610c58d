"""Scores and predecessors of anchors, against minimap2 and the reference implementation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors
from hapgpu.longread.chain.pair_score import TILE
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.options import UNLIMITED_SKIP, ChainOptions
from hapgpu.longread.parameters import chain_parameters
from tests.example_counts import many
from tests.longread import chain_oracle
from tests.longread.chain_oracle import Anchor, colinear_reads, made_reads, to_batch

EVERY_OPTION = st.builds(
    ChainOptions,
    max_gap=st.sampled_from([0, 10, 60, 1000, 5000]),
    bandwidth=st.sampled_from([0, 5, 80, 500]),
    max_skip=st.sampled_from([0, 1, 3, 25, UNLIMITED_SKIP]),
    max_iterations=st.sampled_from([0, 1, 4, 20, 5000]),
)

TILES = st.sampled_from([1, 5, 30, TILE])


def check(reads: list[list[Anchor]], options: ChainOptions, k: int = 15, tile: int = TILE) -> None:
    found = chain_scores(to_batch(reads), chain_parameters(options, k), tile)
    expected = [chain_oracle.chain_scores(read, options, k) for read in reads]
    assert found.scores.tolist() == [score for f, _ in expected for score in f]
    assert found.predecessors.tolist() == [j for _, p in expected for j in p]


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
@pytest.mark.parametrize(("max_skip", "column"), [(25, "skip25"), (UNLIMITED_SKIP, "inf")])
def test_minimap2(data_dir: Path, name: str, max_skip: int, column: str) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        anchors = Anchors(data["x"], data["y"], data["offsets"])
        found = chain_scores(anchors, chain_parameters(ChainOptions(max_skip=max_skip), 15))
        np.testing.assert_array_equal(found.scores, data[f"f_{column}"])
        np.testing.assert_array_equal(found.predecessors, data[f"p_{column}"])


@given(made_reads(), EVERY_OPTION, st.sampled_from([5, 15, 28]), TILES)
@settings(max_examples=many(300))
def test_tiny_reads(reads: list[list[Anchor]], options: ChainOptions, k: int, tile: int) -> None:
    check(reads, options, k, tile)


@given(colinear_reads(), EVERY_OPTION, TILES)
@settings(max_examples=100)
def test_noisy_diagonals(reads: list[list[Anchor]], options: ChainOptions, tile: int) -> None:
    check(reads, options, tile=tile)


def test_more_predecessors_than_a_block() -> None:
    generator = np.random.default_rng(7)
    coordinates = generator.integers(0, 3000, (700, 2)).tolist()
    read = chain_oracle.in_order([Anchor(0, target, query, 15) for target, query in coordinates])
    check([read, [], read[:3]], ChainOptions(max_skip=UNLIMITED_SKIP))


@pytest.mark.parametrize("max_skip", [0, UNLIMITED_SKIP])
def test_the_best_beyond_max_iterations_at_the_same_position(max_skip: int) -> None:
    read = [Anchor(0, 100, 50, 40)] + [Anchor(0, 100, 52 + step, 15) for step in range(4)]
    check([read], ChainOptions(max_skip=max_skip, max_iterations=1))


def test_the_best_before_the_tile_and_beyond_max_iterations() -> None:
    """The first anchor of the read has the highest score, which the last one finds."""
    others = [Anchor(0, 110 + 10 * step, 40 - 10 * step, 15) for step in range(4)]
    read = [Anchor(0, 100, 50, 40), *others, Anchor(0, 200, 150, 15)]
    check([read], ChainOptions(max_iterations=1), tile=3)


def test_largest_positions() -> None:
    far = 2**31 - 1
    read = [Anchor(0, 0, far, 15), Anchor(0, 10, 0, 15), Anchor(0, far, far, 15)]
    read += [Anchor(1, 0, far - 1, 15), Anchor(2**32 - 1, far, 0, 15)]
    for max_skip in (25, UNLIMITED_SKIP):
        check([read], ChainOptions(max_skip=max_skip, max_gap=far))


def test_no_reads_and_no_anchors() -> None:
    parameters = chain_parameters(ChainOptions(), 15)
    assert chain_scores(to_batch([]), parameters).scores.size == 0
    assert chain_scores(to_batch([[], []]), parameters).predecessors.size == 0
