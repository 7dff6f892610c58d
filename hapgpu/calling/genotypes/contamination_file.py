"""Reader of files with the contaminated fraction of each sample."""

from __future__ import annotations

import math
from io import TextIOWrapper
from pathlib import Path

from hapgpu.errors import InputError
from hapgpu.io.files.compressed import open_inflated
from hapgpu.io.files.record_limit import MAX_RECORD, too_long
from hapgpu.io.text.values import excerpt

_REMEDY = "correct the line"


def read_fractions(path: str | Path, max_record: int = MAX_RECORD) -> tuple[tuple[str, float], ...]:
    """Read the names of samples and their fractions, in file order.

    Each line has a name, a tab and a fraction from 0 to 1; there is no header. Blank lines, and
    white space around a line, are skipped.

    Parameters
    ----------
    path
        The file, plain or compressed by gzip.
    max_record
        Bytes of the longest file that is read.

    Raises
    ------
    InputError
        The file cannot be read, is not such text, or is too long; or a line does not have two
        columns or a fraction, or repeats a sample.
    """
    with open_inflated(path, str(path)) as stream:
        text = TextIOWrapper(stream, "utf-8")
        try:
            lines = text.read(max_record + 1)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: not text ({error}); give lines of SAMPLE, tab, FRACTION"
            ) from (error)
        finally:
            text.detach()
    if len(lines) > max_record:
        raise too_long(str(path), max_record)
    fractions: dict[str, float] = {}
    for number, line in enumerate(lines.split("\n"), 1):
        if line.strip():
            name, fraction = _parsed(line.strip(), f"{path}, line {number}")
            if name in fractions:
                raise InputError(
                    f"{path}, line {number}: sample '{excerpt(name)}' again; remove a line"
                )
            fractions[name] = fraction
    return tuple(fractions.items())


def _parsed(line: str, label: str) -> tuple[str, float]:
    """Return the name and the fraction of a line."""
    fields = line.split("\t")
    if len(fields) != 2 or "" in fields:
        raise InputError(
            f"{label}: found '{excerpt(line)}', expected a sample, a tab and a fraction; {_REMEDY}"
        )
    name, text = fields
    try:
        fraction = float(text)
    except ValueError:
        fraction = math.nan
    if not 0 <= fraction <= 1:
        raise InputError(
            f"{label}: fraction is '{excerpt(text)}', expected a number from 0 to 1; {_REMEDY}"
        )
    return name, fraction
