"""Faults of SAM lines that samtools cannot read."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Final

from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.text.excerpt import excerpt
from hapgpu.io.text.positions import LAST_POSITION, parse_position

_COLUMNS: Final = 11
_PART_BYTES: Final = 1 << 20
_NUMBERS: Final = (
    ("FLAG", 1, 2**16 - 1),
    ("POS", 3, LAST_POSITION),
    ("MAPQ", 4, 255),
    ("PNEXT", 7, LAST_POSITION),
)
_TEMPLATE_LENGTH: Final = re.compile(r"-?\d{1,10}", re.ASCII)
_SEQUENCE, _QUALITIES = 9, 10
NO_RECORD: Final = "not a SAM record"


def fault_of_line(path: Path, number: int, default: str) -> str:
    """Return the fault of a line of a file.

    Parameters
    ----------
    path
        SAM, plain or compressed.
    number
        Number of the line, from 1.
    default
        Returned if no fault is found: the reason that samtools gave.

    Raises
    ------
    InputError
        The file can no longer be read.
    """
    with open_inflated(path, str(path)) as stream:
        line = next(islice(stream, number - 1, None), b"")
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    return _shape_fault(text) or _number_fault(text.split("\t")) or default


def too_long_part(path: Path, limit: int) -> str | None:
    """Find the first line, or the header, of a file that exceeds a limit.

    Parameters
    ----------
    path
        SAM, plain or compressed.
    limit
        Maximum size in bytes.

    Returns
    -------
    Its name, such as `line 3` or `header`, or None.

    Raises
    ------
    InputError
        The file can no longer be read.
    """
    line, size, header = 1, 0, 0
    in_header = True
    with open_inflated(path, str(path)) as stream:
        while part := stream.readline(_PART_BYTES):
            in_header = in_header and (size > 0 or part.startswith(b"@"))
            size += len(part)
            header += len(part) if in_header else 0
            if size > limit or header > limit:
                return f"line {line}" if size > limit else "header"
            if part.endswith(b"\n"):
                line, size = line + 1, 0
    return None


def _shape_fault(text: str) -> str:
    """Return the fault of a line that is not a record at all, or an empty string."""
    if not text.strip():
        return "blank line"
    if "\0" in text:
        return "contains a NUL byte"
    if text.startswith("@"):
        return "header line among the records"
    columns = text.count("\t") + 1
    if columns < _COLUMNS:
        return f"found {columns} columns, expected at least {_COLUMNS}, separated by tabs"
    return ""


def _number_fault(fields: list[str]) -> str:
    for name, column, maximum in _NUMBERS:
        value = parse_position(fields[column])
        if value is None or value > maximum:
            found = excerpt(fields[column])
            return f"{name} is '{found}', expected a whole number from 0 to {maximum}"
    if not _TEMPLATE_LENGTH.fullmatch(fields[8]):
        return f"TLEN is '{excerpt(fields[8])}', expected a whole number"
    bases, qualities = len(fields[_SEQUENCE]), len(fields[_QUALITIES])
    if fields[_QUALITIES] != "*" and bases != qualities:
        return f"SEQ has {bases} bases, but QUAL has {qualities} qualities"
    return ""
