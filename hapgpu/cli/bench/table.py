"""Tables of measurements: one line per measurement, printed as soon as it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from hapgpu.benchmark.measurement import Measurement
from hapgpu.cli.terminal import live_line


class Column(NamedTuple):
    """Title of a column, and its text for a measurement."""

    title: str
    text: Callable[[Measurement], object]


@dataclass(frozen=True, slots=True)
class MeasurementTable:
    """What is shown of the measurements of a method.

    Attributes
    ----------
    columns
        Columns of the table, in order.
    keys
        Keys of a measurement in `--json`, in order.
    shows_data
        Whether the names of measurements in a plot need the data besides the task.
    """

    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    shows_data: bool = False

    def printed(self, lines: Iterable[Measurement]) -> Iterator[Measurement]:
        """Yield measurements; print a header, and a line of fields for each."""
        _print_fields(column.title for column in self.columns)
        for line in lines:
            _print_fields(column.text(line) for column in self.columns)
            yield line

    def as_json(self, line: Measurement) -> dict[str, str | float | None]:
        """Return the values of a measurement by their keys."""
        return {key: line.value(key) for key in self.keys}

    def name(self, line: Measurement) -> str:
        """Return the name of a measurement in a plot."""
        return f"{line.task}, {line.data}" if self.shows_data else line.task


def _print_fields(fields: Iterable[object]) -> None:
    with live_line.erased():
        sys.stdout.write("\t".join(map(str, fields)) + "\n")
        sys.stdout.flush()


def plain(*names: str) -> tuple[Column, ...]:
    """Return columns of values as they are, by their names in `--json`."""
    return tuple(Column(name.replace("_", " "), partial(_value, name)) for name in names)


def number(title: str, name: str, form: str, factor: float = 1) -> Column:
    """Return a column of a number times a factor; a dash where it is not measured."""
    return Column(title, lambda line: _formatted(_value(name, line), form, factor))


def rate(title: str, name: str, form: str, per: float = 1) -> Column:
    """Return a column of a number per second, in units of `per`; a dash if not measured."""

    def text(line: Measurement) -> str:
        count = line.numbers[name]
        return "-" if count is None else f"{count / line.seconds / per:{form}}"

    return Column(title, text)


def percent(fraction: float | None) -> str:
    """Return a fraction in percent; a dash for None."""
    return _formatted(fraction, ".0f", 100)


def _value(name: str, line: Measurement) -> str | float | None:
    return line.value(name)


def _formatted(value: str | float | None, form: str, factor: float) -> str:
    return f"{factor * value:{form}}" if isinstance(value, int | float) else "-"


SECONDS: Final = number("seconds", "seconds", ".4g")
GCUPS: Final = rate("GCUPS", "cells", ".4g", 1e9)
BOUND: Final = (
    Column("bound", lambda line: line.bound or "-"),
    Column("% busy", lambda line: percent(line.busy)),
)
"""Columns of a table with whole runs."""
SHARE: Final = Column("% reached", lambda line: percent(line.share))
"""Column after these, for the rate of a whole run as a fraction of what is possible."""
BOUND_KEYS: Final = ("bound", "busy")
RUN_KEYS: Final = (*BOUND_KEYS, "share")
