"""Chains joined over long gaps, against the reference implementation."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors
from hapgpu.longread.chain.chains import trace_chains
from hapgpu.longread.chain.join import join_chains
from hapgpu.longread.chain.pair_score import TILE
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import chain_parameters
from tests.example_counts import many
from tests.longread import chain_oracle
from tests.longread.chain_oracle import (
    Anchor,
    Chain,
    Join,
    chains_from_batch,
    chains_to_batch,
    colinear_reads,
    in_order,
    made_reads,
)

EVERY_JOIN = st.builds(
    Join,
    max_distance=st.sampled_from([40, 300, 20_000]),
    inner_distance=st.sampled_from([0, 10, 100, 1000]),
    max_candidates=st.sampled_from([1, 5, 100_000]),
    bandwidth=st.sampled_from([0, 30, 20_000]),
    max_skip=st.sampled_from([0, 2, 25]),
    min_count=st.integers(1, 3),
    min_score=st.sampled_from([1, 40]),
)


def check(
    reads: list[list[Chain]], lengths: list[int], numbers: Join, k: int = 15, tile: int = TILE
) -> None:
    expected = [
        chain_oracle.join(chains, length, numbers, k)
        for chains, length in zip(reads, lengths, strict=True)
    ]
    for overwrites in (False, True):
        found = join_chains(
            chains_to_batch(reads),
            np.array(lengths, dtype=np.int32),
            numbers.parameters(k),
            tile,
            overwrites=overwrites,
        )
        assert chains_from_batch(found) == expected


def split(read: list[Anchor], parts: int) -> list[Chain]:
    """Distribute the sorted anchors of a read over `parts` chains."""
    chains = [Chain(40, []) for _ in range(parts)]
    for number, anchor in enumerate(read):
        chains[number % parts].anchors.append(anchor)
    return [chain for chain in chains if chain.anchors]


@given(
    made_reads(),
    EVERY_JOIN,
    st.integers(2, 4),
    st.sampled_from([500, 2000, 20_000]),
    st.sampled_from([1, 4, TILE]),
)
@settings(max_examples=many(150))
def test_any_anchors(
    reads: list[list[Anchor]], numbers: Join, parts: int, length: int, tile: int
) -> None:
    check([split(read, parts) for read in reads], [length] * len(reads), numbers, tile=tile)


@pytest.mark.parametrize("tile", [500, TILE])
def test_read_of_a_repeat(tile: int) -> None:
    """All positions of the read have anchors at all copies: the best ones are found by a tree."""
    random = Random(5)  # noqa: S311  (no secrets)
    read = [
        Anchor(0, 171 * copy + position + random.randrange(3), position, 15)
        for copy in range(40)
        for position in random.sample(range(20, 3000), 60)
    ]
    check([split(in_order(read), 3)], [3000], Join(max_distance=5000), tile=tile)


@given(colinear_reads(), EVERY_JOIN, st.sampled_from([5, 15, 28]))
@settings(max_examples=100)
def test_noisy_diagonals(reads: list[list[Anchor]], numbers: Join, k: int) -> None:
    check([split(read, 2) for read in reads], [5000] * len(reads), numbers, k)


@pytest.mark.parametrize("name", ["bacterial", "repeat_rich"])
def test_real_anchors(data_dir: Path, name: str) -> None:
    with np.load(data_dir / f"longread/chain/anchors_{name}.npz") as data:
        anchors = Anchors(data["x"], data["y"], data["offsets"])
    parameters = chain_parameters(ChainOptions(), 15)
    chains = chains_from_batch(trace_chains(anchors, chain_scores(anchors, parameters), parameters))
    few = [read for read in chains if sum(len(chain.anchors) for chain in read) < 800]
    assert sum(len(read) > 1 for read in few) > 1
    check(few, [100_000] * len(few), Join())


@pytest.mark.parametrize(
    ("length", "covered", "is_joined"),
    [
        (1111, 111, False),
        (1111, 112, True),
        (1110, 111, False),
        (1101, 100, True),
        (1100, 100, False),
    ],
)
def test_which_reads_are_joined(length: int, covered: int, is_joined: bool) -> None:
    first = [Anchor(0, 100 + step, 10 + step, 15) for step in (0, 50, covered)]
    second = [Anchor(0, 400 + step, 300 + step, 15) for step in (0, 15, 30)]
    chains = [Chain(45, first), Chain(45, second)]
    found = join_chains(
        chains_to_batch([chains, chains[:1]]),
        np.array([length, length], dtype=np.int32),
        Join().parameters(15),
    )
    assert found.offsets.tolist() == ([0, 1, 2] if is_joined else [0, 2, 3])
    check([chains, chains[:1]], [length, length], Join())


def test_anchor_0_may_have_an_equal_position_in_the_read() -> None:
    """Anchor 0 is then the predecessor of the third anchor, but already in another chain."""
    read = [Anchor(0, 100, 50, 40), Anchor(0, 110, 20, 1), Anchor(0, 120, 50, 15)]
    numbers = Join(min_count=1, min_score=1)
    joined = chain_oracle.join(split(read, 2), 5000, numbers, 15)
    assert [chain.anchors for chain in joined] == [[read[0]], [read[1]]]
    check([split(read, 2)], [5000], numbers)


@pytest.mark.parametrize("max_distance", [3000, 20_000])
def test_a_read_that_repeats_one_part_of_the_reference(max_distance: int) -> None:
    """Anchors that are near on the reference are then far apart in the read."""
    rng = np.random.default_rng(5)
    passes = []
    for start in range(0, 40 * 1000, 1000):
        steps = np.sort(rng.integers(0, 1000, 60)).tolist()
        slips = rng.integers(-3, 4, 60).tolist()
        anchors = {
            50 + step: 50 + start + step + slip for step, slip in zip(steps, slips, strict=True)
        }
        passes.append(Chain(40, [Anchor(0, *coordinates, 15) for coordinates in anchors.items()]))
    assert sum(len(chain.anchors) for chain in passes) > 2000
    check([passes], [45_000], Join(max_distance=max_distance))


def test_no_reads_and_no_chains() -> None:
    check([], [], Join())
    check([[], []], [0, 100], Join())
