"""Blocks of reference positions: GATK's cases, and random ones against the plain reference."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.options import GenomicOptions
from hapgpu.calling.output.reference_blocks import (
    COPIES,
    DEPTH,
    END,
    MIN_DEPTH,
    PHREDS,
    QUALITY,
    START,
    BlockJoiner,
    Items,
)
from hapgpu.calling.output.reference_positions import ReferencePositions
from tests.calling.gvcf.reference import Block, blocks_of

BANDS = (*range(1, 61), 70, 80, 90, 99)  # GATK's --gvcf-gq-bands
WARP = tuple(range(10, 100, 10))  # the bands of its pipelines
DEFAULT = GenomicOptions()


def positions_of(
    start: int, depths: Sequence[int], phreds: Sequence[tuple[int, ...]], highest: int = 2
) -> ReferencePositions:
    table = np.full((len(depths), highest), -1)
    for row, values in enumerate(phreds):
        table[row, : len(values)] = values
    return ReferencePositions(
        start,
        np.full(len(depths), ord("A"), dtype=np.uint8),
        np.array(depths, dtype=np.int32),
        np.zeros(len(depths), dtype=np.int32),
        np.array([len(values) for values in phreds], dtype=np.int32),
        table.astype(np.int32),
    )


def floor_of(quality: int, bands: Sequence[int]) -> int:
    """Return the lower bound of the band of a quality."""
    return max(bound for bound in (0, *bands) if bound <= quality)


def plain(items: Items, options: GenomicOptions = DEFAULT) -> list[Block]:
    blocks = []
    for row in items.blocks.tolist():
        phreds = tuple(row[PHREDS : PHREDS + row[COPIES]])
        block = Block(row[START], row[END], row[DEPTH], row[MIN_DEPTH], phreds)
        floor = floor_of(block.quality, options.bands)
        assert row[QUALITY] == (floor if options.has_floors else block.quality)
        blocks.append(block)
    return blocks


def joined(
    cuts: Sequence[int],
    start: int,
    depths: Sequence[int],
    phreds: Sequence[tuple[int, ...]],
    records: Sequence[tuple[int, int]],
    options: GenomicOptions = DEFAULT,
) -> list[Block]:
    """Return the blocks of positions that come in parts."""
    highest = max((len(values) for values in phreds), default=2)
    joiner = BlockJoiner(options, highest)
    blocks: list[Block] = []
    bounds = [0, *sorted(cut for cut in cuts if cut < len(depths)), len(depths)]
    for first, last in itertools.pairwise(bounds):
        own = [record for record in records if first <= record[0] - start < last]
        part = positions_of(start + first, depths[first:last], phreds[first:last], highest)
        starts, ends = np.array(own, dtype=np.int64).reshape(-1, 2).T
        items = joiner.add(part, starts, ends)
        assert sorted(-1 - item for item in items.order if item < 0) == list(range(len(own)))
        blocks.extend(plain(items, options))
    return blocks + plain(joiner.finish(), options)


@pytest.mark.parametrize(
    ("qualities", "expected"),
    [([33, 31, 30], [(1, 4, 30)]), ([30, 15, 15], [(1, 2, 30), (2, 4, 15)])],
)
def test_cases_of_gatk(qualities: list[int], expected: list[tuple[int, int, int]]) -> None:
    phreds = [(quality, 100) for quality in qualities]
    options = GenomicOptions(bands=(1, 10, 20))
    blocks = joined([], 1, [10] * len(qualities), phreds, [], options)
    assert [(block.start, block.end, block.quality) for block in blocks] == expected


@pytest.mark.parametrize(
    ("depths", "median"),
    [
        *[([0, 0, 0, 4], 0), ([0, 0, 3, 4], 2), ([0, 1, 1, 9], 1), ([4, 0, 0], 0), ([2, 3], 3)],
        *[([3, 4], 4), ([3, 4, 9], 4)],
    ],
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


@pytest.mark.parametrize(
    ("bands", "expected"),
    [
        ((1, 10, 30), [(0, 1), (1, 10), (10, 30), (30, 100)]),
        ((5, 99), [(0, 5), (5, 99), (99, 100)]),
        ((5, 100), [(0, 5), (5, 100)]),
        ((100,), [(0, 100)]),
        (WARP, [*((low, low + 10) for low in range(0, 90, 10)), (90, 100)]),
        (BANDS, list(itertools.pairwise((0, *BANDS, 100)))),
    ],
)
def test_bands(bands: tuple[int, ...], expected: list[tuple[int, int]]) -> None:
    """One position of each GQ from 0 to 99, and one above: a block is a band."""
    phreds = [(quality, 200) for quality in [*range(100), 150]]
    blocks = joined([], 0, [10] * 101, phreds, [], GenomicOptions(bands=bands))
    assert [(block.start, min(block.end, 100)) for block in blocks] == expected
    assert blocks[-1].end == 101


def test_likelihoods_are_the_smallest_of_each_element() -> None:
    (block,) = joined([], 0, [5, 5], [(30, 300), (27, 405)], [], GenomicOptions(bands=(20,)))
    assert (block.phreds, block.quality) == ((27, 300), 27)


@pytest.mark.parametrize("quality", [0, 9, 10, 59, 60, 98, 99, 120])
def test_floors(quality: int) -> None:
    """GATK's case: GQ of blocks is one of 0, 10, 20, ... 60."""
    options = GenomicOptions(bands=tuple(range(10, 70, 10)), has_floors=True)
    joiner = BlockJoiner(options)
    none = np.empty(0, dtype=np.int64)
    joiner.add(positions_of(1, [3], [(quality, 200)]), none, none)
    ((*_, found, _, _, _),) = joiner.finish().blocks.tolist()
    assert found == min(quality // 10 * 10, 60)


def test_the_ploidy_ends_blocks() -> None:
    phreds = [(30, 100), (30, 100), (30,), (30,), (30, 60, 100), (30, 100)]
    blocks = joined([], 0, [10] * 6, phreds, [])
    assert [(block.start, block.end, block.phreds) for block in blocks] == [
        *[(0, 2, (30, 100)), (2, 4, (30,)), (4, 5, (30, 60, 100)), (5, 6, (30, 100))]
    ]


BOUNDS = st.lists(st.integers(1, 100), min_size=1, max_size=6, unique=True)


@given(st.data())
def test_random_positions(data: st.DataObject) -> None:
    """Any bands, ploidies and records, wherever the positions are divided."""
    size = data.draw(st.integers(1, 30))
    depths = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    ploidies = data.draw(st.sampled_from([(2,), (1,), (1, 2), (1, 2, 5)]))
    quality = st.sampled_from([0, 1, 2, 60, 65, 98, 99, 120])
    phreds: list[tuple[int, ...]] = []
    for _ in range(size):
        ploidy = data.draw(st.sampled_from(ploidies))
        other = st.lists(st.integers(0, 200), min_size=ploidy - 1, max_size=ploidy - 1)
        phreds.append((data.draw(quality), *data.draw(other)))
    starts = sorted(data.draw(st.sets(st.integers(0, size - 1), max_size=4)))
    records = [(100 + at, 101 + at + data.draw(st.integers(0, 5))) for at in starts]
    cuts = data.draw(st.lists(st.integers(0, size), max_size=3))
    bands = tuple(data.draw(st.one_of(st.just(BANDS), BOUNDS.map(sorted))))
    options = GenomicOptions(bands=bands, has_floors=data.draw(st.booleans()))
    expected = blocks_of(100, depths, phreds, records, bands)
    assert joined(cuts, 100, depths, phreds, records, options) == expected
    covered = [at for block in expected for at in range(block.start, block.end)]
    ends = {
        at: max((r for r in records if r[0] <= at), default=(0, 0))[1] for at in range(100, 130)
    }
    assert covered == [at for at in range(100, 100 + size) if at >= ends[at]]
