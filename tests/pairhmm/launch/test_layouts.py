"""Splitting of pair-HMM batches, and layouts of haplotypes on lanes, without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch
from hapgpu.pairhmm.cuda.layouts import (
    COLUMNS,
    LANES,
    LONGEST_HAPLOTYPE,
    WARP_LANES,
    LaneLayout,
    LayoutPlan,
    masks_fit,
    plan_layouts,
)
from hapgpu.pairhmm.cuda.pieces import split_in_two, split_into_pieces
from hapgpu.runtime.devices import CudaDevice
from tests.pairhmm.hmm_oracle import Group, batches, groups_of, make_batch, uniform_read

NO_HAPLOTYPES: Group = ([uniform_read(b"ACGT", 30, 45, 45, 10)], [])
NO_READS: Group = ([], [b"ACG", b"T"])
NEITHER: Group = ([], [])
ODD_REGIONS = [NO_HAPLOTYPES, NO_READS, NEITHER]

FEW_WARPS = 1
MANY_WARPS = 8 * 132


def integers(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def plan(lengths: Sequence[int], pairs: int | Sequence[int], min_warps: int) -> LayoutPlan:
    each = [pairs] * len(lengths) if isinstance(pairs, int) else pairs
    return plan_layouts(integers(lengths), integers(each), min_warps)


haplotype_lengths = st.lists(
    st.one_of(
        st.integers(1, 300),
        st.integers(1, LONGEST_HAPLOTYPE + 100),
        st.sampled_from([8, 9, LONGEST_HAPLOTYPE, LONGEST_HAPLOTYPE + 1, 10**6]),
    ),
    min_size=1,
    max_size=40,
)


@given(haplotype_lengths, st.data(), st.sampled_from([FEW_WARPS, 100, MANY_WARPS]))
def test_every_haplotype_has_a_layout_that_holds_it(
    lengths: list[int], data: st.DataObject, min_warps: int
) -> None:
    counts = st.lists(st.integers(0, 100_000), min_size=len(lengths), max_size=len(lengths))
    chosen = plan(lengths, data.draw(counts), min_warps)
    assert chosen.numbers.dtype == np.int32
    assert chosen.numbers.shape == (len(lengths),)
    assert len(set(chosen.layouts)) == len(chosen.layouts)
    for layout in chosen.layouts:
        assert layout.columns in COLUMNS
        assert layout.lanes in LANES
    for length, number in zip(lengths, chosen.numbers.tolist(), strict=True):
        if length > LONGEST_HAPLOTYPE:
            assert number == len(chosen.layouts)
        else:
            assert length <= chosen.layouts[number].width


def test_only_too_long_haplotypes() -> None:
    chosen = plan([LONGEST_HAPLOTYPE + 1, 10**6], 1000, MANY_WARPS)
    assert chosen.layouts == ()
    assert chosen.numbers.tolist() == [0, 0]


@pytest.mark.parametrize("length", [1, LONGEST_HAPLOTYPE])
def test_a_single_haplotype(length: int) -> None:
    for pairs in (1, 10**9):
        chosen = plan([length], pairs, MANY_WARPS)
        assert len(chosen.layouts) == 1
        assert chosen.numbers.tolist() == [0]


@given(haplotype_lengths, st.integers(1, 50))
def test_small_inputs_share_one_layout(lengths: list[int], pairs: int) -> None:
    chosen = plan(lengths, pairs, MANY_WARPS)
    fitting = [length for length in lengths if length <= LONGEST_HAPLOTYPE]
    assert len(chosen.layouts) == bool(fitting)
    if fitting:
        assert chosen.layouts[0].width >= max(fitting)


@given(st.lists(st.integers(1, LONGEST_HAPLOTYPE), min_size=1, max_size=20), st.integers(1, 9))
def test_fewer_pairs_get_more_lanes(lengths: list[int], pairs: int) -> None:
    lanes = [plan(lengths, pairs, warps).layouts[0].lanes for warps in (400, 2000, 10_000)]
    assert lanes == sorted(lanes)


@settings(max_examples=30)
@given(st.lists(st.integers(1, LONGEST_HAPLOTYPE), min_size=500, max_size=2000))
def test_layouts_are_few(lengths: list[int]) -> None:
    """Each layout except the widest has at least the minimum fraction of the work."""
    chosen = plan(lengths, 10_000, MANY_WARPS)
    work = np.bincount(chosen.numbers, integers(lengths), len(chosen.layouts))
    assert chosen.layouts == tuple(sorted(chosen.layouts, key=lambda layout: layout.width))
    assert (work[:-1] >= 0.01 * work.sum()).all()


def test_rare_haplotypes_join_a_wider_layout() -> None:
    chosen = plan([64] * 1000 + [10] + [250] * 1000, 10_000, MANY_WARPS)
    assert len(chosen.layouts) == 2
    assert chosen.numbers[1000] == chosen.numbers[0]


@given(st.integers(1, LONGEST_HAPLOTYPE))
def test_no_other_layout_is_cheaper(length: int) -> None:
    chosen = plan([length], 10**9, MANY_WARPS)
    fitting = [
        layout
        for columns in COLUMNS
        for lanes in LANES
        if (layout := LaneLayout(columns, lanes)).width >= length
    ]
    assert chosen.layouts[0].cost == min(layout.cost for layout in fitting)


@given(st.sampled_from(COLUMNS[:-1]), st.sampled_from(LANES[:-1]))
def test_more_columns_or_lanes_cost_more(columns: int, lanes: int) -> None:
    layout = LaneLayout(columns, lanes)
    wider = LaneLayout(COLUMNS[COLUMNS.index(columns) + 1], lanes)
    more_lanes = LaneLayout(columns, 2 * lanes)
    assert layout.cost < min(wider.cost, more_lanes.cost)
    # Equal width with more lanes: more steps at the start and the end, and a higher cost per row.
    if 2 * columns in COLUMNS:
        assert LaneLayout(2 * columns, lanes).cost < more_lanes.cost


@pytest.mark.parametrize("lanes", LANES)
def test_pairs_fill_a_warp(lanes: int) -> None:
    assert LaneLayout(4, lanes).pairs_per_warp * lanes == WARP_LANES


@given(st.sampled_from(COLUMNS), st.sampled_from(LANES))
def test_masks_have_a_bit_for_each_letter_and_column(columns: int, lanes: int) -> None:
    layout = LaneLayout(columns, lanes)
    assert 32 * layout.mask_words >= 4 * layout.width


def never() -> int:
    raise AssertionError("small masks fit without asking for the memory, which takes long")


@pytest.mark.parametrize(
    ("words", "memory", "fits"),
    [
        (0, never, True),
        (1 << 22, never, True),
        ((1 << 22) + 1, lambda: 1 << 26, False),
        ((1 << 22) + 1, lambda: (1 << 26) + 16, True),
        (2**31 - 1, lambda: 2**35, True),
        (2**31, lambda: 2**40, False),
        (2**32 + 1, lambda: 2**40, False),
    ],
)
def test_masks_have_offsets_of_32_bits(words: int, memory: Callable[[], int], fits: bool) -> None:
    assert masks_fit(words, memory) == fits


def test_a_piece_with_too_many_masks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.pairhmm.cuda import arrays, piece_run  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(piece_run, "multiprocessors", lambda _device: 1)
    monkeypatch.setattr(LaneLayout, "mask_words", 2**30)
    batch = make_batch([([uniform_read(b"ACGT", 30, 40, 40, 10)], [b"ACGTA", b"ACGTC"])])
    streams = (SimpleNamespace(), [])
    run = piece_run.PieceRun(batch, 2, CudaDevice(0), streams, arrays.ArrayStore())
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
        run.launch(np.empty(2), lambda: 2**40)


# Pieces.


def assert_same_reads(part: HmmBatch, whole: HmmBatch, first_read: int) -> None:
    reads = whole.reads.slice(first_read, first_read + len(part.reads))
    assert np.array_equal(part.reads.bases.data, reads.bases.data)
    assert np.array_equal(part.reads.bases.offsets, reads.bases.offsets)
    for column, expected in zip(part.reads.qualities, reads.qualities, strict=True):
        assert np.array_equal(column, expected)


def pairs_in(parts: Sequence[HmmBatch]) -> list[tuple[object, bytes]]:
    """Return read and haplotype of each likelihood, in order."""
    return [
        (read, haplotype)
        for part in parts
        for reads, haplotypes in groups_of(part)
        for read in reads
        for haplotype in haplotypes
    ]


def assert_are_the_batch(parts: Sequence[HmmBatch], batch: HmmBatch) -> None:
    first_read = 0
    for part in parts:
        assert_same_reads(part, batch, first_read)
        first_read += len(part.reads)
    assert first_read == len(batch.reads)
    assert sum(part.pairs for part in parts) == batch.pairs
    assert sum(part.cells for part in parts) == batch.cells
    assert pairs_in(parts) == pairs_in([batch])


any_batch = st.builds(
    lambda batch, odd, at: make_batch(
        [*groups_of(batch)[:at], *odd, *groups_of(batch)[at:]],
    ),
    batches(30),
    st.lists(st.sampled_from(ODD_REGIONS), max_size=4),
    st.integers(0, 4),
)


@given(any_batch, st.integers(1, 5000), st.integers(1, 200))
@example(make_batch(ODD_REGIONS), 1, 1)
def test_pieces_are_the_batch(batch: HmmBatch, max_cells: int, max_bases: int) -> None:
    pieces = list(split_into_pieces(batch, max_cells, max_bases))
    assert_are_the_batch(pieces, batch)
    for piece in pieces:
        if len(piece.reads) > 1:
            assert piece.cells <= max_cells
            assert piece.reads.bases.data.size <= max_bases


@given(any_batch)
def test_groups_within_bounds_are_not_split(batch: HmmBatch) -> None:
    groups = [batch.slice(k, k + 1) for k in range(len(batch))]
    max_cells = max(1, *(group.cells for group in groups))
    max_bases = max(1, *(group.reads.bases.data.size for group in groups))
    pieces = list(split_into_pieces(batch, max_cells, max_bases))
    assert sum(len(piece) for piece in pieces) == len(batch)


@given(any_batch)
def test_a_batch_split_in_two(batch: HmmBatch) -> None:
    parts = split_in_two(batch)
    assert_are_the_batch(parts, batch)
    is_cut = len(batch) > 1 or len(batch.reads) > 1
    assert len(parts) == 1 + is_cut
    for part in parts:
        size = len(part) + len(part.reads)
        assert not is_cut or size < len(batch) + len(batch.reads)


# Batches.


def batch_of_unequal_groups() -> HmmBatch:
    reads = [uniform_read(b"ACG", 30, 40, 41, 10), uniform_read(b"TTACG", 20, 42, 43, 9)]
    return make_batch(
        [NO_READS, (reads, [b"ACGT", b"AC", b"T"]), *ODD_REGIONS, (reads[:1], [b"A"])]
    )


def test_sizes_of_a_batch() -> None:
    batch = batch_of_unequal_groups()
    assert len(batch) == 6
    assert batch.pair_offsets.dtype == np.int64
    assert batch.pair_offsets.tolist() == [0, 0, 6, 6, 6, 6, 7]
    assert batch.pairs == 7
    assert batch.cells == (3 + 5) * (4 + 2 + 1) + 3


@given(st.data())
def test_slices_of_a_batch(data: st.DataObject) -> None:
    batch = batch_of_unequal_groups()
    start = data.draw(st.integers(0, len(batch)))
    end = data.draw(st.integers(start, len(batch)))
    part = batch.slice(start, end)
    assert groups_of(part) == groups_of(batch)[start:end]
    assert part.pairs == batch.pair_offsets[end] - batch.pair_offsets[start]
    assert not part.reads.bases.data.size or np.shares_memory(
        part.reads.bases.data, batch.reads.bases.data
    )


@given(st.lists(any_batch, min_size=1, max_size=4))
def test_concatenated_batches(parts: list[HmmBatch]) -> None:
    whole = HmmBatch.concatenate(parts)
    assert groups_of(whole) == [group for part in parts for group in groups_of(part)]
    assert whole.pairs == sum(part.pairs for part in parts)
    assert whole.cells == sum(part.cells for part in parts)
