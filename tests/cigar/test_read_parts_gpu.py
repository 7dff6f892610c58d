"""Records clipped to intervals on the GPU, against columns of reads on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.cigar.read_parts import clipped_parts
from hapgpu.io.bam.decode import decode_block, encode_block
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime.pool import Pool
from tests.cigar.test_read_parts import CIGARS, INTERVALS, Interval
from tests.io.sam_oracle import Row, batch_of, rows

pytestmark = pytest.mark.gpu

HEADER = SamHeader.from_references(("a", "b"), (2**30, 2**30))
LETTERS = "MIDNSHP=X"


def short_row(position: int, cigar: str) -> Row:
    """Make a read whose bases fit its CIGAR."""
    parts = []
    length = ""
    for letter in cigar:
        if letter.isdigit():
            length += letter
        else:
            parts.append((LETTERS.index(letter), int(length)))
            length = ""
    bases = sum(size for operation, size in parts if operation in {0, 1, 4, 7, 8})
    return Row("r", 0, 0, position, 60, tuple(parts), -1, -1, 0, "A" * bases, None, ())


SHORT_ROWS = st.builds(short_row, st.integers(0, 30), CIGARS)


def check(drawn: list[Row], intervals: list[Interval]) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.cigar.cuda import read_parts  # noqa: PLC0415  (needs CuPy)
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (needs CuPy)

    with Pool(1) as pool:
        block = encode_block(batch_of(drawn), HEADER, pool)
        reads = decode_block(block, pool)
    row = np.tile(np.arange(len(drawn)), len(intervals))
    starts, ends = np.repeat(np.array(intervals, dtype=np.int64), len(drawn), axis=0).T.copy()
    expected = clipped_parts(reads, row, starts, ends)
    found = read_parts.clipped_parts(
        DeviceRecords.upload(block), *(cupy.asarray(column) for column in (row, starts, ends))
    )
    assert found[0].get().tolist() == expected.starts.tolist()
    assert found[1].get().tolist() == expected.ends.tolist()


@given(st.lists(SHORT_ROWS, min_size=1, max_size=8), INTERVALS)
def test_short_reads(drawn: list[Row], intervals: list[Interval]) -> None:
    check(drawn, intervals)


@given(st.lists(rows(), max_size=8))
def test_any_records(drawn: list[Row]) -> None:
    intervals = [(max(row.position, 0) + 5, max(row.position, 0) + 30) for row in drawn]
    check(drawn, [*intervals, (0, 1), (100, 2**29)])
