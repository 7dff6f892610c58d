"""Layouts of pairs on the lanes of a warp, against the conditions of `cuda/realign/align.cu`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hapgpu.realign.align.cuda.layouts import (
    ROWS_PER_WORD,
    WARP_LANES,
    StripeLayout,
    choose_grid,
    choose_layout,
    scratch_layout,
)

MAX_COLUMNS = st.sampled_from([8, 20])
LENGTHS = st.integers(1, 5000)


def assert_fits(layout: StripeLayout, query_length: int, max_columns: int) -> None:
    assert layout.lanes in {1, 2, 4, 8, 16, 32}
    assert layout.pairs_per_warp * layout.lanes == WARP_LANES
    assert 1 <= layout.columns <= max_columns
    # Every slot has `columns` columns of the query or one less.
    slots = layout.lanes * layout.stripes
    assert slots * (layout.columns - 1) < query_length <= slots * layout.columns
    # A second stripe is only for queries that do not fit a whole warp.
    assert layout.stripes == 1 or query_length > WARP_LANES * max_columns
    assert layout.stripes == 1 or layout.lanes == WARP_LANES


@pytest.mark.parametrize("max_columns", [8, 20])
def test_layouts_of_all_lengths_fit(max_columns: int) -> None:
    for query_length in range(1, 5001):
        for rows in (1, 64, 512, 8192):
            layout = choose_layout(query_length, rows, max_columns)
            assert_fits(layout, query_length, max_columns)


@given(st.integers(1, 10**6), st.integers(1, 10**6), MAX_COLUMNS)
def test_layouts_fit(query_length: int, rows: int, max_columns: int) -> None:
    assert_fits(choose_layout(query_length, rows, max_columns), query_length, max_columns)


@given(LENGTHS, LENGTHS, MAX_COLUMNS)
def test_no_layout_of_one_stripe_is_cheaper(query_length: int, rows: int, max_columns: int) -> None:
    chosen = choose_layout(query_length, rows, max_columns)
    for lanes in (1, 2, 4, 8, 16, 32):
        columns = -(-query_length // lanes)
        if columns <= max_columns and lanes <= query_length:
            assert chosen.cost(rows) <= StripeLayout(columns, lanes, 1).cost(rows)


@given(
    query_length=LENGTHS,
    rows=LENGTHS,
    columns_and_words=st.sampled_from([(20, 1), (8, 2)]),
    with_trace=st.booleans(),
)
@example(query_length=1, rows=1, columns_and_words=(20, 1), with_trace=True)
@example(query_length=641, rows=1, columns_and_words=(20, 1), with_trace=True)
def test_sections_have_the_size_that_the_kernel_writes(
    *, query_length: int, rows: int, columns_and_words: tuple[int, int], with_trace: bool
) -> None:
    max_columns, score_words = columns_and_words
    layout = choose_layout(query_length, rows, max_columns)
    scratch = scratch_layout(
        layout, rows, query_length, score_words=score_words, with_trace=with_trace
    )
    # The last lane of a group finishes its last row lanes - 1 steps after the first lane.
    steps = rows + layout.lanes - 1
    assert (scratch.blocks_per_stripe - 1) * ROWS_PER_WORD < steps
    assert steps <= scratch.blocks_per_stripe * ROWS_PER_WORD

    slots = layout.stripes * layout.columns * WARP_LANES
    directions = slots * scratch.blocks_per_stripe if with_trace else 0
    borders = 2 * score_words * layout.pairs_per_warp * rows if layout.stripes > 1 else 0
    # Matches or insertions alternating with deletions, between two clips.
    assert not with_trace or scratch.run_capacity >= 2 * query_length + 2
    assert directions <= scratch.last_row_at
    assert scratch.last_row_at + slots <= scratch.borders_at
    assert scratch.borders_at + borders <= scratch.runs_at
    assert scratch.runs_at + layout.pairs_per_warp * scratch.run_capacity <= scratch.words
    # Scores of 64 bits need even addresses, also in the memory of the next warp.
    starts = np.array([scratch.last_row_at, scratch.borders_at, scratch.runs_at, scratch.words])
    assert not (starts % 2).any()


@given(st.integers(1, 10**6), st.integers(4, 4000), st.integers(0, 10**6), st.integers(1, 200))
def test_a_grid_stays_within_its_bounds(
    needed: int, resident: int, affordable: int, multiprocessors: int
) -> None:
    grid = choose_grid(needed, resident, affordable, multiprocessors)
    assert 1 <= grid.warps <= max(1, min(needed, resident, affordable))
    assert grid.threads_per_block in {32, 64, 96, 128}
    if needed <= multiprocessors:
        assert grid.warps_per_block == 1


def test_a_long_pair_takes_the_scratch_memory_of_one_warp() -> None:
    assert choose_grid(needed=1, resident=1584, affordable=2, multiprocessors=132).warps == 1


def test_a_large_batch_fills_the_device() -> None:
    grid = choose_grid(needed=50_000, resident=1584, affordable=10**6, multiprocessors=132)
    assert (grid.blocks, grid.threads_per_block) == (396, 128)
