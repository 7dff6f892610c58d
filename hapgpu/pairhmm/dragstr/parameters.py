"""Parameters of the DRAGstr model, and the file that holds them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.io.text.values import excerpt
from hapgpu.pairhmm.options import MIN_QUALITY

_TABLES: Final = ("GOP", "GCP", "API")
_MAX_PERIOD: Final = 20
"""Rows of a table, at most; files have 8."""
_MAX_REPEATS: Final = 1000
_MAX_BYTES: Final = 1_000_000
_HIGHEST_OPEN: Final = 40.0
"""Gap opens in a read are at most this."""
_HIGHEST_QUALITY: Final = 93
_LOWEST_CONTINUATION: Final = 1
_REMEDY: Final = "give the output of GATK CalibrateDragstrModel"


@dataclass(frozen=True, slots=True, eq=False)
class DragstrParameters:
    """Phred values by the length of the repeated unit (row) and its number of copies (column).

    Rows are units of 1, 2, ... p bases, columns 1, 2, ... c copies; longer units and more copies
    have the values of the last ones.

    Attributes
    ----------
    gap_opens, gap_continuations
        float64[p, c].
    indel_priors
        float64[p, c]: API, the prior of an indel.
    """

    gap_opens: NDArray[np.float64]
    gap_continuations: NDArray[np.float64]
    indel_priors: NDArray[np.float64]

    @property
    def max_period(self) -> int:
        """Bases of the longest unit that is looked for."""
        return len(self.gap_opens)

    def read_penalties(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return uint8[p, c] each: gap opens and gap continuations as reads have them.

        Halves are rounded up; gap opens are at most 40.
        """
        opens = np.floor(np.minimum(self.gap_opens, _HIGHEST_OPEN) + 0.5)
        continuations = np.floor(self.gap_continuations + 0.5)
        return opens.astype(np.uint8), continuations.astype(np.uint8)

    def at(
        self, table: NDArray[np.float64], periods: NDArray[np.int64], copies: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return float64[k]: values of `table`, float64[p, c], for int64[k] `periods`, `copies`."""
        rows, columns = np.array(table.shape) - 1
        values: NDArray[np.float64] = table[
            np.minimum(periods - 1, rows), np.minimum(copies - 1, columns)
        ]
        return values


def read_parameters(path: str | Path) -> DragstrParameters:
    """Read a parameter file: the numbers of copies, then the tables GOP, GCP and API.

    Source: `DragstrParamUtils` of broadinstitute/gatk.

    Raises
    ------
    InputError
        The file cannot be read or is malformed, or a value cannot be used in a pair-HMM.
    """
    lines = _lines(path)
    number, header = next(lines, (0, ""))
    copies = header.split()
    if not 0 < len(copies) <= _MAX_REPEATS or copies != [str(k + 1) for k in range(len(copies))]:
        raise InputError(
            f"{path}, line {number}: found '{excerpt(header)}', expected the numbers of copies,"
            f" 1, 2, ...; {_REMEDY}"
        )
    tables = _tables(path, lines, len(copies))
    missing = [name for name in _TABLES if name not in tables]
    if missing:
        raise InputError(f"{path}: no table {missing[0]}; {_REMEDY}")
    opens, continuations, priors = (np.array(tables[name]) for name in _TABLES)
    if not opens.shape == continuations.shape == priors.shape:
        raise InputError(f"{path}: its tables have different sizes; {_REMEDY}")
    _check(path, "GOP", opens, MIN_QUALITY)
    _check(path, "GCP", continuations, _LOWEST_CONTINUATION)
    _check(path, "API", priors, 0)
    return DragstrParameters(opens, continuations, priors)


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers and texts of lines that are no comments."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        text = data.decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise InputError(f"{path}: {reason}; {_REMEDY}") from error
    if len(data) > _MAX_BYTES:
        raise InputError(f"{path}: over {_MAX_BYTES:,} bytes; {_REMEDY}")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _tables(
    path: str | Path, lines: Iterator[tuple[int, str]], columns: int
) -> dict[str, list[list[float]]]:
    """Return the rows of each table."""
    tables: dict[str, list[list[float]]] = {}
    rows: list[list[float]] | None = None
    for number, line in lines:
        if line.rstrip().endswith(":"):
            name = line.strip()[:-1]
            if name in tables:
                raise InputError(f"{path}, line {number}: a second table {name}; {_REMEDY}")
            rows = tables[name] = []
        elif rows is None or len(rows) == _MAX_PERIOD:
            raise InputError(
                f"{path}, line {number}: found '{excerpt(line)}', expected the name of a table;"
                f" {_REMEDY}"
            )
        else:
            rows.append(_row(path, number, line, columns))
    return tables


def _row(path: str | Path, number: int, line: str, columns: int) -> list[float]:
    try:
        row = [float(value) for value in line.split()]
    except ValueError:
        row = []
    if len(row) != columns or not all(map(math.isfinite, row)):
        raise InputError(
            f"{path}, line {number}: found '{excerpt(line)}', expected {columns} numbers; {_REMEDY}"
        )
    return row


def _check(path: str | Path, name: str, table: NDArray[np.float64], lowest: int) -> None:
    rounded = np.floor(table + 0.5)
    wrong = table[(rounded < lowest) | (rounded > _HIGHEST_QUALITY)]
    if not table.size or wrong.size:
        found = f"{wrong[0]:g}" if wrong.size else "no row"
        raise InputError(
            f"{path}: table {name} has {found}, expected values from {lowest} to"
            f" {_HIGHEST_QUALITY}; {_REMEDY}"
        )
