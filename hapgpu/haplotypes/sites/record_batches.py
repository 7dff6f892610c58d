"""The records of a VCF, some thousand at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hapgpu.io.vcf.records import VcfRecord

_NONE_TO_COME: Final = 2**62


@dataclass(frozen=True, slots=True)
class SlabLimits:
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


USUAL_LIMITS: Final = SlabLimits()


@dataclass(frozen=True, slots=True)
class RecordSlab:
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


def slabs_of(records: Iterable[VcfRecord], limits: SlabLimits) -> Iterator[RecordSlab]:
    """Cut the records of a file, contig by contig, into slabs."""
    slab: list[VcfRecord] = []
    for record in records:
        if slab:
            first = slab[0]
            if record.contig != first.contig:
                yield RecordSlab(slab, _NONE_TO_COME)
                slab = []
            elif len(slab) >= limits.records or record.start - first.start > limits.bases:
                yield RecordSlab(slab, record.start)
                slab = []
        slab.append(record)
    if slab:
        yield RecordSlab(slab, _NONE_TO_COME)
