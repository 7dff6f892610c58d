"""Reads clipped to intervals on the GPU against the CPU, also of records in a CG tag."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.cigar import read_parts as on_cpu
from tests.cigar.made_alignments import LONG_READ, block_of, made_reads
from tests.cigar.test_read_parts import CIGARS, INTERVALS, Interval
from tests.io.sam_oracle import Row, batch_of

pytestmark = pytest.mark.gpu

_LETTERS = "MIDNSHP=X"


def check(
    reads: ReadBatch,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.cigar import cuda as read_parts  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (as above)

    def equal(found: read_parts.DeviceReadParts, expected: on_cpu.ReadParts) -> None:
        for name in ("reads", "starts", "ends", "lengths"):
            column = getattr(found, name)
            assert column.dtype == np.int64, name
            np.testing.assert_array_equal(column.get(), getattr(expected, name), name)

    records = DeviceRecords.upload(block_of(reads))
    intervals = [cupy.asarray(column) for column in (rows, starts, ends)]
    parts = read_parts.clipped_parts(records, *intervals)
    expected = on_cpu.clipped_parts(reads, rows, starts, ends)
    equal(parts, expected)
    longest = np.zeros(len(reads), dtype=np.int64)
    np.maximum.at(longest, rows, expected.lengths)
    longest_of_parts = parts.longest_of_reads(len(reads))
    np.testing.assert_array_equal(longest_of_parts.get(), longest[rows])
    mask = longest[rows] == 0
    equal(
        parts.with_all_bases_of(records, cupy.asarray(mask)),
        expected.with_all_bases_of(reads, mask),
    )
    equal(parts.take(cupy.asarray(mask)), expected.take(mask))
    equal(
        read_parts.DeviceReadParts.whole(records, intervals[0]),
        on_cpu.ReadParts.whole(reads, rows),
    )


@settings(max_examples=80)
@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 33, 100]))
def test_made_reads(seed: int, count: int) -> None:
    reads = made_reads(seed, count)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, count, rng.integers(0, 300)))
    starts = np.maximum(reads.positions[rows] + rng.integers(-40, 120, rows.size), 0)
    check(reads, rows, starts, starts + rng.integers(0, 60, rows.size))


def test_long_cigar() -> None:
    reads = batch_of([LONG_READ, LONG_READ])
    starts = reads.positions[:1] + np.array([0, 100, 1000, 50_000, 1 << 28])
    check(reads, np.array([0, 1, 0, 1, 0]), starts, starts + 700)


def row_of(position: int, cigar: str) -> Row:
    """Make a read whose bases fit its CIGAR."""
    elements = re.findall(r"(\d+)([MIDNSHP=X])", cigar)
    parts = tuple((_LETTERS.index(letter), int(length)) for length, letter in elements)
    bases = sum(length for operation, length in parts if operation in {0, 1, 4, 7, 8})
    return Row("r", 0, 0, position, 60, parts, -1, -1, 0, "A" * bases, None, ())


@given(st.lists(st.builds(row_of, st.integers(0, 30), CIGARS), min_size=1, max_size=8), INTERVALS)
def test_any_cigars(drawn: list[Row], intervals: list[Interval]) -> None:
    rows = np.repeat(np.arange(len(drawn)), len(intervals))
    starts, ends = np.tile(np.array(intervals, dtype=np.int64).T, len(drawn))
    check(batch_of(drawn), rows, starts, ends)
