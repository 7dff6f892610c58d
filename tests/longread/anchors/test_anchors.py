"""Anchors against the reference implementation: coordinates, flags and the order of ties."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.longread.options import SeedOptions
from hapgpu.longread.seed.anchors import expand_anchors
from hapgpu.longread.seed.seeds import find_seeds
from tests.longread.anchors.reference import anchors_of
from tests.longread.made_index import index_of, minimizers_of, plain_index_of, plain_minimizers_of
from tests.longread.seeds.reference import seeds_of

Read = list[tuple[int, int, int]]
CUTOFF, OPTIONS = 1000, SeedOptions(read_fraction=0)


def expected_anchors(
    read: Read, occurrences: dict[int, list[int]], length: int
) -> list[tuple[int, int]]:
    """Return (x, y) of the anchors of a read from the reference implementation."""
    seeds = seeds_of(
        plain_minimizers_of(read), length, plain_index_of(occurrences), CUTOFF, OPTIONS
    )
    return [(anchor.x, anchor.y) for anchor in anchors_of(seeds.kept, length)]


def check(reads: list[Read], occurrences: dict[int, list[int]], lengths: list[int]) -> None:
    index, sizes = index_of(occurrences), np.array(lengths, dtype=np.int32)
    seeds = find_seeds(index, minimizers_of(reads), sizes, CUTOFF, OPTIONS)
    anchors = expand_anchors(index, seeds, sizes)
    assert len(anchors) == len(reads)
    assert anchors.x.size == anchors.y.size == anchors.offsets[-1]
    for number, read in enumerate(reads):
        start, end = anchors.offsets[number : number + 2].tolist()
        found = zip(anchors.x[start:end].tolist(), anchors.y[start:end].tolist(), strict=True)
        assert list(found) == expected_anchors(read, occurrences, lengths[number])


OCCURRENCE = st.tuples(
    st.sampled_from([0, 1, 2**31 - 1]), st.sampled_from([4, 5, 700, 2**31 - 1]), st.booleans()
).map(lambda occurrence: occurrence[0] << 32 | occurrence[1] << 1 | occurrence[2])
OCCURRENCES = st.dictionaries(st.integers(0, 5), st.lists(OCCURRENCE, min_size=1, unique=True))
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(5, 7), st.booleans()), max_size=40)


@given(OCCURRENCES, st.lists(ROWS, max_size=3))
def test_made_reads(
    occurrences: dict[int, list[int]], rows: list[list[tuple[int, int, bool]]]
) -> None:
    reads = [
        [(hash_, span, (10 + 3 * k) << 1 | strand) for k, (hash_, span, strand) in enumerate(read)]
        for read in rows
    ]
    check(reads, occurrences, [3 * len(read) + 10 for read in rows])


def test_ends_of_the_longest_read() -> None:
    length = 2**31 - 1
    read = [(1, 15, 14 << 1), (2, 255, (length - 1) << 1 | 1)]
    check([read], {1: [14 << 1, 20 << 1 | 1], 2: [30 << 1, 40 << 1 | 1]}, [length])


def test_repeats_make_equal_keys() -> None:
    """Hundreds of anchors share a few positions on the reference."""
    rng = np.random.default_rng(3)
    occurrences = {k: [position << 1 | k % 2 for position in range(k, 60, 7)] for k in range(9)}
    reads = [
        [(int(k), 15, (20 + i) << 1 | int(k) % 3 % 2) for i, k in enumerate(rng.integers(0, 9, n))]
        for n in (8, 40, 400)
    ]
    check(reads, occurrences, [1000, 1000, 1000])
