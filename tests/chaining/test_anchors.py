"""Anchors against plain Python: coordinates, flags and the order of equal ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.chaining.anchors import expand_anchors
from hapgpu.chaining.options import SeedOptions
from hapgpu.chaining.seeds import find_seeds
from tests.chaining.made_index import index_of, minimizers_of
from tests.chaining.test_radix_order import moved

Read = list[tuple[int, int, int]]


def expected_anchors(read: Read, hits: dict[int, list[int]], length: int) -> list[tuple[int, int]]:
    """Return (x, y) of every hit, sorted."""
    pairs = []
    hashes = [-1, *(hash_ for hash_, _, _ in read), -1]
    for number, (hash_, span, place) in enumerate(read):
        tandem = (hash_ in {hashes[number], hashes[number + 2]}) << 42
        for hit in sorted(hits.get(hash_, [])):
            sequence, position = hit >> 32, hit % 2**32 >> 1
            own = place >> 1
            reverse = (hit ^ place) & 1
            if reverse:
                own = length - (own + 1 - span) - 1
            x = reverse << 63 | sequence << 32 | position
            pairs.append((x, tandem | span << 32 | own))
    return moved(pairs)


def check(reads: list[Read], hits: dict[int, list[int]], lengths: list[int]) -> None:
    index, sizes = index_of(hits), np.array(lengths, dtype=np.int32)
    options = SeedOptions(read_fraction=0)
    seeds = find_seeds(index, minimizers_of(reads), sizes, 1000, options)
    anchors = expand_anchors(index, seeds, sizes)
    assert len(anchors) == len(reads)
    assert anchors.x.size == anchors.y.size == anchors.offsets[-1]
    for number, read in enumerate(reads):
        begin, end = anchors.offsets[number : number + 2].tolist()
        found = zip(anchors.x[begin:end].tolist(), anchors.y[begin:end].tolist(), strict=True)
        assert list(found) == expected_anchors(read, hits, lengths[number])


HIT = st.tuples(
    st.sampled_from([0, 1, 2**31 - 1]), st.sampled_from([4, 5, 700, 2**31 - 1]), st.booleans()
).map(lambda hit: hit[0] << 32 | hit[1] << 1 | hit[2])
HITS = st.dictionaries(st.integers(0, 5), st.lists(HIT, min_size=1, unique=True))
ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(5, 7), st.booleans()), max_size=40)


@settings(deadline=None)  # the first call compiles
@given(HITS, st.lists(ROWS, max_size=3))
def test_made_reads(hits: dict[int, list[int]], rows: list[list[tuple[int, int, bool]]]) -> None:
    reads = [
        [(hash_, span, (10 + 3 * k) << 1 | strand) for k, (hash_, span, strand) in enumerate(read)]
        for read in rows
    ]
    check(reads, hits, [3 * len(read) + 10 for read in rows])


def test_ends_of_the_longest_read() -> None:
    length = 2**31 - 1
    read = [(1, 15, 14 << 1), (2, 255, (length - 1) << 1 | 1)]
    check([read], {1: [14 << 1, 20 << 1 | 1], 2: [30 << 1, 40 << 1 | 1]}, [length])


def test_repeats_make_equal_keys() -> None:
    """Hundreds of anchors on a few positions of the reference."""
    rng = np.random.default_rng(3)
    hits = {k: [position << 1 | k % 2 for position in range(k, 60, 7)] for k in range(9)}
    reads = [
        [(int(k), 15, (20 + i) << 1 | int(k) % 3 % 2) for i, k in enumerate(rng.integers(0, 9, n))]
        for n in (8, 40, 400)
    ]
    check(reads, hits, [1000, 1000, 1000])
