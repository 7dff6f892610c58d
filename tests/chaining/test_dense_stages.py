"""Stages on the CPU against the reference where many anchors and chains are equal or overlap."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.chaining.backtracking import trace_chains
from hapgpu.chaining.batches import REVERSE, TANDEM, Anchors, ChainScores
from hapgpu.chaining.cpu import chain_scores
from hapgpu.chaining.long_join import join_chains
from hapgpu.chaining.options import ChainOptions, RegionOptions, SketchOptions
from hapgpu.chaining.reference import chains as plain_chains
from hapgpu.chaining.reference import scores as plain_scores
from hapgpu.chaining.reference.anchors import Anchor
from hapgpu.chaining.reference.chains import Chain
from hapgpu.chaining.reference.join import joined
from hapgpu.chaining.reference.parents import select, set_parents
from hapgpu.chaining.reference.regions import regions_of
from hapgpu.chaining.regions import make_regions
from hapgpu.chaining.rules import chain_rules, join_rules
from tests.chaining import chain_oracle
from tests.chaining.made_chains import SEQUENCES, made_chains
from tests.chaining.test_stages import chain_rows, plain_chain_rows, rows_of


class StandInIndex(NamedTuple):
    """What regions take from an index."""

    lengths: NDArray[np.int64]
    sketch: SketchOptions


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


@settings(deadline=None, max_examples=150)  # the first call compiles
@given(
    chain_oracle.made_reads(),
    st.sampled_from([40, 300, 5000]),
    st.sampled_from([0, 10, 30]),
    st.sampled_from([0, 2, 25]),
    st.sampled_from([1, 40]),
)
def test_chains_of_dense_anchors(
    reads: list[list[chain_oracle.Anchor]], gap: int, band: int, skip: int, least: int
) -> None:
    k, length = 15, 2000
    options = ChainOptions(gap, band, max(gap, 200), min_count=1, min_score=least, max_skip=skip)
    rules, long_rules = chain_rules(options, k), join_rules(options, k)
    assert long_rules is not None
    long_rules = replace(long_rules, inner_distance=40, most_candidates=30)
    batch = chain_oracle.to_batch(reads)
    scores = chain_scores(batch, rules)
    chains = trace_chains(batch, scores, rules)
    lengths = np.full(len(reads), length, dtype=np.int32)
    plain = [[anchor_of(anchor.x, anchor.y) for anchor in read] for read in reads]
    plain_scored = [plain_scores.chain_scores(read, rules, k) for read in plain]
    assert rows_of(batch.offsets, scores.scores, scores.predecessors) == [
        list(zip(each.scores, each.predecessors, strict=True)) for each in plain_scored
    ]
    plain_traced = [
        plain_chains.chains_of(read, each, rules)
        for read, each in zip(plain, plain_scored, strict=True)
    ]
    assert chain_rows(chains) == plain_chain_rows(plain_traced)
    assert chain_rows(join_chains(chains, lengths, long_rules)) == plain_chain_rows(
        [joined(each, length, long_rules, k) for each in plain_traced]
    )


@settings(deadline=None, max_examples=150)  # the first call compiles
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=80),
    st.integers(0, 6),
    st.integers(1, 3),
    st.sampled_from([1, 15]),
)
def test_chains_of_any_scores(
    rows: list[tuple[int, int]], max_drop: int, min_count: int, min_score: int
) -> None:
    """Scores that fall and rise along a chain, with predecessors up to five anchors back."""
    anchors = [Anchor(is_reverse=False, sequence=0, target=i, query=i, span=9) for i in range(80)]
    anchors = anchors[: len(rows)]
    scores = [score for score, _ in rows]
    before = [i - back if 0 < back <= i else -1 for i, (_, back) in enumerate(rows)]
    rules = chain_rules(
        ChainOptions(bandwidth=max_drop, min_count=min_count, min_score=min_score), 15
    )
    found = trace_chains(
        Anchors(
            np.array([anchor.x for anchor in anchors], dtype=np.uint64),
            np.array([anchor.y for anchor in anchors], dtype=np.uint64),
            np.array([0, len(rows)]),
        ),
        ChainScores(np.array(scores, dtype=np.int32), np.array(before, dtype=np.int32)),
        rules,
    )
    expected = plain_chains.chains_of(anchors, plain_scores.Scores(scores, before), rules)
    assert chain_rows(found) == plain_chain_rows([expected])


@pytest.mark.parametrize("width", [300, 3000])
@pytest.mark.parametrize("seed", range(12))
def test_regions_of_crossing_chains(seed: int, width: int) -> None:
    made = made_chains(seed, 12, width)
    index = StandInIndex(np.full(SEQUENCES, 2**30), SketchOptions())
    hashes = np.arange(made.lengths.size, dtype=np.uint32)
    chain_options = ChainOptions(max_gap=300)  # for chains on the other strand
    options = RegionOptions(score_ratio=0.5 + 0.04 * seed, most_secondary=1 + 2 * seed)
    found = make_regions(
        made.chains, made.seeds, made.lengths, hashes, index, chain_options, options
    )
    expected = []
    for number, read in enumerate(chain_rows(made.chains)):
        chains = [Chain(score, [anchor_of(*anchor) for anchor in own]) for score, own in read]
        regions = regions_of(chains, int(made.lengths[number]), number)
        set_parents(regions, options.mask_level)
        expected.append(
            [
                (
                    *(each.score, each.count, *each.query, *each.target, each.parent),
                    *(each.second_score, each.rivals, int(each.is_retained)),
                )
                for each in select(regions, index.sketch.k, chain_options, options)
            ]
        )
    assert expected == rows_of(
        found.offsets,
        *(found.scores, found.counts, found.query_starts, found.query_ends),
        *(found.target_starts, found.target_ends, found.parents),
        *(found.second_scores, found.rivals, found.is_retained),
    )
