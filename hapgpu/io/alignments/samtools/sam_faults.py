"""What is wrong with a line of SAM that samtools cannot read."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Final

from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.text.excerpt import shown
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
NO_RECORD: Final = "no SAM record"


def fault_of_line(path: Path, number: int, said: str) -> str:
    """Say what is wrong with a line of a file.

    Parameters
    ----------
    path
        SAM, plain or compressed.
    number
        Of the line, from 1.
    said
        The reason that samtools gave, if this finds none.

    Raises
    ------
    InputError
        The file cannot be read any more.
    """
    with open_inflated(path, str(path)) as stream:
        line = next(islice(stream, number - 1, None), b"")
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    return _shape_fault(text) or _number_fault(text.split("\t")) or said


def too_long_part(path: Path, limit: int) -> str | None:
    """Find the first line of a file that is longer than a limit, or a header that is.

    Parameters
    ----------
    path
        SAM, plain or compressed.
    limit
        In bytes.

    Returns
    -------
    What it is, such as `line 3` or `the header`, or None.

    Raises
    ------
    InputError
        The file cannot be read any more.
    """
    line, size, header = 1, 0, 0
    in_header = True
    with open_inflated(path, str(path)) as stream:
        while part := stream.readline(_PART_BYTES):
            in_header = in_header and (size > 0 or part.startswith(b"@"))
            size += len(part)
            header += len(part) if in_header else 0
            if size > limit or header > limit:
                return f"line {line}" if size > limit else "the header"
            if part.endswith(b"\n"):
                line, size = line + 1, 0
    return None


def _shape_fault(text: str) -> str:
    """Say what keeps a line from being a record at all."""
    if not text.strip():
        return "it is blank"
    if "\0" in text:
        return "it holds a NUL byte"
    if text.startswith("@"):
        return "a header line among the records"
    columns = text.count("\t") + 1
    if columns < _COLUMNS:
        return f"{columns} columns found, at least {_COLUMNS} expected, separated by tabs"
    return ""


def _number_fault(fields: list[str]) -> str:
    for name, column, most in _NUMBERS:
        value = parse_position(fields[column])
        if value is None or value > most:
            return f"{name} is '{shown(fields[column])}', expected a whole number from 0 to {most}"
    if not _TEMPLATE_LENGTH.fullmatch(fields[8]):
        return f"TLEN is '{shown(fields[8])}', expected a whole number"
    bases, qualities = len(fields[_SEQUENCE]), len(fields[_QUALITIES])
    if fields[_QUALITIES] != "*" and bases != qualities:
        return f"SEQ has {bases} bases, but QUAL {qualities} qualities"
    return ""
