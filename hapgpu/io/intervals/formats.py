"""Files with one interval per line: BED, and interval_list of Picard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from hapgpu.errors import InputError
from hapgpu.io.genome.regions import BED_COMMENTS, parse_bed_line
from hapgpu.io.intervals.rows import (
    Fields,
    IntervalRows,
    LineFormat,
    Row,
    column,
    numbers_of,
    rows_of_text,
    whole_text,
)
from hapgpu.io.text.values import LAST_POSITION, excerpt, parse_position

_POSITION: Final = r"([0-9]{1,10})"
_HEADER: Final = re.compile(r"(?:(?:#|track|browser)[^\n]*\n)*")
_OTHER_FORMAT: Final = re.compile(r"[^\t\n]+\t[0-9]+\t[0-9]+\t[-+]\t[^\t\n]+(?:\n|\Z)")
"""A line that may be interval_list, too: its fourth column is a strand; in BED, a name."""
_COLUMNS: Final = 5


def read_bed_rows(path: str, max_record: int, *, has_other_name: bool = False) -> IntervalRows:
    """Read the intervals of a BED file.

    Parameters
    ----------
    path
        The file.
    max_record
        As of `whole_text`.
    has_other_name
        Whether the name does not say that it is BED.

    Raises
    ------
    InputError
        As `whole_text`; a line is malformed; or the name does not say so, and the file may be
        interval_list, too, or is empty.
    """
    text = whole_text(path, "BED", max_record)
    start = _HEADER.match(text)
    header = start[0] if start else ""
    body = text[len(header) :]
    if not has_other_name:
        return rows_of_text(body, path, _BED, 1 + header.count("\n"))
    if _OTHER_FORMAT.match(body):
        raise InputError(
            f"{path}: may be BED or interval_list; give it the extension .bed or .interval_list"
        )
    try:
        rows = rows_of_text(body, path, _BED, 1 + header.count("\n"))
    except InputError as error:
        raise _unknown(path) from error
    if not len(rows):
        raise _unknown(path)
    return rows


def _unknown(path: str) -> InputError:
    return InputError(
        f"{path}: unknown extension, and not BED; give it the extension .bed, .interval_list,"
        " .list, .intervals or .vcf"
    )


def _bed_fields(found: list[tuple[str, ...]]) -> Fields:
    starts, ends = (numbers_of(map(int, column(found, number))) for number in (1, 2))
    return Fields(column(found, 0), starts, ends)


def _bed_row(line: str, where: str) -> Row | None:
    if not line.strip() or line.startswith(BED_COMMENTS):
        return None
    region = parse_bed_line(line, where)
    return Row(region.contig, region.start, region.end)


_BED: Final = LineFormat(
    re.compile(
        rf"^(?!#|track|browser)([^\t\n]+)\t{_POSITION}\t{_POSITION}(?:\t[^\n]*)?$", re.MULTILINE
    ),
    _bed_fields,
    _bed_row,
)


def read_interval_list(path: str, max_record: int) -> tuple[IntervalRows, Mapping[str, int]]:
    """Read a Picard interval_list; return its intervals, and the lengths of its @SQ lines.

    Some programs cut the header off: then the intervals are checked by the reference only.

    Raises
    ------
    InputError
        As `whole_text`; the file has no interval; or a line is malformed, or names a contig that
        the header lacks.
    """
    text = whole_text(path, "interval_list", max_record)
    lengths: dict[str, int] = {}
    start, number = 0, 1
    while text.startswith("@", start):
        end = text.find("\n", start) + 1 or len(text)
        if text.startswith("@SQ\t", start):
            name, length = _sequence(text[start:end].rstrip("\n"), f"{path}, line {number}")
            if lengths.setdefault(name, length) != length:
                raise InputError(
                    f"{path}, line {number}: contig '{excerpt(name)}' has two lengths; correct"
                    " the header"
                )
        start, number = end, number + 1
    rows = rows_of_text(text[start:], path, _INTERVAL_LIST, number)
    if not len(rows):
        raise InputError(f"{path}: no intervals; give a file with intervals")
    if lengths:
        _check_header(rows, lengths, path)
    return rows, lengths


def _sequence(line: str, where: str) -> tuple[str, int]:
    """Return the name and the length of an @SQ line."""
    tags = dict(field.partition(":")[::2] for field in line.split("\t")[1:])
    length = parse_position(tags.get("LN", ""))
    if not tags.get("SN") or not length:
        raise InputError(f"{where}: @SQ without SN or LN; correct the header")
    return tags["SN"], length


def _check_header(rows: IntervalRows, lengths: Mapping[str, int], path: str) -> None:
    """Check that the header has the contig of each interval, and that the intervals fit."""
    own = numbers_of(lengths.get(name, -1) for name in rows.names)[rows.contigs]
    if (lacking := np.flatnonzero(own < 0)).size:
        row = int(lacking[0])
        raise InputError(
            f"{path}, {rows.text(row)}: no @SQ line for the contig; correct the header"
        )
    if (outside := np.flatnonzero(rows.ends > own)).size:
        row = int(outside[0])
        raise InputError(
            f"{path}, {rows.text(row)}: @SQ has only {int(own[row]):,} bases; correct the file"
        )


def _interval_list_fields(found: list[tuple[str, ...]]) -> Fields:
    starts, ends = (numbers_of(map(int, column(found, number))) for number in (1, 2))
    return Fields(column(found, 0), starts - 1, ends)


def _interval_list_row(line: str, where: str) -> Row | None:
    if not line.strip() or line.startswith("@"):
        return None
    fields = line.rstrip("\t").split("\t")
    if len(fields) != _COLUMNS:
        raise InputError(
            f"{where}: found {len(fields)} columns, expected 5 (contig, start, end, strand, name),"
            " separated by tabs; correct the line"
        )
    contig, start_text, end_text, strand, _ = fields
    start, end = parse_position(start_text), parse_position(end_text)
    if not start or not end:
        raise InputError(
            f"{where}: start is '{excerpt(start_text)}' and end is '{excerpt(end_text)}', expected"
            f" whole numbers from 1 to {LAST_POSITION}; correct the line"
        )
    if start > end:
        raise InputError(f"{where}: start {start} is after end {end}; correct the line")
    if strand not in {"+", "-"}:
        raise InputError(f"{where}: strand is '{excerpt(strand)}', expected + or -; correct it")
    return Row(contig, start - 1, end)


_INTERVAL_LIST: Final = LineFormat(
    re.compile(rf"^(?!@)([^\t\n]+)\t{_POSITION}\t{_POSITION}\t[-+]\t[^\t\n]+$", re.MULTILINE),
    _interval_list_fields,
    _interval_list_row,
)
