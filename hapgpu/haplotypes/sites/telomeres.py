"""Records of VCF at telomeres: before the first base of a contig, or behind its last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hapgpu.io.vcf.records import VcfRecord

_SYMBOL = "<TELOMERE>"


def is_telomere(record: VcfRecord, length: int | None) -> bool:
    """Tell whether a record lies at POS 0 or, of a contig of N bases, at N + 1 (VCF 4.3, 1.6.1).

    A record at N + 1 that states a base there is none: it belongs to another reference.
    """
    return record.start < 0 or (record.start == length and not record.reference.strip("N"))


def with_empty_telomeres(records: Sequence[VcfRecord], length: int) -> list[VcfRecord]:
    """Put records of telomeres where the contig has no base that they could change.

    Their REF becomes empty and their ALTs symbolic; the columns that are written stay.

    Parameters
    ----------
    records
        Of one contig, in the order of their positions.
    length
        Of the contig.
    """
    first, end = 0, len(records)
    while first < end and is_telomere(records[first], length):
        first += 1
    while end > first and is_telomere(records[end - 1], length):
        end -= 1
    return [
        *(_empty(record) for record in records[:first]),
        *records[first:end],
        *(_empty(record) for record in records[end:]),
    ]


def _empty(record: VcfRecord) -> VcfRecord:
    symbols = (_SYMBOL,) * len(record.alternatives)
    return replace(record, start=max(record.start, 0), reference="", alternatives=symbols)
