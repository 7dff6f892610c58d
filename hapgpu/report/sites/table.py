"""Records of a VCF as rows of the table: a row per site and sample."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.genome.regions import Region
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.io.vcf.records import VcfRecord
from hapgpu.io.vcf.source import VcfSource
from hapgpu.report.sites.summary import VariantCounts
from hapgpu.report.sites.variants import DELETION, INSERTION, MNV, OTHER, SNV

MAX_SITES: Final = 10_000
"""Sites on a page, at most."""

MAX_ROWS: Final = 100_000
"""Rows on a page, at most: after that, no further site is shown."""

_MISSING: Final = "."
_FILTER: Final = 6
"""FILTER in a row of `SiteTable.sites`."""

_MAX_ENTRY: Final = 1000
"""Characters of an entry of INFO, at most."""

_DEFINITION: Final = re.compile(
    r'##(?P<kind>INFO|FILTER)=<ID=(?P<name>[^,>]+),.*?Description="(?P<words>[^"]*)"'
)
_COMMAND: Final = re.compile(r"##[^=<]*[Cc]ommand(?:[Ll]ine)?=(.*)")
"""Lines such as `##hapgpu_callCommand=...` and `##GATKCommandLine=...`."""

_SEVERAL: Final = "several"
_KINDS: Final = {
    0: "none",
    int(SNV): "SNV",
    int(MNV): "MNV",
    int(INSERTION): "insertion",
    int(DELETION): "deletion",
    int(OTHER): "other",
}
"""The type of a record by the kinds of its ALT alleles."""


@dataclass(slots=True)
class SiteTable:
    """Sites of a VCF and their genotypes, as plain values for the page.

    Attributes
    ----------
    samples
        Names of the samples that have rows; empty for a VCF without samples.
    sites
        For each site: contig, position (from 1), ID, REF, ALT alleles, QUAL, FILTER, type, INFO.
    rows
        For each row: site, sample, GT, GQ, DP, AD, PL; None where the VCF has no value.
    keys
        The keys of INFO, in the order in which they occur; the values are None.
    definitions
        Descriptions of the header, by `INFO` or `FILTER` and name.
    command
        The last command line in the header; empty if it has none.
    labels
        The label of each record in its file, such as `line 12`.
    is_complete
        Whether the file has no further sites.
    """

    samples: list[str]
    sites: list[list[object]] = field(default_factory=list)
    rows: list[list[object]] = field(default_factory=list)
    keys: dict[str, None] = field(default_factory=dict)
    definitions: dict[str, dict[str, str]] = field(default_factory=dict)
    command: str = ""
    labels: list[str] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    is_complete: bool = True


def read_variants(
    vcf: VcfSource, with_reads: Sequence[str], advance: Callable[[int], None]
) -> tuple[SiteTable, VariantCounts]:
    """Read a VCF: its first sites for the table, and counts of all of them.

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
    counts = VariantCounts(vcf.samples)
    for batch in vcf.batches():
        kinds = counts.add(batch)
        _add_first(table, batch, kinds, columns)
        advance(len(batch))
    table.definitions = _definitions_of(vcf.header, table)
    commands = filter(None, map(_COMMAND.match, vcf.header))
    table.command = next((found[1] for found in reversed(list(commands))), "")
    return table, counts


def _add_first(
    table: SiteTable, batch: VcfBatch, kinds: NDArray[np.uint8], columns: Sequence[int]
) -> None:
    """Add the sites of a batch, as many as the page may hold."""
    for row in range(len(batch)):
        if len(table.sites) == MAX_SITES or len(table.rows) >= MAX_ROWS:
            table.is_complete = False
            return
        _add(table, batch[row], _KINDS.get(int(kinds[row]), _SEVERAL), columns)


def _definitions_of(header: Sequence[str], table: SiteTable) -> dict[str, dict[str, str]]:
    """Return the descriptions of the fields and filters that the table has."""
    used = {
        "INFO": table.keys.keys(),
        "FILTER": {name for site in table.sites for name in str(site[_FILTER]).split(";")},
    }
    found: dict[str, dict[str, str]] = {kind: {} for kind in used}
    for line in header:
        match = _DEFINITION.match(line)
        if match and match["name"] in used[match["kind"]]:
            found[match["kind"]].setdefault(match["name"], match["words"])
    return found


def _add(table: SiteTable, record: VcfRecord, kind: str, columns: Sequence[int]) -> None:
    contig, position, identifier, _, _, quality, passed, info = record.columns
    site = len(table.sites)
    fields = [_cut(entry) for entry in info.split(";")] if info != _MISSING else []
    table.keys |= dict.fromkeys(entry.partition("=")[0] for entry in fields)
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
            kind,
            ";".join(fields),
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
        fields_of_sample = dict(zip(names, values, strict=False))
        table.rows.append(
            [
                site,
                number,
                _text(fields_of_sample.get("GT")),
                _number(fields_of_sample.get("GQ", _MISSING)),
                _number(fields_of_sample.get("DP", _MISSING)),
                _integers(fields_of_sample.get("AD")),
                _text(fields_of_sample.get("PL")),
            ]
        )


def _cut(entry: str) -> str:
    """Return an entry of INFO without the end of a long value, such as an annotation."""
    return entry if len(entry) <= _MAX_ENTRY else f"{entry[:_MAX_ENTRY]}…"


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
