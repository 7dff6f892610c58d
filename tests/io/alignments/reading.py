"""Rows of small reads, and how tests read alignment files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.bam.header import SamHeader
from tests.io.sam_oracle import Row, batch_rows

HEADER = SamHeader.from_references(["chr1", "chr2"], [2**29, 2**30])
THREADS = pytest.mark.parametrize("threads", [1, 2])

Feed = Callable[..., None]
"""Writes data to standard input, in pieces."""


def read(path: Path | str, **options: object) -> list[Row]:
    with open_reads(str(path), **options) as source:
        return batch_rows(source.batches())


def numbered_rows(count: int) -> list[Row]:
    letters = "ACGT" * 10
    return [
        Row(
            name=f"read{k}",
            flag=0,
            reference=0,
            position=10 * k,
            mapping_quality=60,
            cigar=((0, 30),),
            mate_reference=-1,
            mate_position=-1,
            template_length=0,
            bases=letters[k % 10 : k % 10 + 30],
            qualities=tuple((k + j) % 41 for j in range(30)),
            tags=(("XI", "i", k), ("RG", "Z", "sample")),
        )
        for k in range(count)
    ]
