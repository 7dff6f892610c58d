"""Short reads for tests of the genotyper, written as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged

ELEMENT = re.compile(r"(\d+)([MIDNSHP=X])")


@dataclass(frozen=True)
class ShortRead:
    """A read with the number of bases of its CIGAR, if it has any."""

    name: str
    position: int = 0
    cigar: str = ""
    has_bases: bool = True
    tags: bytes = b""

    @property
    def elements(self) -> list[tuple[int, str]]:
        return [(int(length), operation) for length, operation in ELEMENT.findall(self.cigar)]

    @property
    def base_count(self) -> int:
        taken = sum(length for length, operation in self.elements if operation in "MIS=X")
        return taken if self.has_bases else 0


def batch_of(reads: Sequence[ShortRead]) -> ReadBatch:
    """Return a batch of reads."""
    count = len(reads)
    cigars = [
        np.array([length << 4 | "MIDNSHP=X".index(op) for length, op in read.elements], np.uint32)
        for read in reads
    ]
    bases = Ragged.from_sequences(["A" * read.base_count for read in reads])
    nowhere = np.full(count, -1, dtype=np.int32)
    return ReadBatch(
        names=Ragged.from_sequences([read.name for read in reads]),
        flags=np.zeros(count, dtype=np.uint16),
        reference_ids=np.zeros(count, dtype=np.int32),
        positions=np.array([read.position for read in reads], dtype=np.int32),
        mapping_qualities=np.full(count, 60, dtype=np.uint8),
        cigars=Ragged.from_lengths(
            np.concatenate([np.empty(0, np.uint32), *cigars]), [cigar.size for cigar in cigars]
        ),
        mate_reference_ids=nowhere,
        mate_positions=nowhere,
        template_lengths=np.zeros(count, dtype=np.int32),
        bases=bases,
        qualities=Ragged(np.full(bases.data.size, 30, dtype=np.uint8), bases.offsets),
        tags=Ragged.from_sequences([read.tags for read in reads]),
    )
