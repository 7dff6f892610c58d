"""Batches of VCF records of a size that is good to compute with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from hapgpu.io.vcf.batches import END, VcfBatch

_NO_NEXT_RECORD: Final = 2**62


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """Limits of a batch of records; results do not depend on them.

    Attributes
    ----------
    records
        Number of records, at most.
    bases
        Distance between the starts of the first and the last record, at most.
    text
        Bytes of their lines, at most, except for a single record.
    """

    records: int = 8192
    bases: int = 8_000_000
    text: int = 1 << 23


DEFAULT_LIMITS: Final = RecordLimits()


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Consecutive records of one contig.

    Attributes
    ----------
    records
        At least one.
    next_start
        Start of the next record of the contig; after the end of any contig if there is none.
    """

    records: VcfBatch
    next_start: int


def record_batches_of(batches: Iterable[VcfBatch], limits: RecordLimits) -> Iterator[RecordBatch]:
    """Yield the records of a file, which come in batches of any size, in batches of these limits.

    A batch is yielded when the next record is known.
    """
    parts: list[VcfBatch] = []
    for batch in batches:
        if parts and batch.contig != parts[0].contig:
            yield RecordBatch(VcfBatch.concatenate(parts), _NO_NEXT_RECORD)
            parts = []
        rest = batch
        while len(rest):
            count = _fitting(parts, rest, limits)
            if count:
                parts.append(rest[:count])
                rest = rest[count:]
            else:
                yield RecordBatch(VcfBatch.concatenate(parts), int(rest.starts[0]))
                parts = []
    if parts:
        yield RecordBatch(VcfBatch.concatenate(parts), _NO_NEXT_RECORD)


def _fitting(parts: list[VcfBatch], batch: VcfBatch, limits: RecordLimits) -> int:
    """Return how many of the next records may join those of the same batch."""
    first = parts[0] if parts else batch
    before = sum(int(part.columns[-1, END] - part.columns[0, 0]) for part in parts)
    sizes = batch.columns[:, END] - batch.columns[0, 0]
    count = min(
        limits.records - sum(map(len, parts)),
        int(np.searchsorted(batch.starts, first.starts[0] + limits.bases, side="right")),
        int(np.searchsorted(sizes, limits.text - before, side="right")),
        len(batch),
    )
    return max(count, 0 if parts else 1)
