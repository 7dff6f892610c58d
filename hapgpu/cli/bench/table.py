"""Tables of measurements: one line per measurement, printed as soon as it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from hapgpu.cli.terminal import live_line
from hapgpu.runtime.devices import Device

_Measurement = TypeVar("_Measurement")


def printed(
    header: Sequence[str],
    measurements: Iterable[_Measurement],
    fields: Callable[[_Measurement], Iterable[object]],
) -> Iterator[_Measurement]:
    """Yield measurements; print a header, and a line of fields for each."""
    print_line(header)
    for measurement in measurements:
        print_line(fields(measurement))
        yield measurement


def print_line(fields: Iterable[object]) -> None:
    """Print fields, separated by tabs."""
    with live_line.erased():
        sys.stdout.write("\t".join(map(str, fields)) + "\n")
        sys.stdout.flush()


BOUND_HEADER: Final = ("bound", "% busy")
"""Columns of a table with whole runs."""
SHARE_HEADER: Final = "% reached"
"""Column after these, for the rate of a whole run as a fraction of what is possible."""


def bound_fields(bound: str | None, busy: float | None) -> tuple[str, str]:
    """Return the fields of `BOUND_HEADER`; a dash where there is no bound."""
    return (bound or "-", percent(busy))


def percent(fraction: float | None) -> str:
    """Return a fraction in percent; a dash for None."""
    return "-" if fraction is None else f"{100 * fraction:.0f}"


def on_each(
    devices: Sequence[Device], measure: Callable[[Device], Iterable[_Measurement]]
) -> Iterator[_Measurement]:
    """Yield the measurements on all devices, one device after the other."""
    for device in devices:
        yield from measure(device)
