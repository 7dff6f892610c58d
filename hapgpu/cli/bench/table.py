"""Tables of measurements: one line per measurement, printed as soon as it is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from hapgpu.runtime.devices import Device

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Measurement = TypeVar("_Measurement", bound="DataclassInstance")

Table: TypeAlias = list[dict[str, object]]
"""Measurements as JSON holds them."""


def print_table(
    header: Sequence[str],
    measurements: Iterable[_Measurement],
    fields: Callable[[_Measurement], Iterable[object]],
) -> Table:
    """Print a header and a line of fields per measurement; return the measurements."""
    print_line(header)
    table = []
    for measurement in measurements:
        print_line(fields(measurement))
        table.append(asdict(measurement))
    return table


def print_line(fields: Iterable[object]) -> None:
    """Print fields, separated by tabs."""
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
