"""Regions with names: BED with a fourth column, and interval_list of Picard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.errors import InputError
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import BED_COMMENTS, Region, numbered_lines, parse_bed_line
from hapgpu.io.text.values import excerpt, parse_position

_NAME: Final = 3
"""Column of the name in BED, from 0."""
_LIST_COLUMNS: Final = 5
_HEADER: Final = "@"


@dataclass(frozen=True, slots=True)
class NamedRegion:
    """Line of a file of regions.

    Attributes
    ----------
    region
        Its region.
    name
        Its name.
    label
        File and line, for errors.
    """

    region: Region
    name: str
    label: str


def read_named_regions(path: str | Path, max_record: int = MAX_RECORD) -> list[NamedRegion]:
    """Read the lines of BED, or of interval_list, whose header starts with `@`; plain or gzip.

    Parameters
    ----------
    path
        A file.
    max_record
        As of `hapgpu.io.genome.regions.read_bed`.

    Raises
    ------
    InputError
        The file cannot be read or is too long, or a line is malformed or has no name; the message
        names the line.
    """
    found: list[NamedRegion] = []
    is_list = False
    for number, line in numbered_lines(path, max_record):
        is_list = is_list or (not found and line.startswith(_HEADER))
        if not line.strip() or line.startswith(_HEADER if is_list else BED_COMMENTS):
            continue
        label = f"{path}, line {number}"
        found.append(_of_list(line, label) if is_list else _of_bed(line, label))
    return found


def _of_bed(line: str, label: str) -> NamedRegion:
    fields = _fields(line)
    region = parse_bed_line(line, label)
    if len(fields) <= _NAME:
        raise InputError(f"{label}: no name in column 4; add it")
    return NamedRegion(region, fields[_NAME], label)


def _of_list(line: str, label: str) -> NamedRegion:
    fields = _fields(line)
    if len(fields) != _LIST_COLUMNS:
        raise InputError(
            f"{label}: found {len(fields)} columns, expected 5 (contig, start, end, strand, name);"
            " correct the line"
        )
    contig, text, end = fields[:3]
    start = parse_position(text)
    if not start:  # 1-based; the rest is as in BED
        raise InputError(f"{label}: start is '{excerpt(text)}', expected 1 or more; correct it")
    region = parse_bed_line(f"{contig}\t{start - 1}\t{end}", label)
    return NamedRegion(region, fields[_LIST_COLUMNS - 1], label)


def _fields(line: str) -> list[str]:
    return line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
