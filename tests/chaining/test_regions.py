"""Regions against a plain version of minimap2's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.chaining.batches import REVERSE
from hapgpu.chaining.options import ChainOptions, RegionOptions, SketchOptions
from hapgpu.chaining.regions import make_regions, name_hashes
from tests.chaining.plain_regions import (
    PlainChain,
    PlainSeed,
    batch_of,
    lengths_of,
    plain_hash,
    seed_counts,
    select,
    set_parents,
    sorted_regions,
)

LENGTH = 400
TARGETS = np.array([500, 2000], dtype=np.int64)
HASH = 12345


class StandInIndex(NamedTuple):
    """What `make_regions` takes from an index."""

    lengths: NDArray[np.int64]
    sketch: SketchOptions


INDEX = StandInIndex(TARGETS, SketchOptions(k=5))


@st.composite
def reads(draw: st.DrawFn) -> tuple[list[PlainChain], list[PlainSeed]]:
    """Draw seeds of a read, and chains through some of them."""
    count = draw(st.integers(1, 40))
    positions = sorted(draw(st.sets(st.integers(8, LENGTH - 1), min_size=count, max_size=count)))
    seeds = [PlainSeed(position, draw(st.integers(5, 7))) for position in positions]
    chains = []
    for _ in range(draw(st.integers(0, 7))):
        first = draw(st.integers(0, count - 1))
        last = draw(st.integers(first, count - 1))
        picked = seeds[first : last + 1 : draw(st.integers(1, 3))]
        chains.append(PlainChain(draw(st.integers(1, 90)), draw(anchors(picked))))
    return chains, seeds


@st.composite
def anchors(draw: st.DrawFn, seeds: list[PlainSeed]) -> list[tuple[int, int]]:
    """Draw a chain through these seeds, somewhere on the reference."""
    sequence, is_reverse = draw(st.integers(0, 1)), draw(st.booleans())
    base = sequence << 32 | (REVERSE if is_reverse else 0)
    target = draw(st.integers(0, 30))
    found = []
    for seed in reversed(seeds) if is_reverse else seeds:
        position = LENGTH - 2 - seed.position + seed.span if is_reverse else seed.position
        found.append((base | target, seed.span << 32 | position))
        target += draw(st.integers(1, 12))
    return found


@given(
    st.lists(reads(), max_size=3),
    st.sampled_from([0.0, 0.3, 0.5, 0.9]),
    st.sampled_from([0.0, 0.4, 0.8, 1.0]),
    st.sampled_from([0, 1, 5]),
    st.sampled_from([20, 5000]),
)
@settings(deadline=None, max_examples=150)
def test_agrees_with_plain_rules(
    batch: list[tuple[list[PlainChain], list[PlainSeed]]],
    mask_level: float,
    score_ratio: float,
    most_secondary: int,
    max_gap: int,
) -> None:
    chains, seeds = batch_of(batch)
    options = RegionOptions(
        mask_level=mask_level, score_ratio=score_ratio, most_secondary=most_secondary
    )
    lengths = np.full(len(batch), LENGTH, dtype=np.int32)
    hashes = np.full(len(batch), HASH, dtype=np.uint32)
    found = make_regions(
        chains, seeds, lengths, hashes, INDEX, ChainOptions(max_gap=max_gap), options
    )
    expected = []
    counts = []
    for of_read, its_seeds in batch:
        regions = sorted_regions(of_read, LENGTH, HASH)
        set_parents(regions, mask_level)
        if score_ratio > 0:
            regions = select(regions, score_ratio, most_secondary, INDEX.sketch.k, max_gap)
        counts.append(len(regions))
        expected += [
            (
                *(r.score, r.count, r.sequence, r.is_reverse, *r.query, *r.target),
                *(*lengths_of(r.chain), r.parent, r.second_score, r.rivals, r.is_retained),
                *seed_counts(r, its_seeds, LENGTH, int(TARGETS[r.sequence])),
            )
            for r in regions
        ]
    columns = (
        *(found.scores, found.counts, found.sequences, found.is_reverse, found.query_starts),
        *(found.query_ends, found.target_starts, found.target_ends, found.matches, found.lengths),
        *(found.parents, found.second_scores, found.rivals, found.is_retained),
        *(found.seeds_matched, found.seeds_expected),
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert np.diff(found.offsets).tolist() == counts
    assert found.repeat_lengths.tolist() == list(range(len(batch)))


def test_a_moved_region_stands_for_the_parent() -> None:
    """The first secondary is dropped, so that primary B moves to its place, and C to B's.

    The secondary of B is then compared with C, and kept, though it scores only 80 % of B.
    """
    seeds = [PlainSeed(position, 5) for position in range(10, 390, 10)]

    def chain(score: int, first: int, last: int, shift: int) -> PlainChain:
        picked = seeds[first:last]
        return PlainChain(
            score, [(10 * k + shift, s.span << 32 | s.position) for k, s in enumerate(picked, 1)]
        )

    chains = [
        chain(1000, 0, 10, 0),
        chain(500, 0, 10, 100),  # secondary to the first, too low: dropped
        chain(400, 12, 20, 0),
        chain(390, 22, 30, 0),
        chain(320, 12, 20, 50),  # 80 % of its parent, 82 % of what stands there
    ]
    batch = [(chains, seeds)]
    arrays, seed_arrays = batch_of(batch)
    found = make_regions(
        arrays,
        seed_arrays,
        np.array([LENGTH], dtype=np.int32),
        np.array([HASH], dtype=np.uint32),
        INDEX,
        ChainOptions(),
        RegionOptions(score_ratio=0.81),
    )
    assert found.scores.tolist() == [1000, 400, 390, 320]
    assert found.parents.tolist() == [0, 1, 2, 1]


def test_all_chains_have_no_parents() -> None:
    seeds = [PlainSeed(position, 5) for position in range(10, 100, 10)]
    chain = PlainChain(50, [(s.position, s.span << 32 | s.position) for s in seeds])
    arrays, seed_arrays = batch_of([([chain, chain._replace(score=60)], seeds)])
    found = make_regions(
        arrays,
        seed_arrays,
        np.array([LENGTH], dtype=np.int32),
        np.array([HASH], dtype=np.uint32),
        INDEX,
        ChainOptions(),
        replace(RegionOptions(), all_chains=True),
    )
    assert found.scores.tolist() == [60, 50]
    assert found.parents.tolist() == [-1, -1]


@given(st.lists(st.binary(min_size=0, max_size=20), max_size=5), st.booleans())
@settings(deadline=None)
def test_name_hashes(names: list[bytes], uses_names: bool) -> None:
    text = np.frombuffer(b"".join(names), dtype=np.uint8)
    sizes = np.array([len(name) for name in names], dtype=np.int32)
    starts = (np.cumsum(sizes) - sizes).astype(np.int32)
    lengths = np.arange(len(names), dtype=np.int32) * 1000
    found = name_hashes(text, starts, sizes, lengths, uses_names)
    assert found.dtype == np.uint32
    assert found.tolist() == [
        plain_hash(name if uses_names else b"", 1000 * i) for i, name in enumerate(names)
    ]
