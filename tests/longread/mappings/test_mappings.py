"""Mappings on the CPU against the reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.longread.batches import REVERSE, TANDEM, Chains, Mappings, Seeds
from hapgpu.longread.mappings.mappings import make_mappings, name_hashes
from hapgpu.longread.options import ChainOptions, MappingOptions, SketchOptions
from tests.example_counts import many
from tests.longread.anchors.reference import Anchor
from tests.longread.chains.reference import Chain
from tests.longread.made_chains import SEQUENCES, made_chains
from tests.longread.mappings.reference import (
    hash_of_read,
    mappings_of,
    matches_and_length,
    select,
    set_parents,
)
from tests.longread.quality.reference import count_seeds
from tests.longread.run.test_stages import chain_rows, rows_of
from tests.longread.seeds.reference import Seed
from tests.longread.sketch.reference import Minimizer

Read = tuple[list[Chain], list[Seed]]

LENGTH = 400
TARGETS = np.array([500, 2000], dtype=np.int64)
HASH = 12345


class StandInIndex(NamedTuple):
    """The part of an index that `make_mappings` uses."""

    lengths: NDArray[np.int64]
    sketch: SketchOptions


INDEX = StandInIndex(TARGETS, SketchOptions(k=5))


def seed_at(position: int, span: int) -> Seed:
    return Seed(Minimizer(0, span, position, 0), [], is_tandem=False)


def forward(target: int, query: int) -> Anchor:
    return Anchor(is_reverse=False, sequence=0, target=target, query=query, span=5)


@st.composite
def reads(draw: st.DrawFn) -> Read:
    """Draw seeds of a read, and chains of some of them."""
    count = draw(st.integers(1, 40))
    positions = sorted(draw(st.sets(st.integers(8, LENGTH - 1), min_size=count, max_size=count)))
    seeds = [seed_at(position, draw(st.integers(5, 7))) for position in positions]
    chains = []
    for _ in range(draw(st.integers(0, 7))):
        first = draw(st.integers(0, count - 1))
        last = draw(st.integers(first, count - 1))
        picked = seeds[first : last + 1 : draw(st.integers(1, 3))]
        chains.append(Chain(draw(st.integers(1, 90)), draw(anchors(picked))))
    return chains, seeds


@st.composite
def anchors(draw: st.DrawFn, seeds: list[Seed]) -> list[Anchor]:
    """Draw the anchors of a chain of these seeds, at a random position of the reference."""
    sequence, is_reverse = draw(st.integers(0, 1)), draw(st.booleans())
    target = draw(st.integers(0, 30))
    found = []
    for (_, span, position, _), *_ in reversed(seeds) if is_reverse else seeds:
        query = LENGTH - 2 - position + span if is_reverse else position
        found.append(Anchor(is_reverse, sequence, target, query, span))
        target += draw(st.integers(1, 12))
    return found


def batch_of(reads: Sequence[Read]) -> tuple[Chains, Seeds]:
    """Convert reads to the arrays of a batch."""
    chains = [chain for read, _ in reads for chain in read]
    anchors = [anchor for chain in chains for anchor in chain.anchors]
    minimizers = [seed.minimizer for _, seeds in reads for seed in seeds]
    count = len(minimizers)
    return Chains(
        x=np.array([anchor.x for anchor in anchors], dtype=np.uint64),
        y=np.array([anchor.y for anchor in anchors], dtype=np.uint64),
        anchor_offsets=np.cumsum([0, *(len(chain.anchors) for chain in chains)]),
        scores=np.array([chain.score for chain in chains], dtype=np.int32),
        offsets=np.cumsum([0, *(len(read) for read, _ in reads)]),
    ), Seeds(
        positions=np.array([each.position << 1 for each in minimizers], dtype=np.uint32),
        spans=np.array([each.span for each in minimizers], dtype=np.uint8),
        is_tandem=np.zeros(count, dtype=np.uint8),
        first_occurrences=np.zeros(count, dtype=np.int64),
        occurrence_counts=np.ones(count, dtype=np.int32),
        offsets=np.cumsum([0, *(len(seeds) for _, seeds in reads)]),
        repeat_lengths=np.arange(len(reads), dtype=np.int32),
    )


@given(
    st.lists(reads(), max_size=3),
    st.sampled_from([0.0, 0.3, 0.5, 0.9]),
    st.sampled_from([0.0, 0.4, 0.8, 1.0]),
    st.sampled_from([0, 1, 5]),
    st.sampled_from([20, 5000]),
)
@settings(max_examples=many(150))
def test_mappings_equal_the_reference_implementation(
    batch: list[Read],
    mask_level: float,
    score_ratio: float,
    max_secondary: int,
    max_gap: int,
) -> None:
    chains, seeds = batch_of(batch)
    options = MappingOptions(
        mask_level=mask_level, score_ratio=score_ratio, max_secondary=max_secondary
    )
    chain_options = ChainOptions(max_gap=max_gap)
    lengths = np.full(len(batch), LENGTH, dtype=np.int32)
    hashes = np.full(len(batch), HASH, dtype=np.uint32)
    found = make_mappings(chains, seeds, lengths, hashes, INDEX, chain_options, options)
    expected = []
    counts = []
    for of_read, its_seeds in batch:
        mappings = mappings_of(of_read, LENGTH, HASH)
        set_parents(mappings, mask_level)
        mappings = select(mappings, INDEX.sketch.k, chain_options, options)
        counts.append(len(mappings))
        expected += [
            (
                *(r.score, r.count, r.sequence, r.is_reverse, *r.query, *r.target),
                *(*matches_and_length(r.chain), r.parent, r.second_score, r.n_sub, r.is_retained),
                *count_seeds(r, its_seeds, LENGTH, int(TARGETS[r.sequence])),
            )
            for r in mappings
        ]
    columns = (
        *(found.scores, found.counts, found.sequences, found.is_reverse, found.query_starts),
        *(found.query_ends, found.target_starts, found.target_ends, found.matches, found.lengths),
        *(found.parents, found.second_scores, found.n_sub, found.is_retained),
        *(found.seeds_matched, found.seeds_expected),
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert np.diff(found.offsets).tolist() == counts
    assert found.repeat_lengths.tolist() == list(range(len(batch)))


def anchor_of(x: int, y: int) -> Anchor:
    low = 2**32 - 1
    return Anchor(
        is_reverse=bool(x & REVERSE),
        sequence=(x & ~REVERSE) >> 32,
        target=x & low,
        query=y & low,
        span=y >> 32 & 255,
        is_tandem=bool(y & TANDEM),
    )


@pytest.mark.parametrize("width", [300, 3000])
@pytest.mark.parametrize("seed", range(12))
def test_mappings_of_crossing_chains(seed: int, width: int) -> None:
    made = made_chains(seed, 12, width)
    index = StandInIndex(np.full(SEQUENCES, 2**30), SketchOptions())
    hashes = np.arange(made.lengths.size, dtype=np.uint32)
    chain_options = ChainOptions(max_gap=300)  # for chains on the other strand
    options = MappingOptions(score_ratio=0.5 + 0.04 * seed, max_secondary=1 + 2 * seed)
    found = make_mappings(
        made.chains, made.seeds, made.lengths, hashes, index, chain_options, options
    )
    expected = []
    for number, read in enumerate(chain_rows(made.chains)):
        chains = [Chain(score, [anchor_of(*anchor) for anchor in own]) for score, own in read]
        mappings = mappings_of(chains, int(made.lengths[number]), number)
        set_parents(mappings, options.mask_level)
        expected.append(
            [
                (
                    *(each.score, each.count, *each.query, *each.target, each.parent),
                    *(each.second_score, each.n_sub, int(each.is_retained)),
                )
                for each in select(mappings, index.sketch.k, chain_options, options)
            ]
        )
    assert expected == rows_of(
        found.offsets,
        *(found.scores, found.counts, found.query_starts, found.query_ends),
        *(found.target_starts, found.target_ends, found.parents),
        *(found.second_scores, found.n_sub, found.is_retained),
    )


def mapped(
    chains: list[Chain], seeds: list[Seed], options: MappingOptions, max_gap: int = 5000
) -> Mappings:
    """Return the mappings of one read."""
    arrays, seed_arrays = batch_of([(chains, seeds)])
    return make_mappings(
        arrays,
        seed_arrays,
        np.array([LENGTH], dtype=np.int32),
        np.array([HASH], dtype=np.uint32),
        INDEX,
        ChainOptions(max_gap=max_gap),
        options,
    )


@pytest.mark.parametrize(("start", "parent"), [(50, 2), (49, 0)])
def test_a_secondary_overlaps_by_more_than_the_mask_level(start: int, parent: int) -> None:
    """Two primaries cover the third mapping, all of 100 bases: 50 each, or 51 and 49."""
    starts = {0: 100, 100: 90, start: 80}  # of the mappings in the read, and their scores
    chains = [
        Chain(score, [forward(20 + at, at + 4), forward(115 + at, at + 99)])
        for at, score in starts.items()
    ]
    seeds = [seed_at(at + last, 5) for last in (4, 99) for at in starts]
    seeds.sort(key=lambda seed: seed.minimizer.position)
    assert mapped(chains, seeds, MappingOptions(mask_level=0.5)).parents.tolist() == [0, 1, parent]


@pytest.mark.parametrize(("score", "scores"), [(80, [1000]), (81, [1000, 81])])
def test_another_strand_is_retained_above_its_score(score: int, scores: list[int]) -> None:
    """The score must exceed 80 % of `max_gap`."""
    positions = range(10, 100, 10)
    reverse = [
        Anchor(is_reverse=True, sequence=1, target=position, query=LENGTH + 3 - position, span=5)
        for position in reversed(positions)
    ]
    chains = [
        Chain(1000, [forward(position, position) for position in positions]),
        Chain(score, reverse),
    ]
    seeds = [seed_at(position, 5) for position in positions]
    found = mapped(chains, seeds, MappingOptions(), max_gap=100)
    assert found.scores.tolist() == scores
    assert found.is_retained.tolist() == [0, 1][: len(scores)]


@pytest.mark.parametrize(("last", "expected"), [(LENGTH - 1, 2), (LENGTH - 2, 3)])
def test_a_seed_is_expected_where_more_bases_than_its_span_remain(last: int, expected: int) -> None:
    """A k-mer of 5 bases: before it there is room; from its start 5 bases remain, or 6."""
    found = mapped([Chain(50, [forward(200, last)])], [seed_at(last, 5)], MappingOptions())
    assert found.seeds_matched.tolist() == [1]
    assert found.seeds_expected.tolist() == [expected]


def test_a_moved_mapping_replaces_the_parent() -> None:
    """The first secondary is dropped, so primary B moves to its row, and C to B's.

    The secondary of B is then compared with C, and kept, although it scores only 80 % of B.
    """
    seeds = [seed_at(position, 5) for position in range(10, 390, 10)]

    def chain(score: int, first: int, last: int, shift: int) -> Chain:
        targets = range(10 + shift, 1000, 10)
        queries = range(10 + 10 * first, 10 + 10 * last, 10)
        return Chain(
            score, [forward(*coordinates) for coordinates in zip(targets, queries, strict=False)]
        )

    chains = [
        chain(1000, 0, 10, 0),
        chain(500, 0, 10, 100),  # secondary to the first, score too low: dropped
        chain(400, 12, 20, 0),
        chain(390, 22, 30, 0),
        chain(320, 12, 20, 50),  # 80 % of its parent, 82 % of the mapping in its row
    ]
    found = mapped(chains, seeds, MappingOptions(score_ratio=0.81))
    assert found.scores.tolist() == [1000, 400, 390, 320]
    assert found.parents.tolist() == [0, 1, 2, 1]


def test_all_chains_have_no_parents() -> None:
    positions = range(10, 100, 10)
    seeds = [seed_at(position, 5) for position in positions]
    chain = Chain(50, [forward(position, position) for position in positions])
    chains = [chain, chain._replace(score=60)]
    found = mapped(chains, seeds, MappingOptions(all_chains=True))
    assert found.scores.tolist() == [60, 50]
    assert found.parents.tolist() == [-1, -1]


@given(st.lists(st.binary(min_size=0, max_size=20), max_size=5), st.booleans())
def test_name_hashes(names: list[bytes], uses_names: bool) -> None:
    text = np.frombuffer(b"".join(names), dtype=np.uint8)
    sizes = np.array([len(name) for name in names], dtype=np.int32)
    starts = (np.cumsum(sizes) - sizes).astype(np.int32)
    lengths = np.arange(len(names), dtype=np.int32) * 1000
    found = name_hashes(text, starts, sizes, lengths, uses_names)
    assert found.dtype == np.uint32
    assert found.tolist() == [
        hash_of_read(name, 1000 * i, uses_names=uses_names) for i, name in enumerate(names)
    ]
