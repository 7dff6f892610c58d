"""Minimizers grouped by hash, and their table, against plain sorts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.longread.batches import Minimizers
from hapgpu.longread.index import hash_table
from hapgpu.longread.index.hash_table import (
    GroupedMinimizers,
    MinimizerBatch,
    group_by_hash,
    table_of,
)
from hapgpu.longread.index.minimizer_index import MIX
from hapgpu.runtime.pool import Pool
from tests.example_counts import many

INVERSE: Final = pow(MIX, -1, 2**64)
HASH_BITS: Final = 56
NEAR: Final = np.uint64(INVERSE) * ((123 << 45) + np.arange(200_000, dtype=np.uint64))
NEAR_HASHES: Final = NEAR[NEAR < 2**HASH_BITS]
"""Hashes of k-mers whose products with `MIX` differ in their last bits only."""


def batch_of(first: int, hashes: NDArray[np.uint64], lengths: Sequence[int]) -> MinimizerBatch:
    """Make a batch of minimizers with spans and ascending positions."""
    keys = hashes << np.uint64(8) | np.uint64(15)
    positions = np.arange(7, 7 + hashes.size, dtype=np.uint32)
    return MinimizerBatch(first, Minimizers(keys, positions, offsets_of(lengths)))


def expected_groups(
    batches: Sequence[MinimizerBatch],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return mixed hashes and occurrences by a plain sort."""
    rows = []
    for batch in batches:
        columns = batch.minimizers
        for row, (start, end) in enumerate(pairwise(columns.offsets.tolist())):
            hashes, positions = (columns.keys[start:end] >> np.uint64(8)), columns.positions
            where = np.uint64(batch.first + row) << np.uint64(32) | positions[start:end]
            rows.append(np.stack([hashes * np.uint64(MIX), where.astype(np.uint64)]))
    mixed, occurrences = np.concatenate(rows, axis=1)
    order = np.argsort(mixed, kind="stable")
    return mixed[order], occurrences[order]


def grouped_of(mixed: NDArray[np.uint64], bits: int) -> GroupedMinimizers:
    """Make the parts of ascending keys; their occurrences are of no use."""
    firsts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    bounds = np.append(np.searchsorted(mixed, firsts), mixed.size)
    distinct = [np.unique(mixed[start:end]).size for start, end in pairwise(bounds.tolist())]
    return GroupedMinimizers(mixed.copy(), np.zeros_like(mixed), bounds, np.array(distinct))


@settings(max_examples=many(200))
@given(
    batches=st.lists(
        st.tuples(
            st.lists(st.sampled_from([0, 1, 2, 30, 700, 3000]), min_size=1, max_size=4),
            st.sampled_from(["few", "any", "near"]),
        ),
        min_size=1,
        max_size=4,
    ),
    part_bits=st.integers(1, 8),
    max_bucket_bits=st.integers(0, 12),
    bucket_size_bits=st.integers(0, 11),
    piece=st.sampled_from([1, 50, 600, 1 << 19]),
    threads=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_groups_of_any_minimizers(
    batches: list[tuple[list[int], str]],
    part_bits: int,
    max_bucket_bits: int,
    bucket_size_bits: int,
    piece: int,
    threads: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    made, first = [], 0
    for lengths, kind in batches:
        size = sum(lengths)
        hashes = {
            "few": rng.integers(0, 20, size, dtype=np.uint64),
            "any": rng.integers(0, 1 << HASH_BITS, size, dtype=np.uint64),
            "near": rng.choice(NEAR_HASHES, size),
        }
        made.append(batch_of(first, hashes[kind], lengths))
        first += len(lengths)
    mixed, occurrences = expected_groups(made)
    with pytest.MonkeyPatch.context() as patch, Pool(threads) as pool:
        patch.setattr(hash_table, "_MIN_PART_BITS", part_bits)
        patch.setattr(hash_table, "_MAX_PART_BITS", part_bits)
        patch.setattr(hash_table, "_MAX_BUCKET_BITS", max_bucket_bits)
        patch.setattr(hash_table, "_BUCKET_SIZE_BITS", bucket_size_bits)
        patch.setattr(hash_table, "_PIECE", piece)
        grouped = group_by_hash(made, pool)
    expected = grouped_of(mixed, part_bits)
    np.testing.assert_array_equal(grouped.mixed, mixed)
    np.testing.assert_array_equal(grouped.occurrences, occurrences)
    np.testing.assert_array_equal(grouped.bounds, expected.bounds)
    np.testing.assert_array_equal(grouped.distinct, expected.distinct)


def test_keys_that_differ_in_their_last_bits_only() -> None:
    hashes = np.repeat(np.random.default_rng(2).permutation(NEAR_HASHES), 2)
    assert hashes.size > 100
    batch = batch_of(0, hashes, [hashes.size])
    mixed, occurrences = expected_groups([batch])
    with Pool(1) as pool:
        grouped = group_by_hash([batch], pool)
    np.testing.assert_array_equal(grouped.mixed, mixed)
    np.testing.assert_array_equal(grouped.occurrences, occurrences)


def test_the_directory_is_filled_up_to_its_end() -> None:
    """The keys begin with 1 and 3, in two bits."""
    mixed = np.array([1 << 62, 3 << 62], dtype=np.uint64)
    for threads in (1, 2, 3, 9):
        with Pool(threads) as pool:
            entries, directory, bits = table_of(grouped_of(mixed, 3), pool)
        assert bits == 2
        assert directory.tolist() == [0, 0, 1, 1, 2]
        assert entries.tolist() == [1 << 62, 0, 3 << 62, 1, 2**64 - 1, 2]


@pytest.mark.parametrize("size", [0, 1, 7, 500, 40_000])
@pytest.mark.parametrize("part_bits", [1, 2, 6, 8])
def test_the_table_of_any_parts(size: int, part_bits: int) -> None:
    rng = np.random.default_rng(size)
    mixed = np.sort(rng.integers(0, max(size // 2, 40), size, dtype=np.uint64) * np.uint64(MIX))
    keys, firsts = np.unique(mixed, return_index=True)
    for threads in (1, 2, 5, 16):
        with Pool(threads) as pool:
            entries, directory, bits = table_of(grouped_of(mixed, part_bits), pool)
        assert bits == max(keys.size.bit_length(), 1)
        assert entries[::2].tolist() == [*keys.tolist(), 2**64 - 1]
        assert entries[1::2].tolist() == [*firsts.tolist(), size]
        buckets = keys >> np.uint64(64 - bits)
        expected = np.searchsorted(buckets, np.arange((1 << bits) + 1, dtype=np.uint64))
        np.testing.assert_array_equal(directory, expected)
