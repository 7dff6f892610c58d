"""Batches of VCF records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hapgpu.io.vcf.records import VcfRecord

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
    """

    records: int = 4096
    bases: int = 1_000_000


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

    records: list[VcfRecord]
    next_start: int


def record_batches_of(records: Iterable[VcfRecord], limits: RecordLimits) -> Iterator[RecordBatch]:
    """Yield the records of a file in batches, contig by contig."""
    batch: list[VcfRecord] = []
    for record in records:
        if batch:
            first = batch[0]
            if record.contig != first.contig:
                yield RecordBatch(batch, _NO_NEXT_RECORD)
                batch = []
            elif len(batch) >= limits.records or record.start - first.start > limits.bases:
                yield RecordBatch(batch, record.start)
                batch = []
        batch.append(record)
    if batch:
        yield RecordBatch(batch, _NO_NEXT_RECORD)
