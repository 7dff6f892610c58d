"""Reads gathered from several batches, against taking and concatenating them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.read_columns import ReadColumns, gathered_reads


def drawn_reads(seed: int, count: int) -> ReadBatch:
    """Return reads with random values in all columns."""
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 9, (4, count), dtype=np.int32)
    columns = ReadColumns.empty(*lengths)
    for name, column in columns._asdict().items():
        if not name.endswith("offsets"):
            column[:] = random.integers(0, 100, column.size)
    return columns.to_batch()


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(1, 6), st.lists(st.integers(0, 5), max_size=8)), min_size=1),
)
def test_gathered_reads(seed: int, parts: list[tuple[int, list[int]]]) -> None:
    batches = [drawn_reads(seed + k, count) for k, (count, _) in enumerate(parts)]
    rows = [np.array([row % count for row in chosen], dtype=np.int64) for count, chosen in parts]
    found = gathered_reads(list(zip(batches, rows, strict=True)))
    expected = ReadBatch.concatenate(
        [batch.take(chosen) for batch, chosen in zip(batches, rows, strict=True)]
    )
    for field in fields(ReadBatch):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        pairs = [(ours, theirs)]
        if isinstance(ours, Ragged):
            pairs = [(ours.data, theirs.data), (ours.offsets, theirs.offsets)]
        for one, other in pairs:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("row", [-1, 3])
def test_rows_of_no_read_are_errors(row: int) -> None:
    with pytest.raises(IndexError, match="row of no read"):
        gathered_reads([(drawn_reads(1, 3), np.array([0, row]))])
