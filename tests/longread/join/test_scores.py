"""Predecessors of the long join, against the reference implementation and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.longread.chain.join_scores import JoinLimits, join_space, score_joins
from hapgpu.longread.chain.pair_score import TILE
from tests.longread.chain_oracle import Anchor, Join, plain, to_batch
from tests.longread.join.reference import join_scores

FAR_ONLY = Join(inner_distance=0)
NEAR = Join(inner_distance=100)


def predecessors_of(
    read: list[Anchor], numbers: Join, k: int = 15, tile: int = TILE
) -> dict[Anchor, Anchor]:
    """Return the predecessor of each anchor that has one."""
    parameters = numbers.parameters(k)
    limits = JoinLimits(
        numbers.max_distance,
        numbers.inner_distance,
        numbers.max_candidates,
        0.5 * parameters.slope,
        numbers.max_skip,
    )
    batch, count = to_batch([read]), len(read)
    scores, found = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    penalties, space = parameters.penalties.astype(np.int32), join_space(min(count, tile))
    score_joins(batch.x, batch.y, count, penalties, limits, space, scores, found)
    expected = join_scores([*map(plain, read)], parameters, k)
    assert scores.tolist() == expected.scores
    assert found.tolist() == expected.predecessors
    return {read[i]: read[j] for i, j in enumerate(expected.predecessors) if j >= 0}


def test_first_of_equal_priorities_in_two_blocks() -> None:
    """The second one is on the diagonal of the last anchor, but not visited."""
    first, second, last = (Anchor(0, *at, 15) for at in ((100, 300), (200, 200), (1000, 1000)))
    others = [Anchor(0, 101 + step, 40 - step, 15) for step in range(16)]
    numbers = replace(FAR_ONLY, bandwidth=0)
    assert predecessors_of([first, *others, second, last], numbers) == {}
    assert predecessors_of([*others, second, last], numbers) == {last: second}


def test_predecessor_that_starts_a_tile() -> None:
    read = [Anchor(0, 100, 100, 15), Anchor(0, 1000, 200, 15), Anchor(0, 1020, 220, 15)]
    numbers = Join(max_distance=100, inner_distance=10)
    assert predecessors_of(read, numbers, tile=2) == {read[2]: read[1]}


@pytest.mark.parametrize(("max_candidates", "chosen"), [(1, 1), (2, 0)])
def test_the_farthest_near_candidate(max_candidates: int, chosen: int) -> None:
    """The second anchor has the highest priority, the first one is on the diagonal."""
    read = [Anchor(0, 100, 100, 15), Anchor(0, 110, 150, 15), Anchor(0, 200, 200, 15)]
    numbers = replace(NEAR, max_candidates=max_candidates)
    assert predecessors_of(read, numbers)[read[2]] == read[chosen]


FOLLOWED, FOLLOWING = Anchor(0, 900, 985, 15), Anchor(0, 905, 990, 15)
BETTER, LAST = Anchor(0, 950, 950, 19), Anchor(0, 1000, 1000, 15)


@pytest.mark.parametrize(("max_skip", "chosen"), [(0, FOLLOWING), (1, BETTER)])
def test_most_skipped_candidates(max_skip: int, chosen: Anchor) -> None:
    """The second anchor is visited first, then the first, which is skipped, then the third."""
    numbers = replace(NEAR, max_skip=max_skip)
    found = predecessors_of([FOLLOWED, FOLLOWING, BETTER, LAST], numbers)
    assert found == {FOLLOWING: FOLLOWED, LAST: chosen}


@pytest.mark.parametrize(("step", "chosen"), [(15, LAST), (16, BETTER)])
def test_near_anchors_after_one_that_touches(step: int, chosen: Anchor) -> None:
    """Only the anchor that it touches is visited: those that end this search are out of reach."""
    touching = Anchor(0, 1000 + step, 1000 + step, 15)
    read = [FOLLOWED, FOLLOWING, BETTER, LAST, touching]
    found = predecessors_of(read, replace(NEAR, max_skip=0))
    assert found == {FOLLOWING: FOLLOWED, LAST: FOLLOWING, touching: chosen}


@pytest.mark.parametrize(("position", "is_found"), [(900, True), (899, False)])
def test_largest_distance_to_a_near_anchor(position: int, is_found: bool) -> None:
    """The near anchor is in another word of the bits, the far one too far off the diagonal."""
    others = [Anchor(0, 300 + step, 200 - step, 15) for step in range(62)]
    far, near, last = Anchor(0, 880, 600, 40), Anchor(0, 950, position, 15), LAST
    found = predecessors_of([*others, far, near, last], replace(NEAR, bandwidth=60))
    assert found == ({last: near} if is_found else {})


@pytest.mark.parametrize(
    ("before", "chosen"),
    [
        ([Anchor(0, 9000, 3000, 255)], 0),
        ([Anchor(0, 9000, 500, 255)], None),
        ([Anchor(0, 9000, 501, 255)], 0),
        ([Anchor(0, 9000, 2000, 255), Anchor(0, 9500, 1500, 255)], 0),
        ([Anchor(0, 9000, 1000, 200), Anchor(0, 9500, 1900, 255)], 1),
        ([Anchor(0, 9000, 2000, 255), Anchor(0, 9001, 1500, 1)], 0),
        ([Anchor(0, 9000, 1000, 255), Anchor(0, 9001, 1500, 1), Anchor(0, 9002, 2000, 1)], 0),
    ],
    ids=["same_position", "too_far", "farthest", "tie", "best_last", "best_first", "best_lowest"],
)
def test_search_through_many_blocks(before: list[Anchor], chosen: int | None) -> None:
    """All blocks are searched, later the order of the read, then a tree: one anchor is chosen."""
    same = [Anchor(0, 10_000 + step, 3000, 1) for step in range(1200)]
    found = predecessors_of([*before, *same], replace(FAR_ONLY, max_distance=2500), k=5)
    assert {found.get(anchor) for anchor in same} == {None if chosen is None else before[chosen]}


def test_anchors_at_one_position_of_the_reference_in_many_blocks() -> None:
    """None of them precedes another, although one of the two has a high priority."""
    same = [Anchor(0, 10_000 + step, 3000, 1) for step in range(1030)]
    pair = [Anchor(0, 11_300, 2990, 255), Anchor(0, 11_300, 3000, 15)]
    assert predecessors_of([*same, *pair], FAR_ONLY, k=5) == {}
