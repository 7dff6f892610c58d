"""Spans of the records of a VCF or BCF file, as intervals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hapgpu.errors import InputError
from hapgpu.io.intervals.rows import (
    Fields,
    IntervalRows,
    LineFormat,
    Row,
    column,
    fields_of,
    numbers_of,
)
from hapgpu.io.text.values import LAST_POSITION, excerpt, parse_position
from hapgpu.io.vcf.lines import vcf_blocks

_FIRST_LINE: Final = b"##fileformat=VCFv4"
_END: Final = re.compile(r"(?:^|;)END=([^;]*)")
_COLUMNS: Final = 8


def read_variant_spans(path: str, max_record: int) -> IntervalRows:
    """Read the spans of variants: from POS to INFO END, else to the end of REF.

    Parameters
    ----------
    path
        VCF, plain or compressed, or BCF.
    max_record
        Bytes of the longest record.

    Raises
    ------
    InputError
        The file cannot be read, is not VCF or BCF, has no records, or a record is malformed.
    """
    rows = IntervalRows.of(_fields(path, max_record))
    if not len(rows):
        raise InputError(f"{path}: no records; give a file with records")
    return rows


def _fields(path: str, max_record: int) -> Iterator[Fields]:
    blocks = vcf_blocks(path, path, max_record)
    is_text = next(blocks) == b"VCF"
    number = 1
    for block in blocks:
        if number == 1 and is_text and not block.startswith(_FIRST_LINE):
            raise InputError(f"{path}: does not start with ##fileformat=VCFv4; give VCF or BCF")
        text = block.decode("utf-8", "surrogateescape")
        yield fields_of(text.replace("\r\n", "\n"), path, _VCF, number)
        number += text.count("\n")


def _vcf_fields(found: list[tuple[str, ...]]) -> Fields:
    starts = numbers_of(map(int, column(found, 1))) - 1
    ends = starts + numbers_of(map(len, column(found, 2)))
    for row, info in enumerate(column(found, 3)):
        if "END=" in info and (end := _END.search(info)):
            ends[row] = parse_position(end[1]) or 0
    return Fields(column(found, 0), starts, ends)


def _vcf_row(line: str, where: str) -> Row | None:
    if not line.strip() or line.startswith("#"):
        return None
    fields = line.split("\t")
    if len(fields) < _COLUMNS:
        raise InputError(
            f"{where}: found {len(fields)} columns, expected at least 8; correct the line"
        )
    position = parse_position(fields[1])
    if not position:
        raise InputError(
            f"{where}: POS is '{excerpt(fields[1])}', expected a whole number from 1 to"
            f" {LAST_POSITION}; correct the line"
        )
    named = _END.search(fields[7])
    end = parse_position(named[1]) if named else position - 1 + len(fields[3])
    if end is None or not position <= end <= LAST_POSITION:
        shown = excerpt(named[1]) if named else str(end)
        raise InputError(f"{where}: END is '{shown}', but POS is {position}; correct the line")
    return Row(fields[0], position - 1, end)


_VCF: Final = LineFormat(
    re.compile(
        r"^(?!#)([^\t\n]+)\t([0-9]{1,10})\t[^\t\n]*\t([^\t\n]+)\t(?:[^\t\n]*\t){3}([^\t\n]*)"
        r"(?:\t[^\n]*)?$",
        re.MULTILINE,
    ),
    _vcf_fields,
    _vcf_row,
)
