"""Blocks of reference positions: GATK's cases, and random ones against the plain reference."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.output.reference_blocks import (
    DEPTH,
    END,
    HETEROZYGOUS,
    HOMOZYGOUS,
    MIN_DEPTH,
    QUALITY,
    START,
    BlockJoiner,
    Items,
    ReferencePositions,
)
from tests.calling.gvcf.reference import Block, blocks_of

BANDS = (*range(1, 61), 70, 80, 90, 99)  # GATK's --gvcf-gq-bands


def positions_of(
    start: int, depths: Sequence[int], phreds: Sequence[tuple[int, int]]
) -> ReferencePositions:
    return ReferencePositions(
        start,
        np.full(len(depths), ord("A"), dtype=np.uint8),
        np.array(depths, dtype=np.int32),
        np.array(phreds, dtype=np.int32).reshape(-1, 2),
    )


def plain(items: Items) -> list[Block]:
    blocks = []
    for row in items.blocks.tolist():
        phreds = (row[HETEROZYGOUS], row[HOMOZYGOUS])
        blocks.append(Block(row[START], row[END], row[DEPTH], row[MIN_DEPTH], phreds))
        assert blocks[-1].quality == row[QUALITY]
    return blocks


def joined(
    cuts: Sequence[int],
    start: int,
    depths: Sequence[int],
    phreds: Sequence[tuple[int, int]],
    records: Sequence[tuple[int, int]],
    bands: Sequence[int] = BANDS,
) -> list[Block]:
    """Return the blocks of positions that come in parts."""
    joiner = BlockJoiner(bands)
    blocks: list[Block] = []
    bounds = [0, *sorted(cut for cut in cuts if cut < len(depths)), len(depths)]
    for first, last in itertools.pairwise(bounds):
        own = [record for record in records if first <= record[0] - start < last]
        part = positions_of(start + first, depths[first:last], phreds[first:last])
        starts, ends = np.array(own, dtype=np.int64).reshape(-1, 2).T
        items = joiner.add(part, starts, ends)
        assert sorted(-1 - item for item in items.order if item < 0) == list(range(len(own)))
        blocks.extend(plain(items))
    return blocks + plain(joiner.finish())


@pytest.mark.parametrize(
    ("qualities", "expected"),
    [([33, 31, 30], [(1, 4, 30)]), ([30, 15, 15], [(1, 2, 30), (2, 4, 15)])],
)
def test_cases_of_gatk(qualities: list[int], expected: list[tuple[int, int, int]]) -> None:
    phreds = [(quality, 100) for quality in qualities]
    blocks = joined([], 1, [10] * len(qualities), phreds, [], (1, 10, 20))
    assert [(block.start, block.end, block.quality) for block in blocks] == expected


@pytest.mark.parametrize(
    ("depths", "median"),
    [([0, 0, 0, 4], 0), ([0, 0, 3, 4], 2), ([0, 1, 1, 9], 1), ([4, 0, 0], 0), ([2, 3], 3)],
)
def test_depth_is_the_median(depths: list[int], median: int) -> None:
    """Of two in the middle the mean, and half a read is rounded up."""
    (block,) = joined([], 1, depths, [(30, 100)] * len(depths), [])
    assert (block.depth, block.min_depth) == (median, min(depths))


def test_a_deletion_covers_the_positions_after_it() -> None:
    blocks = joined([], 1, [10] * 7, [(30, 100)] * 7, [(3, 6)])
    assert [(block.start, block.end) for block in blocks] == [(1, 3), (6, 8)]


def test_gaps_and_contigs_end_blocks() -> None:
    joiner = BlockJoiner()
    none = np.empty(0, dtype=np.int64)
    first = positions_of(1, [10] * 3, [(30, 100)] * 3)
    assert not plain(joiner.add(first, none, none))
    later = plain(joiner.add(positions_of(10, [10], [(30, 100)]), none, none))
    assert [(block.start, block.end) for block in later] == [(1, 4)]
    assert [(block.start, block.end) for block in plain(joiner.finish())] == [(10, 11)]
    again = plain(joiner.add(first, none, none)) + plain(joiner.finish())
    assert [(block.start, block.end) for block in again] == [(1, 4)]


@given(st.data())
def test_random_positions(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    depths = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    pair = st.tuples(st.sampled_from([0, 1, 2, 60, 65, 98, 99, 120]), st.integers(0, 200))
    phreds = data.draw(st.lists(pair, min_size=size, max_size=size))
    starts = sorted(data.draw(st.sets(st.integers(0, size - 1), max_size=4)))
    records = [(100 + at, 101 + at + data.draw(st.integers(0, 5))) for at in starts]
    cuts = data.draw(st.lists(st.integers(0, size), max_size=3))
    expected = blocks_of(100, depths, phreds, records, BANDS)
    assert joined(cuts, 100, depths, phreds, records) == expected
