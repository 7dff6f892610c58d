"""Records of a VCF as rows of the table: a row per site and sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hapgpu.io.genome.regions import Region
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import VcfSource

MAX_SITES: Final = 10_000
"""Sites on a page, at most."""

MAX_ROWS: Final = 100_000
"""Rows on a page, at most: after that, no further site is shown."""

_MISSING: Final = "."
_SITES_PER_ADVANCE: Final = 1000


@dataclass(slots=True)
class SiteTable:
    """Sites of a VCF and their genotypes, as plain values for the page.

    Attributes
    ----------
    samples
        Names of the samples that have rows; empty for a VCF without samples.
    sites
        For each site: contig, position (from 1), ID, REF, ALT alleles, QUAL, FILTER.
    rows
        For each row: site, sample, GT, GQ, DP, AD, PL; None where the VCF has no value.
    labels
        The label of each record in its file, such as `line 12`.
    is_complete
        Whether the file has no further sites.
    """

    samples: list[str]
    sites: list[list[object]] = field(default_factory=list)
    rows: list[list[object]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    is_complete: bool = True


def read_table(
    vcf: VcfSource, with_reads: Sequence[str], advance: Callable[[int], None]
) -> SiteTable:
    """Read the first sites of a VCF.

    Parameters
    ----------
    vcf
        The open file.
    with_reads
        Samples of the reads. If the VCF has one of them, only these samples have rows.
    advance
        Called with numbers of sites, for progress.

    Raises
    ------
    InputError
        A record is malformed or not sorted.
    """
    columns = [n for n, name in enumerate(vcf.samples) if name in set(with_reads)]
    columns = columns or list(range(len(vcf.samples)))
    table = SiteTable([vcf.samples[column] for column in columns])
    for record in vcf.records():
        if len(table.sites) == MAX_SITES or len(table.rows) >= MAX_ROWS:
            table.is_complete = False
            break
        _add(table, record, columns)
        if len(table.sites) % _SITES_PER_ADVANCE == 0:
            advance(_SITES_PER_ADVANCE)
    advance(len(table.sites) % _SITES_PER_ADVANCE)
    return table


def _add(table: SiteTable, record: VcfRecord, columns: Sequence[int]) -> None:
    contig, position, identifier, _, _, quality, passed, _ = record.columns
    site = len(table.sites)
    table.labels.append(record.label)
    table.sites.append(
        [
            contig,
            int(position),
            "" if identifier == _MISSING else identifier,
            record.reference,
            list(record.alternatives),
            _number(quality),
            "" if passed == _MISSING else passed,
        ]
    )
    end = max(record.start, 0) + max(len(record.reference), 1)
    table.regions.append(Region(contig, max(record.start, 0), end))
    if not columns:
        table.rows.append([site, 0, None, None, None, None, None])
        return
    keys, *samples = record.genotypes.split("\t")
    names = keys.split(":")
    for number, column in enumerate(columns):
        values = samples[column].split(":") if column < len(samples) else []
        fields = dict(zip(names, values, strict=False))
        table.rows.append(
            [
                site,
                number,
                _text(fields.get("GT")),
                _number(fields.get("GQ", _MISSING)),
                _number(fields.get("DP", _MISSING)),
                _integers(fields.get("AD")),
                _text(fields.get("PL")),
            ]
        )


def _text(value: str | None) -> str | None:
    return None if value is None or not value.strip("./|,") else value


def _number(text: str) -> float | int | None:
    """Return a number; None for text that is none, or not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _integers(text: str | None) -> list[int] | None:
    try:
        return [int(value) for value in text.split(",")] if text else None
    except ValueError:
        return None
