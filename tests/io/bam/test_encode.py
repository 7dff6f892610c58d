"""Records of any size, made in parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hapgpu.io.bam.encode import EncodedRecords
from hapgpu.io.bam.header import SamHeader
from tests.io.sam_oracle import Row, batch_of

HEADER = SamHeader.from_references(["chr1"], [2**29])


def encoded(sizes: list[int]) -> EncodedRecords:
    """Encode records with tags of these sizes."""
    fields = ("read", 0, 0, 99, 60, ((0, 4),), -1, -1, 0, "ACGT", (1, 2, 3, 4))
    rows = [Row(*fields, (("XZ", "Z", "x" * size),)) for size in sizes]
    return EncodedRecords(batch_of(rows), HEADER)


def test_parts_are_the_bytes_of_the_whole() -> None:
    for sizes in ([5, 60, 7], [5, 5_000_000, 7]):
        records = encoded(sizes)
        whole = records.made(0, records.size).tobytes()
        cuts = [*range(0, records.size, records.size // 7), records.size]
        parts = [records.made(*cut).tobytes() for cut in pairwise(cuts)]
        assert b"".join(parts) == whole


def test_a_long_record_is_made_once() -> None:
    """Its time would grow with the square of its size otherwise."""
    records = encoded([5, 5_000_000, 7])
    assert np.shares_memory(records.made(100, 3_000_000), records.made(2_000_000, 4_000_000))
