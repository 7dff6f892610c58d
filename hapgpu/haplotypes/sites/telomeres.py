"""VCF records at telomeres: before the first base of a contig, or after its last base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hapgpu.io.vcf.records import VcfRecord

_SYMBOL = "<TELOMERE>"


def is_telomere(record: VcfRecord, length: int | None) -> bool:
    """Return whether a record is at POS 0 or, on a contig of N bases, at N + 1 (VCF 4.3, 1.6.1).

    A record at N + 1 whose REF is a base is not: it belongs to another reference.
    """
    return record.start < 0 or (record.start == length and not record.reference.strip("N"))


def with_empty_telomeres(records: Sequence[VcfRecord], length: int) -> list[VcfRecord]:
    """Make records at telomeres change no base of the contig.

    Their REF becomes empty and their ALTs symbolic; the columns for output stay.

    Parameters
    ----------
    records
        Records of one contig, sorted by position.
    length
        Length of the contig.
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
