"""Made-up alignments as reads of one span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.batches import RegionReads
from tests.calling.reads.made_segments import made_row
from tests.io.sam_oracle import batch_of


@dataclass(frozen=True)
class Alignment:
    """Read of M, I and D."""

    start: int
    operations: Sequence[tuple[str, int]]
    bases: str
    qualities: Sequence[int]

    def columns(self) -> list[tuple[str, int, bool]]:
        """Return base, quality, and whether an indel follows, at each position; `-` if deleted."""
        found: list[tuple[str, int, bool]] = []
        base = 0
        for k, (operation, length) in enumerate(self.operations):
            follows = k + 1 < len(self.operations)
            for i in range(length if operation != "I" else 0):
                is_before = follows and i + 1 == length
                if operation == "D":
                    found.append(("-", 0, is_before))
                else:
                    found.append((self.bases[base + i], self.qualities[base + i], is_before))
            base += length if operation != "D" else 0
        return found


def region_reads(reads: Sequence[Alignment]) -> tuple[RegionReads, ReadBatch]:
    """Return the reads of one span, and their records."""
    records = batch_of(
        [
            made_row(
                f"r{number}",
                read.start,
                "".join(f"{length}{operation}" for operation, length in read.operations),
                bases=read.bases,
                qualities=tuple(read.qualities),
            )
            for number, read in enumerate(reads)
        ]
    )
    starts = np.array([read.start for read in reads], dtype=np.int64)
    spans = np.array([len(read.columns()) for read in reads], dtype=np.int64)
    columns = RegionReads(
        np.array([0, len(reads)]),
        np.arange(len(reads)),
        np.zeros(len(reads), dtype=np.int32),
        np.zeros(len(reads), dtype=np.int64),
        records.bases.lengths,
        starts,
        starts + spans,
        records.cigars,
        records.qualities,
    )
    return columns, records
