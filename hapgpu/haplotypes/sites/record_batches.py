"""The records of a VCF, some thousand at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hapgpu.io.vcf.records import VcfRecord

_NONE_TO_COME: Final = 2**62


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """How much is taken from the file at once; what is made of it does not depend on it.

    Attributes
    ----------
    records
        At most so many.
    bases
        Starts of records at most so far from each other.
    """

    records: int = 4096
    bases: int = 1_000_000


USUAL_LIMITS: Final = RecordLimits()


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records of one contig that follow each other.

    Attributes
    ----------
    records
        At least one.
    next_start
        Where the next record of the contig starts; beyond any contig if there is none.
    """

    records: list[VcfRecord]
    next_start: int


def record_batches_of(records: Iterable[VcfRecord], limits: RecordLimits) -> Iterator[RecordBatch]:
    """Cut the records of a file, contig by contig, into record_batches."""
    record_batch: list[VcfRecord] = []
    for record in records:
        if record_batch:
            first = record_batch[0]
            if record.contig != first.contig:
                yield RecordBatch(record_batch, _NONE_TO_COME)
                record_batch = []
            elif len(record_batch) >= limits.records or record.start - first.start > limits.bases:
                yield RecordBatch(record_batch, record.start)
                record_batch = []
        record_batch.append(record)
    if record_batch:
        yield RecordBatch(record_batch, _NONE_TO_COME)
